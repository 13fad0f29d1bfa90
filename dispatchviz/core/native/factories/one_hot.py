"""``one_hot`` (``aten/src/ATen/native/Onehot.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Tensor, numel


def one_hot(self: Tensor, num_classes: int) -> Tensor:
    """(*, classes) with a 1 at each class; -1 derives the number of classes. Raise RuntimeError for invalid classes."""
    if self._dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not numel(self._size):
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        size = (*self._size, num_classes)
        return ops.empty_memory_format.call(size, int64, "strided", self._device, None, None)
    if self._device.type == "meta" and num_classes != -1:
        return _one_hot_by_comparison(self, num_classes)
    minimum, maximum = ops.aminmax.call(self, dim=None, keepdim=False)
    if ops.item.call(minimum).real < 0:
        raise RuntimeError("Class values must be non-negative.")
    last = int(ops.item.call(maximum).real)
    if num_classes == -1:
        num_classes = last + 1
    elif num_classes <= last:
        raise RuntimeError("Class values must be smaller than num_classes.")
    zeros = ops.zeros.call((*self._size, num_classes), int64, "strided", self._device, None)
    return ops.scatter__value.call(zeros, -1, ops.unsqueeze.call(self, -1), 1)


def _one_hot_by_comparison(self: Tensor, num_classes: int) -> Tensor:
    """``one_hot`` computed by ``eq`` with ``arange``, for tensors without values."""
    classes = ops.arange.call(num_classes, int64, "strided", self._device, None)
    same = ops.eq_Tensor.call(ops.unsqueeze.call(self, -1), classes)
    return ops.to_dtype.call(same, int64, False, False, None)
