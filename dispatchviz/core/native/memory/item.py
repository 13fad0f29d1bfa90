"""``item``, ``_local_scalar_dense``, ``is_nonzero`` (``aten/src/ATen/native/Scalar.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Tensor, numel


def item(self: Tensor) -> Scalar:
    """The only element as a Python number."""
    if numel(self._size) != 1:
        raise RuntimeError(f"a Tensor with {numel(self._size)} elements cannot be converted to Scalar")
    if self._device.type == "meta":
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    return ops._local_scalar_dense.call(self)


def _local_scalar_dense(self: Tensor) -> Scalar:
    """Read the element. For a GPU tensor this waits for the GPU."""
    value: Scalar = self._array.item()
    return value


def is_nonzero(self: Tensor) -> bool:
    """Return ``bool(tensor)``."""
    count = numel(self._size)
    if count == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if count > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(ops.item.call(self))
