"""``mse_loss``, ``nll_loss`` (``aten/src/ATen/native/Loss.cpp``, ``LossNLL.cpp``).

``reduction`` is 0 (none), 1 (mean) or 2 (sum).
Losses of images are in ``nll_loss2d.py``, cross entropy in ``cross_entropy.py``.
"""

from __future__ import annotations

import operator
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_tensors import check_scalar_type
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise,
    new_output,
    no_instance,
    quiet,
    result_type,
)
from dispatchviz.core.native.losses.nll_loss_checks import check_numbers, check_weights
from dispatchviz.core.tensor.dtype import int64, uint8
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel

NONE, MEAN, SUM = 0, 1, 2

# -- mse_loss ----------------------------------------------------------------------------------------------------------


def mse_loss_meta(op: Structured, self: Tensor, target: Tensor, reduction: int) -> None:
    """The common shape, or 0-dim if the loss is reduced."""
    elementwise(op, self, target)
    if reduction != NONE:  # the squares are computed in another tensor
        ops.resize_.call(op.output, (), None)


def mse_loss_out(self: Tensor, target: Tensor, reduction: int, out: Tensor) -> None:
    """(self - target) ** 2, reduced"""
    dtype = result_type(self, target)
    square = _square_of_difference if dtype.is_floating_point else no_instance("mse_cpu", dtype)
    if reduction == NONE:
        return compute(out, dtype, square, self, target, narrow=True)
    squares = new_output(self, target)
    compute(squares, dtype, square, self, target, narrow=True)
    if reduction == MEAN:
        ops.mean_out.call(squares, (), False, None, out)
    else:
        ops.sum_IntList_out.call(squares, (), False, None, out)
    return None


def _square_of_difference(a: Any, b: Any) -> Any:
    return (a - b) * (a - b)


def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """2 * (self - target) * grad, divided by the number of elements for a mean."""
    grad_input = ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    return ops.mse_loss_backward_grad_input.call(grad_output, self, target, reduction, grad_input)


def mse_loss_backward_out(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, grad_input: Tensor
) -> Tensor:
    """Write the result of ``mse_loss_backward`` into ``grad_input``."""
    factor = 2.0 / max(numel(self._size), 1) if reduction == MEAN else 2.0
    if grad_input._array is not None:
        dtype = grad_input._dtype
        compute(grad_input, dtype, lambda a, b, grad: factor * (a - b) * grad, self, target, grad_output)
    return grad_input


# -- nll_loss ----------------------------------------------------------------------------------------------------------


def nll_loss_nd_symint(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """``nll_loss`` of one example or a batch."""
    if len(self._size) < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {len(self._size)})")
    if len(self._size) != 1 and self._size[0] != (target._size or (0,))[0]:
        raise ValueError(
            f"Expected input batch_size ({self._size[0]}) to match target batch_size ({(target._size or (0,))[0]})."
        )
    if len(self._size) <= 2:
        return ops.nll_loss.call(self, target, weight, reduction, ignore_index)
    if len(self._size) == 4:
        return ops.nll_loss2d.call(self, target, weight, reduction, ignore_index)
    return _nll_loss_as_images(self, target, weight, reduction, ignore_index)


def _nll_loss_as_images(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """``nll_loss`` of examples of other ranks, as images one element high.

    Raise RuntimeError for a target of another shape.
    """
    count, classes, space = self._size[0], self._size[1], self._size[2:]
    if target._size[1:] != space:
        raise RuntimeError(f"Expected target size {[count, *space]}, got {list(target._size)}")
    rest = (1, -1) if numel(self._size) else (0, 0)
    images = ops.view.call(in_format(self), (count, classes, *rest))
    targets = ops.view.call(in_format(target), (count, *rest))
    found = ops.nll_loss2d.call(images, targets, weight, reduction, ignore_index)
    return ops.view.call(found, (count, *space)) if reduction == NONE else found


def nll_loss_symint(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensor:
    """The first result of ``nll_loss_forward``."""
    return ops.nll_loss_forward.call(self, target, weight, reduction, ignore_index)[0]


def nll_loss_forward_meta(
    op: tuple[Structured, Structured],
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
) -> None:
    """The loss and the total weight."""
    if not 1 <= len(self._size) <= 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    if len(target._size) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(self._size) == 2 and self._size[0] != (target._size or (1,))[0]:
        raise RuntimeError(f"size mismatch (got input: {list(self._size)}, target: {list(target._size)})")
    if len(self._size) == 1 and target._size and target._size[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target._size[0]}")
    check_weights(self, weight)
    size = (self._size[0],) if reduction == NONE and len(self._size) == 2 else ()
    op[0].set_output_raw_strided(size, contiguous_strides(size), self._dtype, self._device)
    op[1].set_output_raw_strided((), (), self._dtype, self._device)


def nll_loss_forward_out(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    output: Tensor,
    total_weight: Tensor,
) -> None:
    """-weight * self at the target, reduced"""
    check_numbers(self, target, weight, "nll_loss_out_frame")
    each = reduction == NONE and len(self._size) == 2
    on_cuda = self._device.type == "cuda"
    self, target, weight = side_by_side(self, target, weight, (not each and numel(target._size) > 0) or on_cuda)
    rows, classes, weights = _weighted(self, target, weight, ignore_index)
    picked = -self._array.reshape(-1, self._size[-1])[rows, classes] * weights
    if each:
        output._array[...] = picked
        if on_cuda:
            ops.zero_.call(total_weight)
        else:
            total_weight._array[...] = 0
        return
    if on_cuda:  # cuda/Loss.cu
        ops.resize_.call(total_weight, (), None)
    total_weight._array[...] = weights.sum()
    total = picked.sum()
    output._array[...] = quiet.run(operator.truediv, total, weights.sum()) if reduction == MEAN else total


def side_by_side(
    self: Tensor, target: Tensor, weight: Tensor | None, whole: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The tensors as the loops read them: the weight is contiguous, and with ``whole`` all of them are."""
    weight = None if weight is None else in_format(weight)
    return (in_format(self), in_format(target), weight) if whole else (self, target, weight)


def _weighted(self: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> tuple[Any, Any, Any]:
    """The row numbers, classes (0 where ignored) and weights (0 where ignored).

    Raise IndexError for a class out of range.
    """
    xp: Any = array_module(self._device.type)
    classes = target._array.reshape(-1)
    ignored = classes == ignore_index
    wrong = ~ignored & ((classes < 0) | (classes >= self._size[-1]))
    if wrong.any():
        raise IndexError(f"Target {int(classes[wrong][0])} is out of bounds.")
    classes = xp.where(ignored, 0, classes)
    kind = self._dtype.numpy
    weights = xp.ones(classes.shape, kind) if weight is None else weight._array[classes]
    return xp.arange(classes.size), classes, xp.where(ignored, kind.type(0), weights)


def nll_loss_backward_meta(
    op: Structured,
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> None:
    """The shape of self."""
    if weight is not None and numel(weight._size) != self._size[-1]:
        raise RuntimeError("weight tensor should be defined either for all or no classes")
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def nll_loss_backward_out(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
    grad_input: Tensor,
) -> None:
    """-weight * grad at the target, else 0"""
    ops.zero_.call(grad_input)
    if not target._size:
        target = ops.unsqueeze.call(target, 0)
    if target._dtype is not uint8:
        check_scalar_type(target, int64)
    _, _, weight = side_by_side(self, target, weight, False)
    if self._device.type == "cuda":
        target = in_format(target)
    rows, classes, weights = _weighted(self, target, weight, ignore_index)
    grad = -weights * grad_output._array
    if reduction == MEAN:
        grad = grad / total_weight._array
    grad_input._array.reshape(-1, self._size[-1])[rows, classes] = grad
