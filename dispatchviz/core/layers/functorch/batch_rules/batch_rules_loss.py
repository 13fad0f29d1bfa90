"""Batch rules of ``mse_loss``, ``binary_cross_entropy`` and other losses (``BatchRulesLoss.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
)
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import (
    Batched,
    BatchRule,
    Kernel,
    call_operator,
    checked_layer,
    exclude_batched,
    plumbed,
)
from dispatchviz.core.native.losses.elementwise_losses import apply_loss_reduction
from dispatchviz.core.native.losses.mse_nll_loss import MEAN, NONE, SUM
from dispatchviz.core.tensor.tensor import Tensor, numel

# -- losses of two tensors ---------------------------------------------------------------------------------------------


def loss(name: str) -> BatchRule:
    """Return the rule of a loss, which is computed without reduction, flattened for each example and then reduced
    (``loss_batch_rule_helper``).
    """

    def rule(
        self: Tensor, self_bdim: int | None, target: Tensor, target_bdim: int | None, reduction: int, *how: Any
    ) -> Batched:
        first, second = _flat((self, self_bdim)), _flat((target, target_bdim))
        result = call_operator(find(f"aten::{name}"), (first, second, NONE, *how))
        if len(result._size) == 1:
            return result, 0
        if reduction == NONE:
            shape = (self, self_bdim) if self_bdim is not None else (target, target_bdim)
            return ops.reshape.call(result, move_batch_dim_to_front(*shape)._size), 0
        if reduction == SUM:
            return ops.sum_dim_IntList.call(result, (-1,), False, None), 0
        return ops.mean_dim.call(result, (-1,), False, None), 0

    return rule


def _flat(batched: Batched) -> Tensor:
    """Flatten all dimensions except the batch dimension (``flatten_logical``)."""
    tensor, bdim = batched
    if bdim is None:
        return ops.flatten_using_ints.call(tensor, 0, -1)
    moved = move_batch_dim_to_front(tensor, bdim)
    return ops.flatten_using_ints.call(moved, 1, -1) if len(moved._size) > 1 else moved


# -- binary_cross_entropy ----------------------------------------------------------------------------------------------


def binary_cross_entropy_plumbing(
    ks: int, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """Compute the loss, then apply weight and reduction on the batched tensors themselves."""
    level = checked_layer("binary_cross_entropy_plumbing").level
    if not any(is_batched_at_level(tensor, level) for tensor in (self, target, weight)):
        with exclude_batched():
            return ops.binary_cross_entropy.call(self, target, weight, reduction)
    batched = [unwrap_at_level(tensor, level) for tensor in (self, target)]
    with exclude_batched():
        first, second = _with_batch(batched)
        result = ops.binary_cross_entropy.call(first, second, None, NONE)
    result = make_batched(result, _in_front(batched), level)
    if weight is not None:
        result = ops.mul_Tensor.call(result, weight)
    return apply_loss_reduction(result, reduction)


def binary_cross_entropy_backward_plumbing(
    ks: int, grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """Compute the gradient, then apply the weight on the batched tensors themselves. The gradient of a number is
    expanded first.
    """
    level = checked_layer("binary_cross_entropy_backward_plumbing").level
    if not any(is_batched_at_level(tensor, level) for tensor in (grad, input, target, weight)):
        with exclude_batched():
            return ops.binary_cross_entropy_backward.call(grad, input, target, weight, reduction)
    grads = grad if reduction == NONE else ops.expand_as.call(grad, input)
    batched = [unwrap_at_level(tensor, level) for tensor in (grads, input, target)]
    with exclude_batched():
        first, second, third = _with_batch(batched)
        result = ops.binary_cross_entropy_backward.call(first, second, third, None, NONE)
    result = make_batched(result, _in_front(batched), level)
    if weight is not None:
        result = ops.mul_Tensor.call(result, weight)
    if reduction == MEAN:
        ops.div__Scalar.call(result, numel(input._size))
    return result


def _in_front(batched: Sequence[Batched]) -> int | None:
    return None if all(bdim is None for _, bdim in batched) else 0


def _with_batch(batched: Sequence[Batched]) -> list[Tensor]:
    """Return all tensors with the batch dimension in front, unless none is batched."""
    if _in_front(batched) is None:
        return [tensor for tensor, _ in batched]
    size = batch_size(*batched)
    moved = [(move_batch_dim_to_front(tensor, bdim), bdim) for tensor, bdim in batched]
    return [ensure_has_bdim(tensor, bdim is not None, size) for tensor, bdim in moved]


KERNELS: dict[str, Kernel] = {
    **{name: plumbed(name, loss(name)) for name in ("mse_loss", "huber_loss", "smooth_l1_loss")},
    "binary_cross_entropy": binary_cross_entropy_plumbing,
    "binary_cross_entropy_backward": binary_cross_entropy_backward_plumbing,
}
"""Kernels for FuncTorchBatched."""
