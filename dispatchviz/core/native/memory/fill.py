"""``fill_``, ``zero_`` (``aten/src/ATen/native/Fill.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, convert, in_one_element
from dispatchviz.core.native.iterator.strides import is_dense
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.context import GRAIN_SIZE


def fill_Scalar(self: Tensor, value: Scalar) -> Tensor:
    """A tensor like self, filled with a number."""
    return ops.fill__Scalar.call(ops.empty_like.call(self, None, None, None, None, None), value)


def fill_Tensor(self: Tensor, value: Tensor) -> Tensor:
    """A tensor like self, filled with the number of a 0-dim tensor."""
    return ops.fill__Tensor.call(ops.empty_like.call(self, None, None, None, None, None), value)


def fill__Scalar(self: Tensor, value: Scalar) -> Tensor:
    """Write a number into every element; expanded tensors are allowed.

    Raise RuntimeError if it does not fit the dtype. (Only a single element on the CPU may overflow to infinity.)
    """
    is_one = self._device.type == "cpu" and numel(self._size) == 1
    self._array[...] = (in_one_element if is_one else convert)(value, self._dtype)
    return self


def fill__Tensor(self: Tensor, value: Tensor) -> Tensor:
    """Write the number of a 0-dim tensor into every element."""
    _check_fill_value(value)
    if self._device != value._device:
        return fill__Scalar(self, ops.item.call(value))
    if self._storage is value._storage:
        value = ops.clone.call(value, None)
    return ops.copy_.call(self, value, False)


def fill_meta_(self: Tensor, value: Scalar | Tensor) -> Tensor:
    """No-op: meta tensors have no data."""
    if isinstance(value, Tensor):
        _check_fill_value(value)
    return self


def _check_fill_value(value: Tensor) -> None:
    if value._size:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {len(value._size)} dimensions."
        )


def zero_(self: Tensor) -> Tensor:
    """Write zeros: directly into dense CPU memory that is not large, otherwise by ``fill_``."""
    small = 0 < numel(self._size) < GRAIN_SIZE
    if self._device.type == "cpu" and small and is_dense(self._size, self._stride):
        self._array[...] = 0
        return self
    return ops.fill__Scalar.call(self, 0)


def zero_meta_(self: Tensor) -> Tensor:
    """No-op: meta tensors have no data."""
    return self
