"""The effects of ``torch.use_deterministic_algorithms`` (``aten/src/ATen/Context.cpp``).

Some kernels refuse to run. Memory that is not initialized is filled by a call of ``fill_`` with NaN, True or the
largest number (``fill_empty_deterministic_`` of ``aten/src/ATen/native/TensorFactories.h``,
``fill_resize_deterministic_`` of ``aten/src/ATen/native/Resize.cpp``). Outputs of structured kernels are not filled.
"""

from __future__ import annotations

import math

import numpy

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType, bool_
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.context import context
from dispatchviz.core.thread.warning import warn_python

_HAS_NONE = " does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
_ISSUE = (
    "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for "
    "this operation."
)


def alert_not_deterministic(caller: str) -> None:
    """Raise RuntimeError or warn if deterministic algorithms are requested (``alertNotDeterministic``). ``caller`` is
    PyTorch's name of the kernel.
    """
    if context.deterministic == 1:
        warn_python(f"{caller}{_HAS_NONE}, warn_only=True)'. You can {_ISSUE}", "aten/src/ATen/Context.cpp:186")
    elif context.deterministic:
        raise RuntimeError(
            f"{caller}{_HAS_NONE})'. You can turn off determinism just for this operation, or you can use the "
            f"'warn_only=True' option, if that's acceptable for your application. You can also {_ISSUE}"
        )


def fills_memory() -> bool:
    """Return whether deterministic algorithms are requested and ``fill_uninitialized_memory`` is still true, its
    default.
    """
    return context.deterministic > 0 and context.fill_uninitialized_memory


def filled_if_deterministic(tensor: Tensor) -> Tensor:
    """Return the new tensor, filled if deterministic algorithms are requested."""
    if fills_memory():
        ops.fill__Scalar.call(tensor, _known_value(tensor._dtype))
    return tensor


def fill_grown_storage(tensor: Tensor, old_nbytes: int) -> None:
    """Fill the new part of a storage that grew from ``old_nbytes`` bytes, seen as a vector of the tensor's dtype."""
    if not fills_memory():
        return
    before, now = (size // tensor._dtype.itemsize for size in (old_nbytes, tensor._storage.buffer.nbytes))
    if now > before:
        rest = ops.empty_memory_format.call((), tensor._dtype, None, tensor._device, None, None)
        ops.set__source_Storage_storage_offset.call(rest, tensor._storage, before, (now - before,), (1,))
        filled_if_deterministic(rest)


def _known_value(dtype: DType) -> float | int | bool:
    if dtype.is_floating_point or dtype.is_complex:
        return math.nan
    return True if dtype is bool_ else int(numpy.iinfo(dtype.numpy).max)
