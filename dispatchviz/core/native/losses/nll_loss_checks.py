"""Checks of the target and the weight of ``nll_loss`` (``aten/src/ATen/native/LossNLL.cpp``, ``LossNLL2d.cpp``)."""

from __future__ import annotations

from dispatchviz.core.native.convolution.conv_tensors import check_scalar_type
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.tensor.dtype import int64, uint8
from dispatchviz.core.tensor.tensor import Tensor


def check_numbers(self: Tensor, target: Tensor, weight: Tensor | None, kernel: str) -> None:
    """Check the dtypes of scores, target and weight.

    Raise NotImplementedError for scores that are not floating. Raise RuntimeError for classes of another dtype than
    int64 or uint8, and for weights of another dtype than the scores.
    """
    if not self._dtype.is_floating_point:
        raise not_implemented(kernel, self._dtype)
    check_classes(target)
    if weight is not None:
        check_scalar_type(weight, self._dtype)


def check_classes(target: Tensor) -> None:
    """Raise RuntimeError for classes of another dtype than int64 or uint8."""
    if target._dtype not in (int64, uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target._dtype.legacy}")


def check_weights(self: Tensor, weight: Tensor | None) -> None:
    """Raise RuntimeError unless there is one weight for each class."""
    classes = self._size[-1]
    if weight is not None and weight._size != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight._size)}"
        )
