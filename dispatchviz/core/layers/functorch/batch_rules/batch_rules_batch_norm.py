"""Batch rules of batch norm (``BatchRulesNorm.cpp``): the batch becomes channels, each with statistics of its own.

Weight and bias are applied to the normalized input. The gradients of both are computed on the batched tensors
themselves. In comments, N are examples, C channels, B the batch; (BC) is one dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    contiguous,
    ensure_has_bdim,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_norm import stat_bdim
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, checked_layer, exclude_batched, plumbed
from dispatchviz.core.tensor.tensor import Tensor

Three = tuple[Tensor, Tensor, Tensor]
MaybeBatched = tuple[Tensor | None, int | None]


def pad_right(tensor: Tensor, bdim: int | None, rank: int) -> Tensor:
    """Append dimensions of size 1 (``padRight``)."""
    missing = rank - rank_without_batch_dim(tensor, bdim)
    return tensor if missing <= 0 else ops.view.call(tensor, (*tensor._size, *[1] * missing))


def _size(*batched: MaybeBatched) -> int:
    return next(tensor._size[bdim] for tensor, bdim in batched if tensor is not None and bdim is not None)


def _running(statistic: MaybeBatched, size: int) -> Tensor | None:
    """Reshape a statistic: BC or C -> (BC)."""
    tensor, bdim = statistic
    if tensor is None:
        return None
    whole = ensure_has_bdim(move_batch_dim_to_front(tensor, bdim), bdim is not None, size)
    return contiguous(reshape_dim_into(0, 0, whole))


def _ones_and_zeros(input: Tensor) -> tuple[Tensor, Tensor]:
    """Return a weight and a bias that change nothing, for libraries that require them."""
    options = (input._dtype, "strided", input._device, None)
    return ops.ones.call((input._size[1],), *options), ops.zeros.call((input._size[1],), *options)


# -- forward -----------------------------------------------------------------------------------------------------------


def native_batch_norm(
    input: Tensor,
    input_bdim: int | None,
    weight: Tensor | None,
    weight_bdim: int | None,
    bias: Tensor | None,
    bias_bdim: int | None,
    running_mean: Tensor | None,
    mean_bdim: int | None,
    running_var: Tensor | None,
    var_bdim: int | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, int, Tensor, int | None, Tensor, int | None]:
    """Normalize, then apply weight and bias. Raise RuntimeError if the examples would have to share the statistics that
    are written.
    """
    running = ((running_mean, mean_bdim), (running_var, var_bdim))
    if training and input_bdim is not None and any(one is not None and bdim is None for one, bdim in running):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in "
            "place, were not batched.\nIf you are using a module and do not need eval mode, please set "
            "`track_running_stats` to be False.If you are using a prebuilt module and do not need eval mode, please "
            "see the functorch website for resources on how to patch your module to work with vmap"
        )
    how = training, momentum, eps
    batched = input_bdim is not None or mean_bdim is not None or var_bdim is not None
    result, mean, rstd = _normalized((input, input_bdim), running, *how) if batched else _plain(input, running, *how)
    stats = stat_bdim(0 if batched else None, mean)
    if weight is not None:
        factor = move_batch_dim_to_front(weight, weight_bdim)
        factor = pad_right(factor, weight_bdim, rank_without_batch_dim(input, input_bdim))
        result = ops.mul_Tensor.call(result, factor)
    if bias is not None:
        rank = rank_without_batch_dim(result, 0 if batched or weight_bdim is not None else None)
        shift = pad_right(move_batch_dim_to_front(bias, bias_bdim), bias_bdim, rank)
        result = ops.add_Tensor.call(result, shift, 1)
    return ops.transpose_int.call(result, 1, 2), 0, mean, stats, rstd, stats


def _plain(input: Tensor, running: Sequence[MaybeBatched], training: bool, momentum: float, eps: float) -> Three:
    """Normalize an input that is not batched, and move the channels to the front."""
    factor, shift = _ones_and_zeros(input)
    means, variances = (one for one, _ in running)
    result, mean, rstd = ops.native_batch_norm.call(input, factor, shift, means, variances, training, momentum, eps)
    return ops.transpose_int.call(result, 0, 1), mean, rstd


def _normalized(input: Batched, running: Sequence[MaybeBatched], training: bool, momentum: float, eps: float) -> Three:
    """Normalize a batched input: BNC -> N(BC), then BCN."""
    size = _size(input, *running)
    whole = ensure_has_bdim(move_batch_dim_to_front(*input), input[1] is not None, size)
    channels = reshape_dim_into(0, 1, whole)
    means, variances = (_running(one, size) for one in running)
    factor, shift = _ones_and_zeros(channels)
    result, mean, rstd = ops.native_batch_norm.call(channels, factor, shift, means, variances, training, momentum, eps)
    first, second, third = ops.transpose_int.call(result, 0, 1), mean, rstd
    return reshape_dim_outof(0, size, first), reshape_dim_outof(0, size, second), reshape_dim_outof(0, size, third)


def _native_batch_norm_legit(
    ks: int,
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Three:
    """Call ``native_batch_norm`` on the batched tensors themselves."""
    return ops.native_batch_norm.call(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _native_batch_norm_legit_no_stats(
    ks: int, input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> Three:
    """Call ``native_batch_norm`` without running statistics."""
    return ops.native_batch_norm.call(input, weight, bias, None, None, training, momentum, eps)


# -- backward ----------------------------------------------------------------------------------------------------------


def native_batch_norm_backward_plumbing(
    ks: int,
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor,
    save_invstd: Tensor,
    training: bool,
    eps: float,
    output_mask: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Compute the gradients. Only that of the input needs the operator itself."""
    level = checked_layer("NativeBatchNormBackwardBatchRuleHelper.apply").level
    tensors = (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd)
    if not any(is_batched_at_level(tensor, level) for tensor in tensors):
        with exclude_batched():
            return ops.native_batch_norm_backward.call(*tensors, training, eps, output_mask)
    rank = len(grad_out._size)
    rest = tuple(range(1, rank))
    grad_input = grad_weight = grad_bias = None
    if output_mask[2]:
        grad_bias = ops.sum_dim_IntList.call(ops.transpose_int.call(grad_out, 0, 1), rest, False, None)
    if output_mask[1] and weight is not None:
        mean = save_mean if training else running_mean
        assert mean is not None
        scale = save_invstd if training else _inverse_deviation(running_var, eps)
        factor = pad_right(scale, None, rank)
        shift = pad_right(mean, None, rank)
        centered = ops.sub_Tensor.call(ops.transpose_int.call(input, 0, 1), shift, 1)
        normalized = ops.mul_Tensor.call(centered, factor)
        product = ops.mul_Tensor.call(normalized, ops.transpose_int.call(grad_out, 0, 1))
        grad_weight = ops.sum_dim_IntList.call(product, rest, False, None)
    if output_mask[0]:
        grad = _of_normalized(grad_out, weight)
        unwrapped = [unwrap_at_level(tensor, level) for tensor in (grad, input, save_mean, save_invstd)]
        running = [
            (None, None) if tensor is None else unwrap_at_level(tensor, level) for tensor in (running_mean, running_var)
        ]
        with exclude_batched():
            grad_input = make_batched(*_input_gradient(unwrapped, running, training, eps), level)
    return grad_input, grad_weight, grad_bias


def _inverse_deviation(running_var: Tensor | None, eps: float) -> Tensor:
    assert running_var is not None
    root = ops.sqrt.call(ops.add_Scalar.call(running_var, eps, 1))
    return ops.mul_Scalar.call(ops.reciprocal.call(root), 1)


def _of_normalized(grad_out: Tensor, weight: Tensor | None) -> Tensor:
    """Return the gradient of the normalized input, NC. It is multiplied by the weight as CN."""
    factor = None if weight is None else pad_right(weight, None, len(grad_out._size))
    grad = ops.transpose_int.call(grad_out, 0, 1)
    if factor is not None:
        grad = ops.mul_Tensor.call(grad, factor)
    return ops.transpose_int.call(grad, 0, 1)


def _input_gradient(
    unwrapped: Sequence[Batched], running: Sequence[MaybeBatched], training: bool, eps: float
) -> Batched:
    """Return the gradient of the input (``batch_norm_backward_no_weight_bias_batch_rule``)."""
    grad, input, mean, rstd = (tensor for tensor, _ in unwrapped)
    mask = (True, False, False)
    if all(bdim is None for _, bdim in (*unwrapped[:2], *running)):
        factor = ops.ones.call((input._size[1],), mean._dtype, "strided", mean._device, None)
        means, variances = (one for one, _ in running)
        found = ops.native_batch_norm_backward.call(
            grad, input, factor, means, variances, mean, rstd, training, eps, mask
        )
        return found[0], None
    moved = [move_batch_dim_to_front(*one) for one in unwrapped]
    size = _size(*unwrapped[:2], *running)
    whole = [ensure_has_bdim(one, bdim is not None, size) for one, (_, bdim) in zip(moved, unwrapped, strict=True)]
    means, variances = (_running(one, size) for one in running)
    channels = reshape_dim_into(0, 1, whole[1])
    mean, rstd = reshape_dim_into(0, 0, whole[2]), reshape_dim_into(0, 0, whole[3])
    grads = ops.flatten_using_ints.call(ops.transpose_int.call(whole[0], 0, 1), 1, 2)  # BNC -> N(BC)
    factor = ops.ones.call((channels._size[1],), mean._dtype, "strided", mean._device, None)
    third, second = contiguous(rstd), contiguous(mean)
    first = contiguous(channels)
    found = ops.native_batch_norm_backward.call(
        contiguous(grads), first, factor, means, variances, second, third, training, eps, mask
    )
    result = reshape_dim_outof(1, size, found[0])
    return ops.transpose_int.call(result, 0, 1), 0


KERNELS: dict[str, Kernel] = {
    "native_batch_norm": plumbed("native_batch_norm", native_batch_norm),
    "_native_batch_norm_legit": _native_batch_norm_legit,
    "_native_batch_norm_legit.no_stats": _native_batch_norm_legit_no_stats,
    "native_batch_norm_backward": native_batch_norm_backward_plumbing,
}
"""Kernels for FuncTorchBatched."""
