"""``cross_entropy_loss``: class indices, with or without label smoothing, and class probabilities
(``aten/src/ATen/native/LossNLL.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import call_maybe_undefined
from dispatchviz.core.native.losses.mse_nll_loss import MEAN, NONE, SUM
from dispatchviz.core.tensor.tensor import Tensor, numel


def cross_entropy_loss_symint(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, label_smoothing: float
) -> Tensor:
    """The loss for a target of class indices, or, if it has the shape of self, of class probabilities."""
    if self._size == target._size:
        if not target._dtype.is_floating_point:
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got " + target._dtype.legacy
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _loss_of_probabilities(self, target, weight, reduction, label_smoothing)
    if label_smoothing > 0:
        _check_smoothing(label_smoothing)
        return _smoothed(self, target, weight, reduction, ignore_index, label_smoothing)
    return ops.nll_loss_nd.call(_log_softmax(self), target, weight, reduction, ignore_index)


def _check_smoothing(label_smoothing: float) -> None:
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _class_dim(self: Tensor) -> int:
    return 0 if len(self._size) == 1 else 1


def _log_softmax(self: Tensor) -> Tensor:
    return ops.log_softmax_int.call(self, _class_dim(self), self._dtype)


def _broadcast_weight(weight: Tensor, rank: int, class_dim: int) -> Tensor:
    """The weights in a shape that broadcasts."""
    return ops.view.call(weight, tuple(weight._size[0] if dim == class_dim else 1 for dim in range(rank)))


def _loss_of_probabilities(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float
) -> Tensor:
    class_dim = _class_dim(self)
    classes = self._size[class_dim]
    if weight is not None and weight._size != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight._size)}"
        )
    input = _log_softmax(self)
    if label_smoothing > 0:
        _check_smoothing(label_smoothing)
        kept = ops.mul_Scalar.call(target, 1 - label_smoothing)
        target = ops.add_Scalar.call(kept, label_smoothing / classes, 1)
    broadcast = None if weight is None else _broadcast_weight(weight, len(input._size), class_dim)
    product = ops.mul_Tensor.call(input, target)
    if broadcast is not None:
        product = ops.mul_Tensor.call(product, broadcast)
    if reduction == NONE:
        return ops.neg.call(ops.sum_dim_IntList.call(product, (class_dim,), False, None))
    negative = ops.neg.call(ops.sum.call(product, None))
    return negative if reduction == SUM else ops.div_Scalar.call(negative, numel(input._size) // classes)


def _smoothed(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, label_smoothing: float
) -> Tensor:
    """The loss of the class indices, mixed with that of a uniform distribution over all classes."""
    class_dim, input = _class_dim(self), _log_softmax(self)
    of_classes = call_maybe_undefined(ops.nll_loss_nd, weight, input, target, weight, reduction, ignore_index)
    product = (
        input if weight is None else ops.mul_Tensor.call(input, _broadcast_weight(weight, len(input._size), class_dim))
    )
    smooth = ops.neg.call(ops.sum_dim_IntList.call(product, (class_dim,), False, None))
    ignored = ops.eq_Scalar.call(target, ignore_index)
    ops.masked_fill__Scalar.call(smooth, ignored, 0.0)
    if reduction == MEAN:
        smooth = _mean(smooth, target, weight, ignored)
    elif reduction == SUM:
        smooth = ops.sum.call(smooth, None)
    # C++ evaluates the operands of + from right to left
    evenly = ops.mul_Scalar.call(smooth, label_smoothing / input._size[class_dim])
    return ops.add_Tensor.call(ops.mul_Scalar.call(of_classes, 1 - label_smoothing), evenly, 1)


def _mean(smooth: Tensor, target: Tensor, weight: Tensor | None, ignored: Tensor) -> Tensor:
    """The sum divided by the total weight, or the number, of the targets that are not ignored."""
    counted = ops.bitwise_not.call(ignored)
    if weight is None:
        total = ops.sum.call(counted, None)
    else:
        classes = ops.flatten_using_ints.call(ops.masked_select.call(target, counted), 0, -1)
        total = ops.sum.call(ops.gather.call(weight, 0, classes, False), None)
    return ops.div_Tensor.call(ops.sum.call(smooth, None), total)
