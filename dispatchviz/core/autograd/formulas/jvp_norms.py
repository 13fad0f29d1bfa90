"""Decompositions for forward mode: the backward of layer norm and batch norm
(``torch/_decomp/decompositions_for_jvp.py``).

Mean and variance are computed again, so that they follow the input's tangent.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

Three = tuple[Tensor, Tensor, Tensor]


def recompute_mean_var(input: Tensor, rstd: Tensor, dims: Size, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The mean and the inverse deviation. The epsilon is computed from the known inverse deviation."""
    var, mean = ops.var_mean_correction.call(input, dims, 0, keepdim)
    eps = ops.sub_Tensor.call(ops.pow_Tensor_Scalar.call(ops.reciprocal.call(rstd), 2), var, 1)
    return mean, ops.rsqrt.call(ops.add_Tensor.call(var, ops.detach.call(eps), 1))


def _undefined_gradient(like: Tensor | None) -> Tensor:
    """Zeros, for a gradient that is not requested."""
    if like is None:
        return ops.zeros.call((), None, None, None, None)
    return ops.zeros_like.call(like, None, None, None, None, None)


def native_layer_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: Size, mean: Tensor, rstd: Tensor, weight: Tensor | None,
    bias: Tensor | None, output_mask: tuple[bool, ...],
) -> Three:  # fmt: skip
    """rstd / N * (N * grad - sum of grad - x * sum of grad * x), where x is the normalized input"""
    axis = len(input._size) - len(normalized_shape)
    outer, inner = tuple(range(axis)), tuple(range(axis, len(input._size)))
    if not numel(input._size):
        sizes = input._size, input._size[axis:], input._size[axis:]
        first, second, third = (ops.new_zeros.call(input, size, None, None, None, None) for size in sizes)
        return first, second, third
    center, scale = recompute_mean_var(input, rstd, inner, True)
    x = ops.mul_Tensor.call(ops.sub_Tensor.call(input, center, 1), scale)
    grad = grad_out if weight is None else ops.mul_Tensor.call(grad_out, weight)
    count = numel(input._size[axis:])
    whole = ops.mul_Scalar.call(grad, count)
    total = ops.sum_dim_IntList.call(grad, inner, True, None)
    along = ops.mul_Tensor.call(x, ops.sum_dim_IntList.call(ops.mul_Tensor.call(grad, x), inner, True, None))
    rest = ops.sub_Tensor.call(ops.sub_Tensor.call(whole, total, 1), along, 1)
    d_input = (
        _undefined_gradient(input)
        if not output_mask[0]
        else ops.mul_Tensor.call(ops.div_Scalar.call(scale, count), rest)
    )
    d_weight = d_bias = None
    if output_mask[1] and weight is not None:
        d_weight = _summed(ops.mul_Tensor.call(grad_out, x), outer)
    d_weight = _undefined_gradient(weight) if d_weight is None else d_weight
    if output_mask[2] and bias is not None:
        d_bias = _summed(grad_out, outer) if outer else ops.clone.call(grad_out, None)
    return d_input, d_weight, _undefined_gradient(bias) if d_bias is None else d_bias


def _summed(grad: Tensor, dims: Size) -> Tensor:
    return ops.sum_dim_IntList.call(grad, dims, False, None) if dims else grad


def native_batch_norm_backward(
    grad_out: Tensor, input: Tensor, weight: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    save_mean: Tensor | None, save_invstd: Tensor | None, train: bool, eps: float, output_mask: tuple[bool, ...],
) -> Three:  # fmt: skip
    """invstd * weight * (grad - mean of grad - x * mean of grad * x) in training, else without the means"""
    rank = len(input._size)
    dims = (0, *range(2, rank))
    mean, invstd = _statistics(input, running_mean, running_var, save_invstd, train, eps, dims)
    shape = tuple(input._size[1] if dim == 1 else 1 for dim in range(rank))
    mean = ops.reshape.call(mean, shape)
    fraction = 1.0 / (numel(input._size) / input._size[1])
    total = ops.sum_dim_IntList.call(grad_out, dims, False, None)
    centered = ops.sub_Tensor.call(input, mean, 1)
    along = ops.sum_dim_IntList.call(ops.mul_Tensor.call(grad_out, centered), dims, False, None)
    grad_mean = ops.reshape.call(ops.mul_Scalar.call(total, fraction), shape)
    part = ops.mul_Scalar.call(along, fraction)
    proj_scale = ops.reshape.call(ops.mul_Tensor.call(part, ops.mul_Tensor.call(invstd, invstd)), shape)
    if weight is None:
        grad_scale = ops.mul_Scalar.call(ops.reshape.call(invstd, shape), 1.0)
    else:
        grad_scale = ops.reshape.call(ops.mul_Tensor.call(invstd, weight), shape)
    grad_input = grad_out
    if train:
        proj = ops.mul_Tensor.call(ops.sub_Tensor.call(input, mean, 1), proj_scale)
        grad_input = ops.sub_Tensor.call(ops.sub_Tensor.call(grad_out, proj, 1), grad_mean, 1)
    grad_input = ops.mul_Tensor.call(grad_input, grad_scale)
    grad_weight = ops.mul_Tensor.call(along, invstd) if output_mask[1] else _undefined_gradient(weight)
    return grad_input, grad_weight, total if output_mask[2] else _undefined_gradient(total)


def _statistics(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, save_invstd: Tensor | None, train: bool,
    eps: float, dims: Size,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    if train:
        assert save_invstd is not None
        return recompute_mean_var(input, save_invstd, dims, False)
    assert running_mean is not None
    assert running_var is not None
    return running_mean, ops.rsqrt.call(ops.add_Scalar.call(running_var, eps, 1))
