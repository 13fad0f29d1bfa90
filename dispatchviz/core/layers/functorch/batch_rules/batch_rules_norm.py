"""Batch rules of ``layer_norm`` (``BatchRulesNorm.cpp``): weight and bias are applied to the normalized input."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    contiguous,
    ensure_has_bdim,
    maybe_pad_to_logical_rank,
    move_batch_dim_to_front,
    rank_without_batch_dim,
)
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, checked_layer, exclude_batched, plumbed
from dispatchviz.core.tensor.tensor import Size, Tensor

# -- forward -----------------------------------------------------------------------------------------------------------


def native_layer_norm(
    input: Tensor,
    input_bdim: int | None,
    normalized_shape: Size,
    weight: Tensor | None,
    weight_bdim: int | None,
    bias: Tensor | None,
    bias_bdim: int | None,
    eps: float,
) -> tuple[Tensor, int, Tensor, int | None, Tensor, int | None]:
    """Normalize, at once with weight and bias if neither is batched."""
    moved = move_batch_dim_to_front(input, input_bdim)
    if weight_bdim is None and bias_bdim is None:
        result, mean, rstd = ops.native_layer_norm.call(moved, normalized_shape, weight, bias, eps)
        stats = stat_bdim(input_bdim, mean)
        return result, 0, mean, stats, rstd, stats
    _check_inputs(normalized_shape, (weight, weight_bdim), (bias, bias_bdim))
    rank = rank_without_batch_dim(input, input_bdim)
    result, mean, rstd = ops.native_layer_norm.call(moved, normalized_shape, None, None, eps)
    if weight is not None:
        factor = move_batch_dim_to_front(weight, weight_bdim)
        result = ops.mul_Tensor.call(result, maybe_pad_to_logical_rank(factor, weight_bdim, rank))
    if bias is not None:
        batched = input_bdim is not None or weight_bdim is not None
        rank = rank_without_batch_dim(result, 0 if batched else None)
        shift = move_batch_dim_to_front(bias, bias_bdim)
        result = ops.add_Tensor.call(result, maybe_pad_to_logical_rank(shift, bias_bdim, rank), 1)
    stats = stat_bdim(input_bdim, mean)
    return result, 0, mean, stats, rstd, stats


def stat_bdim(input_bdim: int | None, stat: Tensor) -> int | None:
    """The batch dimension of a statistic; None if the statistic is empty (``computestat_bdim``)."""
    return 0 if input_bdim is not None and stat._size != (0,) else None


def _check_inputs(shape: Size, *parameters: tuple[Tensor | None, int | None]) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {list(shape)}"
        )
    for tensor, bdim in parameters:
        if tensor is None:
            continue
        own = tensor._size if bdim is None else tensor._size[:bdim] + tensor._size[bdim + 1 :]
        if own != tuple(shape):  # a wrong bias is called weight too
            raise RuntimeError(
                "Expected weight to be of same shape as normalized_shape, but got weight of shape "
                f"{list(tensor._size)} and normalized_shape = {list(shape)}"
            )


# -- backward ----------------------------------------------------------------------------------------------------------


def native_layer_norm_backward_plumbing(
    ks: int,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Size,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Compute the gradients. Those of bias and weight are computed on the batched tensors themselves."""
    level = checked_layer("native_layer_norm_backward_plumbing").level
    if not any(is_batched_at_level(tensor, level) for tensor in (grad_out, input, mean, rstd, weight, bias)):
        with exclude_batched():
            return ops.native_layer_norm_backward.call(
                grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
            )
    grad_input = grad_weight = grad_bias = None
    if output_mask[2] and bias is not None:
        grad_bias = _summed(grad_out, normalized_shape)
    if output_mask[1] and weight is not None:
        normalized = ops.mul_Tensor.call(ops.sub_Tensor.call(input, mean, 1), rstd)
        grad_weight = _summed(ops.mul_Tensor.call(normalized, grad_out), normalized_shape)
    if output_mask[0]:
        grad = grad_out if weight is None else ops.mul_Tensor.call(grad_out, weight)
        unwrapped = [unwrap_at_level(tensor, level) for tensor in (grad, input, mean, rstd)]
        with exclude_batched():
            grad_input = make_batched(*_input_gradient(normalized_shape, *unwrapped), level)
    return grad_input, grad_weight, grad_bias


def _summed(grad: Tensor, normalized_shape: Size) -> Tensor:
    """Return the sum over the leading dimensions."""
    count = len(grad._size) - len(normalized_shape)
    return ops.sum_dim_IntList.call(grad, tuple(range(count)), False, None) if count else grad


def _input_gradient(shape: Size, grad: Batched, input: Batched, mean: Batched, rstd: Batched) -> Batched:
    """Return the gradient of the input (``native_layer_norm_backward_no_weight_bias_batch_rule``)."""
    mask = (True, False, False)
    converted = grad[0]
    if converted._dtype is not input[0]._dtype:
        converted = ops.to_dtype.call(converted, input[0]._dtype, False, False, None)
    all_four = ((converted, grad[1]), input, mean, rstd)
    if all(bdim is None for _, bdim in all_four):
        first, second, third, fourth = (tensor for tensor, _ in all_four)
        return ops.native_layer_norm_backward.call(first, second, shape, third, fourth, None, None, mask)[0], None
    moved = [move_batch_dim_to_front(*batched) for batched in all_four]
    size = next(tensor._size[bdim] for tensor, bdim in all_four if bdim is not None)
    whole = [ensure_has_bdim(tensor, bdim is not None, size) for tensor, (_, bdim) in zip(moved, all_four, strict=True)]
    first, second, third, fourth = (contiguous(tensor) for tensor in whole)
    return ops.native_layer_norm_backward.call(first, second, shape, third, fourth, None, None, mask)[0], 0


KERNELS: dict[str, Kernel] = {
    "native_layer_norm": plumbed("native_layer_norm", native_layer_norm),
    "native_layer_norm_backward": native_layer_norm_backward_plumbing,
}
"""Kernels for FuncTorchBatched."""
