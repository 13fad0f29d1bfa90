"""Backward of reductions and scans: ``prod``, ``max``, ``aminmax``, ``var``, ``std``, ``cumsum``, ``logcumsumexp``
(``torch/csrc/autograd/FunctionsManual.cpp``). Those of ``sum`` and ``mean`` are in ``functions_manual.py``."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dispatchviz.core.autograd.formulas.complex_gradients import conjugated
from dispatchviz.core.autograd.formulas.functions_manual import mean_backward, sum_backward, unsqueeze_multiple
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import DType, limits_of
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.thread_state import thread

# -- prod --------------------------------------------------------------------------------------------------------------


def prod_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """grad times the product of all other elements"""
    if not self._size:
        return grad
    if not is_tensor_subclass_like(self):
        zeros = ops.nonzero.call(ops.eq_Scalar.call(self, 0))._size[0]
        if not zeros:
            return ops.mul_Tensor.call(grad, conjugated(ops.div_Tensor.call(result, self)))
        if zeros > 1 and not thread.state.grad_mode:
            return ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    flat = ops.view.call(in_format(self), (-1,))
    return ops.view_as.call(prod_safe_zeros_backward(grad, flat, 0), self)


def prod_backward_dim(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """grad times the product of the other elements along a dimension"""
    if not self._size:
        return grad
    dim = wrap_dim(dim, len(self._size))
    if not keepdim:
        grad = ops.unsqueeze.call(grad, dim)
        result = ops.unsqueeze.call(result, dim)
    if is_tensor_subclass_like(self):
        return prod_safe_zeros_backward(grad, self, dim)
    zeros = ops.sum_dim_IntList.call(ops.eq_Scalar.call(self, 0), (dim,), True, None)
    if ops.item.call(ops.sum.call(zeros, None)) == 0:
        return ops.mul_Tensor.call(grad, conjugated(ops.div_Tensor.call(result, self)))
    return prod_safe_zeros_backward(grad, self, dim)


def prod_safe_zeros_backward(grad: Tensor, values: Tensor, dim: int) -> Tensor:
    """grad times the product of the other elements, by cumulative products from both ends, which is right even where
    elements are 0
    """
    if not numel(values._size):
        return ops.expand_as.call(grad, values)
    length = values._size[dim]
    if length == 1:
        return grad
    ones_size = (*values._size[:dim], 1, *values._size[dim + 1 :])
    ones = ops.ones.call(ones_size, grad._dtype, "strided", grad._device, None)
    before = ops.cat.call([ones, ops.narrow.call(values, dim, 0, length - 1)], dim)
    normal = ops.cumprod.call(before, dim, None)
    flipped = ops.flip.call(ops.narrow.call(values, dim, 1, length - 1), (dim,))
    reverse = ops.flip.call(ops.cumprod.call(ops.cat.call([ones, flipped], dim), dim, None), (dim,))
    return ops.mul_Tensor.call(grad, conjugated(ops.mul_Tensor.call(normal, reverse)))


# -- extremes ----------------------------------------------------------------------------------------------------------


def evenly_distribute_backward(grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """grad shared by all elements equal to the extreme, or by all nan if it is nan; a GPU's extreme is not read"""
    if input._device.type == "cuda":
        both_nan = ops.logical_and_.call(ops.isnan.call(input), ops.isnan.call(value))
        mask = ops.logical_or_.call(ops.eq_Tensor.call(input, value), both_nan)
        return ops.mul_Tensor.call(mask, ops.div_Tensor.call(grad, ops.sum.call(mask, None)))
    mask = ops.isnan.call(input) if ops.item.call(ops.isnan.call(value)) else ops.eq_Tensor.call(input, value)
    zeros = ops.new_zeros.call(grad, input._size, input._dtype, "strided", input._device, None)
    return ops.masked_fill__Tensor.call(zeros, mask, ops.div_Tensor.call(grad, ops.sum.call(mask, None)))


def amaxmin_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """grad shared by the elements along the dimensions that are equal to the extreme"""
    mask = ops.eq_Tensor.call(restore_reduced_dims(result, dim, keepdim), self)
    return scale_grad_by_count(restore_reduced_dims(grad, dim, keepdim), mask, dim)


def aminmax_backward(
    self: Tensor, dim: int | None, keepdim: bool, grad_min: Tensor | None, grad_max: Tensor | None, min: Tensor,
    max: Tensor
) -> Tensor | None:  # fmt: skip
    """The sum of both gradients, each shared by the elements that are equal to the extreme"""
    dims = reduced_dims(self, dim)
    parts = [
        _distribute_among_extrema(grad, extremum, self, dims, keepdim)
        for grad, extremum in ((grad_min, min), (grad_max, max))
        if grad is not None
    ]
    if len(parts) < 2:
        return parts[0] if parts else None
    return ops.add__Tensor.call(parts[0], parts[1], 1)


def reduced_dims(self: Tensor, dim: int | None) -> Size:
    """The dimensions that ``aminmax`` reduces: one, or all"""
    return tuple(range(len(self._size))) if dim is None else (dim,)


def _distribute_among_extrema(grad: Tensor, extremum: Tensor, self: Tensor, dims: Size, keepdim: bool) -> Tensor:
    grad, extremum = restore_reduced_dims(grad, dims, keepdim), restore_reduced_dims(extremum, dims, keepdim)
    return scale_grad_by_count(grad, ops.eq_Tensor.call(self, extremum), dims)


def restore_reduced_dims(output: Tensor, dims: Size, keepdim: bool) -> Tensor:
    """The output with the reduced dimensions of size 1 restored"""
    if keepdim:
        return output
    total = len(output._size) + len(dims)
    wrapped = {wrap_dim(dim, total) for dim in dims}
    rest = iter(output._size)
    return ops.reshape.call(output, tuple(1 if dim in wrapped else next(rest) for dim in range(total)))


def scale_grad_by_count(grad: Tensor, mask: Tensor, dims: Size) -> Tensor:
    """grad * mask, divided by how often the mask is true along the dimensions"""
    count = ops.sum_dim_IntList.call(mask, dims, True, None)
    return ops.mul_Tensor.call(ops.div_Tensor.call(grad, count), mask)


# -- var, std ----------------------------------------------------------------------------------------------------------


def var_backward(
    grad: Tensor, self: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """2 / (count - correction) * grad * (self - its mean)"""
    less = 1.0 if correction is None else float(correction)  # type: ignore[arg-type]
    if not self._size or dim is None:
        free = numel(self._size) - less
        mean = ops.mean.call(self, None)
        if free <= 0:
            factor = ops.where_Scalar.call(ops.eq_Tensor.call(self, mean), math.nan, math.inf)
            return ops.mul_Tensor.call(grad, factor)
        distance = ops.sub_Tensor.call(self, mean, 1)
        return ops.mul_Tensor.call(ops.mul_Scalar.call(grad, 2 / free), distance)
    if not keepdim and len(self._size) > 1:
        grad = unsqueeze_multiple(grad, dim, len(self._size))
    free = math.prod(self._size[wrap_dim(one, len(self._size))] for one in dim) - less
    distance = ops.sub_Tensor.call(self, ops.mean_dim.call(self, tuple(dim), True, None), 1)
    return ops.mul_Tensor.call(ops.mul_Scalar.call(grad, 2 / free if free else math.inf), distance)


def std_backward(
    result: Tensor, grad: Tensor, self: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """var_backward of grad / (2 * result); 0 where the result is 0"""
    quotient = ops.div_Tensor.call(grad, ops.mul_Scalar.call(result, 2))
    grad_var = ops.masked_fill__Scalar.call(quotient, ops.eq_Scalar.call(result, 0), 0)
    return var_backward(grad_var, self, dim, correction, keepdim)


def var_mean_backward(
    gvar: Tensor | None, gmean: Tensor | None, self: Tensor, dim: Sequence[int] | None, correction: Scalar | None,
    keepdim: bool
) -> Tensor | None:  # fmt: skip
    """The sum of the gradients through the variance and through the mean"""
    from_var = None if gvar is None else var_backward(gvar, self, dim, correction, keepdim)
    return _with_mean(from_var, gmean, self, dim, keepdim)


def std_mean_backward(
    gstd: Tensor | None, gmean: Tensor | None, self: Tensor, std: Tensor, dim: Sequence[int] | None,
    correction: Scalar | None, keepdim: bool
) -> Tensor | None:  # fmt: skip
    """The sum of the gradients through the deviation and through the mean"""
    from_std = None if gstd is None else std_backward(std, gstd, self, dim, correction, keepdim)
    return _with_mean(from_std, gmean, self, dim, keepdim)


def _with_mean(
    other: Tensor | None, gmean: Tensor | None, self: Tensor, dim: Sequence[int] | None, keepdim: bool
) -> Tensor | None:
    if gmean is None:
        return other
    from_mean = mean_backward(gmean, self._size, dim or (), numel(self._size), keepdim)
    return from_mean if other is None else ops.add_Tensor.call(other, from_mean, 1)


def nansum_backward(grad: Tensor, self: Tensor, dims: Sequence[int] | None, keepdim: bool) -> Tensor:
    """grad where there is no nan"""
    counted = ops.logical_not.call(ops.isnan.call(self))
    return ops.mul_Tensor.call(sum_backward(grad, self._size, dims, keepdim), counted)


# -- logsumexp ---------------------------------------------------------------------------------------------------------


def logsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """grad * exp(self - result)"""
    if not keepdim and self._size:
        grad = unsqueeze_multiple(grad, dim, len(self._size))
        result = unsqueeze_multiple(result, dim, len(self._size))
    return ops.mul_Tensor.call(grad, conjugated(ops.exp.call(ops.sub_Tensor.call(self, result, 1))))


# -- running sums ------------------------------------------------------------------------------------------------------


def cumsum_backward(grad: Tensor, dim: int) -> Tensor:
    """The reversed cumsum"""
    if numel(grad._size) <= 1 or grad._size[dim] == 1:
        return grad
    return ops.flip.call(ops.cumsum.call(ops.flip.call(grad, (dim,)), dim, None), (dim,))


def logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """exp(self) times the sum of grad / exp(result) from each element on, in logarithms: separately for positive and
    negative ones
    """
    if not grad._size or not numel(grad._size):
        return grad
    if grad._dtype.is_complex:
        logarithm = ops.log.call(conjugated(grad))
        return conjugated(_reversed_cumsum(logarithm, self, result, dim))
    lowest = ops.scalar_tensor.call(_lowest(grad._dtype), grad._dtype, "strided", grad._device, None)
    size = ops.log.call(ops.abs.call(grad))
    positive = ops.where_self.call(ops.gt_Scalar.call(grad, 0), size, lowest)
    negative = ops.where_self.call(ops.lt_Scalar.call(grad, 0), size, lowest)
    above = _reversed_cumsum(positive, self, result, dim)
    return ops.sub_Tensor.call(above, _reversed_cumsum(negative, self, result, dim), 1)


def _lowest(dtype: DType) -> float:
    """The smallest number of a dtype."""
    return float(limits_of(dtype.numpy).min)


def _reversed_cumsum(logarithm: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    flipped = ops.flip.call(ops.sub_Tensor.call(logarithm, result, 1), (dim,))
    total = ops.flip.call(ops.logcumsumexp.call(flipped, dim), (dim,))
    return ops.exp.call(ops.add_Tensor.call(total, self, 1))
