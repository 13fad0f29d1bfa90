"""``Tensor.numpy`` and the numbers of a tensor on the host (``torch/csrc/utils/tensor_numpy.cpp``)."""

from __future__ import annotations

from typing import Any

from numpy import zeros

from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.bindings.python_arg_parser import PythonArgParser
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import python_ks
from dispatchviz.core.layers.functorch.tensor_wrapper import maybe_get_tensor_wrapper
from dispatchviz.core.tensor import conj_neg_bits
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.tensor import Tensor, expose
from dispatchviz.core.thread.thread_state import thread

_parser = PythonArgParser(("numpy(*, bool force = False)",))


def numpy(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Return the memory as a NumPy array. ``force=True`` detaches, moves to the CPU and resolves bits first.

    Raise RuntimeError or TypeError for a tensor that NumPy cannot represent as it is.
    """
    _, (force,) = _parser.parse(args, kwargs)
    if self._ks & python_ks:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    if not force:
        _check_needs_no_force(self)
    host = ops.to_dtype_layout.call(ops.detach.call(self), None, None, Device("cpu"), None, False, False, None)
    plain = ops.resolve_neg.call(ops.resolve_conj.call(host))
    check_storage(self)
    if self._dtype is dtypes.bfloat16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    if conj_neg_bits.is_zerotensor(plain) or 0 in self._size:
        return zeros(self._size, self._dtype.numpy)
    expose(plain)
    return plain._array


def _check_needs_no_force(self: Tensor) -> None:
    if self._device.type != "cpu":
        raise TypeError(
            f"can't convert {self._device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if thread.state.grad_mode and variable.requires_grad(self):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    for is_set, name, remedy in _UNRESOLVED:
        if is_set(self):
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {name} bit set. Use tensor.{remedy}().numpy() instead."
            )
    if conj_neg_bits.is_zerotensor(self):
        raise RuntimeError(" Cannot convert a ZeroTensor to numpy. Set force=True if you need the zero array.")


_UNRESOLVED = (
    (conj_neg_bits.is_conj, "conjugate", "resolve_conj"),
    (conj_neg_bits.is_neg, "negative", "resolve_neg"),
)
"""The bits that NumPy does not have."""


def array(self: Tensor, dtype: Any = None) -> Any:
    """Return the array for ``numpy.asarray``."""
    found = numpy(self)
    return found if dtype is None else found.astype(dtype, copy=False)


def check_storage(self: Tensor) -> None:
    """Raise RuntimeError for a tensor that only wraps another one."""
    if self._impl is not None:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def values_on_host(self: Tensor) -> Any:
    """Return the numbers as a NumPy array from any device. A wrapper of ``grad`` has the numbers of the tensor that it
    wraps.
    """
    while (wrapper := maybe_get_tensor_wrapper(self)) is not None:
        self = wrapper.value
    check_storage(self)
    return self._array if type(self._array).__module__ == "numpy" else array_module("cuda").asnumpy(self._array)
