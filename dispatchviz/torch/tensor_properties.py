"""Properties of a tensor: dtype, device, layout, memory format; ``T``, ``mT``, ``H``
(``torch/csrc/autograd/python_variable.cpp``, ``torch/_tensor.py``).

Layouts and devices that the model does not have are always False.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.bindings.invalid_arguments import type_name
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import is_in_format
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch.formats import contiguous_format, memory_format
from dispatchviz.torch.storage import storage_of
from dispatchviz.torch.tensor_from_numpy import from_numpy

_NEVER = (
    *("is_sparse", "is_sparse_csr", "is_mkldnn", "is_quantized", "is_nested"),
    *("is_mps", "is_xpu", "is_xla", "is_ipu", "is_mtia", "is_vulkan", "is_maia"),
)


def _is_contiguous(self: Tensor, *args: Any, memory_format: Any = contiguous_format) -> bool:
    """Return whether the elements lie in memory in the order of their dimensions, or of a memory format."""
    if args:
        raise TypeError(f"is_contiguous() takes 0 positional arguments but {len(args)} was given")
    _check_format(memory_format)
    return is_in_format(self, memory_format.name)


def _check_format(value: Any) -> None:
    if not isinstance(value, memory_format):
        raise TypeError(
            f"is_contiguous(): argument 'memory_format' must be torch.memory_format, not {type_name(value)}"
        )


def _volatile(self: Tensor) -> bool:
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    text = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
    warnings.warn(text, UserWarning, stacklevel=2)


def _array_wrap(self: Tensor, array: Any) -> Tensor:
    """``__array_wrap__``: return the result of a NumPy function as a tensor; bools become uint8."""
    return from_numpy(array.astype("uint8") if array.dtype == numpy.bool_ else array)


def _share_memory_(self: Tensor) -> Tensor:
    """Move the storage into memory that processes share."""
    storage_of(self).share_memory_()
    return self


def undeletable(message: str, error: type[Exception] = RuntimeError) -> Callable[[Tensor], None]:
    """Return a deleter that raises an error."""

    def refuse(self: Tensor) -> None:
        raise error(message)

    return refuse


def read_only(name: str, read: Callable[[Tensor], Any] | None) -> property:
    """Return an attribute that can be neither set nor deleted."""
    message = f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable"

    def refuse(self: Tensor, value: Any) -> None:
        raise AttributeError(message)

    delete = undeletable(_DELETING_HOOKS[name]) if name in _DELETING_HOOKS else undeletable(message, AttributeError)
    return property(read, refuse, delete)


_DELETING_HOOKS = {
    "_backward_hooks": "Deletion of _backwards_hooks not allowed!",
    "_post_accumulate_grad_hooks": "Deletion of _post_accumulate_grad_hooks not allowed!",
}

PROPERTIES: dict[str, Any] = {
    "is_cpu": property(lambda self: self._device.type == "cpu"),
    **{name: property(lambda self: False) for name in _NEVER},
    "T": property(lambda self: ops.numpy_T.call(self)),
    "H": property(lambda self: ops.matrix_H.call(self)),
    "mT": property(lambda self: ops.mT.call(self)),
    "mH": property(lambda self: ops.mH.call(self)),
    "name": property(lambda self: None),
    "volatile": property(_volatile, _set_volatile, lambda self: _set_volatile(self, None)),
}
METHODS: dict[str, Any] = {
    "is_contiguous": _is_contiguous,
    "is_shared": lambda self: self._device.type == "cuda" or self._storage.kind == "shared",
    "share_memory_": _share_memory_,
    "__array_wrap__": _array_wrap,
    "__array_priority__": 1000,
}
