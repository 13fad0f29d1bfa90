"""Batch rules of group norm (``BatchRulesNorm.cpp``): the batch becomes more examples.

Weight and bias are applied to the normalized input, on the batched tensors themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_batch_norm import Three, pad_right
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, checked_layer, exclude_batched
from dispatchviz.core.tensor.tensor import Tensor


def native_group_norm_plumbing(
    ks: int,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> Three:
    """Normalize, then apply weight and bias."""
    level = checked_layer("native_group_norm_plumbing").level
    if not any(is_batched_at_level(tensor, level) for tensor in (input, weight, bias)):
        with exclude_batched():
            return ops.native_group_norm.call(input, weight, bias, N, C, HxW, group, eps)
    value, bdim = unwrap_at_level(input, level)
    if bdim is None:
        with exclude_batched():
            result, mean, rstd = ops.native_group_norm.call(value, None, None, N, C, HxW, group, eps)
    else:
        examples, size = reshape_dim_into(bdim, 0, value), value._size[bdim]
        with exclude_batched():
            found = ops.native_group_norm.call(examples, None, None, N * size, C, HxW, group, eps)
            result, mean, rstd = (make_batched(reshape_dim_outof(0, size, one), 0, level) for one in found)
    if weight is not None:
        result = ops.mul_Tensor.call(result, pad_right(weight, None, len(result._size) - 1))
    if bias is not None:
        result = ops.add_Tensor.call(result, pad_right(bias, None, len(result._size) - 1), 1)
    return result, mean, rstd


def native_group_norm_backward_plumbing(
    ks: int,
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Compute the gradients. Only that of the input needs the operator itself."""
    level = checked_layer("native_group_norm_backward_plumbing").level
    sizes = N, C, HxW, group
    if not any(is_batched_at_level(tensor, level) for tensor in (grad_out, input, mean, rstd, weight)):
        with exclude_batched():
            return ops.native_group_norm_backward.call(grad_out, input, mean, rstd, weight, *sizes, output_mask)
    grad_input = grad_weight = grad_bias = None
    if output_mask[2]:
        grad_bias = _summed(grad_out)
    if output_mask[1] and weight is not None:
        normalized = _normalized(input, mean, rstd, group)
        grad_weight = _summed(ops.mul_Tensor.call(normalized, grad_out))
    if output_mask[0]:
        grad = grad_out
        if weight is not None:
            grad = ops.mul_Tensor.call(grad_out, pad_right(weight, None, len(grad_out._size) - 1))
        unwrapped = [unwrap_at_level(tensor, level) for tensor in (grad, input, mean, rstd)]
        with exclude_batched():
            grad_input = make_batched(_input_gradient(unwrapped, *sizes), 0, level)
    return grad_input, grad_weight, grad_bias


def _summed(grad: Tensor) -> Tensor:
    """Return the sum over all dimensions except the channels."""
    dims = tuple(range(1, len(grad._size)))
    return ops.sum_dim_IntList.call(ops.transpose_int.call(grad, 0, 1), dims, False, None)


def _normalized(input: Tensor, mean: Tensor, rstd: Tensor, group: int) -> Tensor:
    groups = reshape_dim_outof(1, group, input)
    rank = len(groups._size)
    factor, shift = pad_right(rstd, None, rank), pad_right(mean, None, rank)
    centered = ops.sub_Tensor.call(groups, shift, 1)
    return reshape_dim_into(1, 1, ops.mul_Tensor.call(centered, factor))


def _input_gradient(unwrapped: Sequence[Batched], N: int, C: int, HxW: int, group: int) -> Tensor:
    """Return the gradient of the input (``group_norm_backward_no_weight_bias_batch_rule``)."""
    size = batch_size(*unwrapped[:2])
    moved = [move_batch_dim_to_front(*one) for one in unwrapped]
    whole = [ensure_has_bdim(one, bdim is not None, size) for one, (_, bdim) in zip(moved, unwrapped, strict=True)]
    grad, input, mean, rstd = (reshape_dim_into(0, 0, one) for one in whole)
    found = ops.native_group_norm_backward.call(
        grad, input, mean, rstd, None, N * size, C, HxW, group, (True, False, False)
    )
    return reshape_dim_outof(0, size, found[0])


KERNELS: dict[str, Kernel] = {
    "native_group_norm": native_group_norm_plumbing,
    "native_group_norm_backward": native_group_norm_backward_plumbing,
}
"""Kernels for FuncTorchBatched."""
