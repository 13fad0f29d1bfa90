"""``nll_loss2d``: ``nll_loss`` of images (``aten/src/ATen/native/LossNLL2d.cpp``).

self is (N, classes, height, width), the target (N, height, width).
"""

from __future__ import annotations

import operator
from typing import Any

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import quiet
from dispatchviz.core.native.losses.mse_nll_loss import MEAN, NONE, side_by_side
from dispatchviz.core.native.losses.nll_loss_checks import check_classes, check_numbers
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel


def nll_loss2d_symint(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensor:
    """The first result of ``nll_loss2d_forward``."""
    return ops.nll_loss2d_forward.call(self, target, weight, reduction, ignore_index)[0]


def nll_loss2d_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The loss and the total weight."""
    output = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    total_weight = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    _check(self, target, weight)
    check_classes(target)
    ops.resize_.call(total_weight, (), None)
    check_numbers(self, target, weight, "nll_loss2d_forward_out_frame")
    _, _, weight = side_by_side(self, target, weight, False)
    size = target._size if reduction == NONE else ()
    resize_output(output, size, contiguous_strides(size))
    self, target, weight = side_by_side(self, target, weight, reduction != NONE and numel(target._size) > 0)
    indices, weights = _weighted(self, target, weight, ignore_index)
    picked = -self._array[indices] * weights
    if reduction == NONE:
        output._array[...] = picked
        total_weight._array[...] = 0
        return output, total_weight
    total_weight._array[...] = weights.sum()
    output._array[...] = quiet.run(operator.truediv, picked.sum(), weights.sum()) if reduction == MEAN else picked.sum()
    return output, total_weight


def _check(self: Tensor, target: Tensor, weight: Tensor | None) -> None:
    if len(target._size) != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(target._size)}"
        )
    if len(self._size) != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {len(self._size)}"
        )
    if weight is not None and weight._size != (self._size[1],):
        raise RuntimeError("weight tensor should be defined either for all or no classes")
    if target._size != (self._size[0], *self._size[2:]):
        raise RuntimeError(f"size mismatch (got input: {list(self._size)} , target: {list(target._size)}")


def _weighted(self: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> tuple[Any, Any]:
    """The index of each target's element (class 0 where ignored) and its weight (0 where ignored).

    Raise IndexError for a class out of range.
    """
    xp: Any = array_module(self._device.type)
    classes = target._array
    ignored = classes == ignore_index
    wrong = ~ignored & ((classes < 0) | (classes >= self._size[1]))
    if wrong.any():
        raise IndexError(f"Target {int(classes[wrong][0])} is out of bounds.")
    classes = xp.where(ignored, 0, classes)
    kind = self._dtype.numpy
    weights = xp.ones(classes.shape, kind) if weight is None else weight._array[classes]
    count, height, width = target._size
    grid = (xp.arange(count)[:, None, None], classes, xp.arange(height)[:, None], xp.arange(width))
    return grid, xp.where(ignored, kind.type(0), weights)


def nll_loss2d_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """-weight * grad at the target, else 0"""
    grad_input = ops.zeros_like.call(self, None, None, None, None, None)
    _check(self, target, weight)
    check_numbers(self, target, weight, "nll_loss2d_backward_out_frame")
    ops.zero_.call(ops.resize_as_.call(grad_input, self, None))
    if not grad_input._is_contiguous:
        raise RuntimeError("grad_input must be contiguous")
    _, _, weight = side_by_side(self, target, weight, False)
    if reduction != NONE and self._device.type == "cpu":
        target = in_format(target)
    indices, weights = _weighted(self, target, weight, ignore_index)
    grad = -weights * grad_output._array
    grad_input._array[indices] = grad / total_weight._array if reduction == MEAN else grad
    return grad_input
