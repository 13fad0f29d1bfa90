"""Forward-mode formulas, ``*_jvp``, of reductions, clamp, convolution and others (``*_jvp`` of
``torch/csrc/autograd/FunctionsManual.cpp``).

``X_t`` is the tangent of argument X, ``X_p`` the argument without it. Lines are in the order of C++, which evaluates
the arguments of a call from right to left.
"""

from __future__ import annotations

import math

from dispatchviz.core.autograd.formulas.complex_gradients import conjugated
from dispatchviz.core.autograd.formulas.formulas_reductions import (
    prod_backward,
    prod_backward_dim,
    reduced_dims,
    restore_reduced_dims,
    var_backward,
)
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.dtype import DType, bool_
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

# -- choosing ----------------------------------------------------------------------------------------------------------


def gather_with_keepdimed_indices(input: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """The elements of the tangent at the indices that the operator chose."""
    selected = ops.gather.call(input, dim, indices if keepdim else ops.unsqueeze.call(indices, dim))
    return selected if keepdim else ops.squeeze_dim.call(selected, dim)


def evenly_read_jvp(fw_grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """The mean tangent of all elements that are equal to the value."""
    mask = ops.eq_Tensor.call(input, value)
    fraction = ops.div_Tensor.call(fw_grad, ops.sum.call(mask))
    return ops.sum.call(ops.mul_Tensor.call(mask, fraction))


def amaxamin_jvp(x: Tensor, dx: Tensor, result: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """The mean tangent along dimensions."""
    return _mean_of_selected(x, dx, result, dim, keepdim)


def _mean_of_selected(x: Tensor, dx: Tensor, result: Tensor, dim: Size, keepdim: bool) -> Tensor:
    mask = ops.eq_Tensor.call(x, restore_reduced_dims(result, dim, keepdim))
    count = ops.sum_dim_IntList.call(mask, dim, keepdim)
    return ops.div_Tensor.call(ops.sum_dim_IntList.call(ops.where_ScalarOther.call(mask, dx, 0.0), dim, keepdim), count)


def aminmax_jvp(x: Tensor, dx: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The mean tangent, over everything or along one dimension."""
    return _mean_of_selected(x, dx, result, reduced_dims(x, dim), keepdim)


def tangent_of_selected(
    self_p: Tensor, other_p: Tensor, self_t: Tensor, other_t: Tensor, selected: Tensor
) -> Tensor:  # fmt: skip
    """The tangent of self where ``selected``, the mean of both where they are equal, else the other tangent."""
    tangent = ops.where_self.call(selected, self_t, other_t)
    mean = ops.div_Scalar.call(ops.add_Tensor.call(self_t, other_t, 1), 2)
    return ops.where_self.call(ops.eq_Tensor.call(self_p, other_p), mean, tangent)


def clamp_jvp(
    self_p: Tensor, self_t: Tensor, min_p: Tensor | None, min_t: Tensor | None, max_p: Tensor | None,
    max_t: Tensor | None
) -> Tensor:  # fmt: skip
    """The tangent of the bound where it applies, a mean on a bound; the upper bound wins."""
    if min_p is not None and max_p is not None:
        assert min_t is not None, "what is there has a tangent, if only zero"
        assert max_t is not None, "the same"
        return _jvp_of_two_bounds(self_p, self_t, (min_p, min_t), (max_p, max_t))
    if min_p is not None and min_t is not None:
        return tangent_of_selected(self_p, min_p, self_t, min_t, ops.gt_Tensor.call(self_p, min_p))
    if max_p is not None and max_t is not None:
        return tangent_of_selected(self_p, max_p, self_t, max_t, ops.lt_Tensor.call(self_p, max_p))
    return ops.clone.call(self_t)


def _jvp_of_two_bounds(
    self_p: Tensor, self_t: Tensor, lower: tuple[Tensor, Tensor], upper: tuple[Tensor, Tensor]
) -> Tensor:
    """The tangent of self or of a bound; each bound with its tangent."""
    (min_p, min_t), (max_p, max_t) = lower, upper
    tangent = ops.where_self.call(ops.lt_Tensor.call(self_p, min_p), min_t, self_t)
    tangent = ops.where_self.call(ops.gt_Tensor.call(self_p, max_p), max_t, tangent)
    ordered = ops.lt_Tensor.call(min_p, max_p)
    for bound, of_bound in (lower, upper):
        mean = ops.div_Scalar.call(ops.add_Tensor.call(self_t, of_bound, 1), 2)
        tie = ops.logical_and.call(ordered, ops.eq_Tensor.call(self_p, bound))
        tangent = ops.where_self.call(tie, mean, tangent)
    return ops.where_self.call(ops.gt_Tensor.call(min_p, max_p), max_t, tangent)


# -- reductions --------------------------------------------------------------------------------------------------------


def logsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """The mean tangent, weighted with the exponentials."""
    if numel(self_p._size):
        weights = ops.exp.call(ops.sub_Tensor.call(self_p, ops.amax.call(ops.real.call(self_p), dim, True)))
    else:
        weights = ops.exp.call(self_p)
    total = ops.sum_dim_IntList.call(weights, dim, keepdim)
    mul = ops.mul_Tensor if is_tensor_subclass_like(self_p) or is_tensor_subclass_like(self_t) else ops.mul__Tensor
    weighted = ops.sum_dim_IntList.call(mul.call(weights, self_t), dim, keepdim)
    return ops.div__Tensor.call(weighted, total)


def safe_logsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: Size, keepdim: bool) -> Tensor:
    """The mean tangent, weighted with the exponentials, and 0 in a row with only -infinity."""
    tangent = logsumexp_jvp(self_p, self_t, dim, keepdim)
    lowest = ops.scalar_tensor.call(-math.inf, tangent._dtype, "strided", tangent._device, None)
    masked_rows = ops.all_dims.call(ops.eq_Tensor.call(self_p, lowest), dim, True)
    zero = ops.scalar_tensor.call(0.0, tangent._dtype, "strided", tangent._device, None)
    return ops.where_self.call(masked_rows, zero, tangent)


def prod_jvp(self_p: Tensor, self_t: Tensor, result: Tensor) -> Tensor:
    """The sum of each tangent times the other elements."""
    conjugate = conjugated(self_t)
    self_p = ops.to_dtype.call(self_p, result._dtype, False, False, None)
    product = ops.mul_Tensor.call(prod_backward(_ones_like(result), self_p, result), conjugate)
    return conjugated(ops.sum.call(product))


def prod_dim_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The sum of each tangent times the other elements, along a dimension."""
    conjugate = conjugated(self_t)
    self_p = ops.to_dtype.call(self_p, result._dtype, False, False, None)
    product = ops.mul_Tensor.call(prod_backward_dim(_ones_like(result), self_p, result, dim, keepdim), conjugate)
    return conjugated(ops.sum_dim_IntList.call(product, (dim,), keepdim))


def _ones_like(result: Tensor) -> Tensor:
    one = ops.ones.call((), result._dtype, "strided", result._device, None)
    return ops.expand_as.call(one, result)


def var_jvp(self_p: Tensor, self_t: Tensor, dim: Size | None, correction: Scalar | None, keepdim: bool) -> Tensor:
    """The sum of each tangent times twice its element's distance from the mean."""
    parts = var_backward(conjugated(self_t), self_p, dim, correction, True)
    return ops.real.call(ops.sum_dim_IntList.call(parts, dim or (), keepdim))


def std_jvp(
    self_p: Tensor, self_t: Tensor, result: Tensor, dim: Size | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """The tangent of the variance divided by twice the deviation; 0 where the deviation is 0."""
    twice = ops.mul_Scalar.call(result, 2.0)
    derivative = ops.div_Tensor.call(var_jvp(self_p, self_t, dim, correction, keepdim), twice)
    return ops.masked_fill__Scalar.call(derivative, ops.eq_Scalar.call(result, 0), 0)


def mean_jvp(self_t: Tensor, dim: Size | None, keepdim: bool) -> Tensor:
    """The mean tangent."""
    return ops.mean_dim.call(self_t, dim or (), keepdim, None)


def nansum_jvp(self_p: Tensor, self_t: Tensor, dim: Size | None, keepdim: bool, dtype: DType | None) -> Tensor:
    """The sum of the tangents of the elements that are not nan."""
    counted = ops.where_ScalarSelf.call(ops.isnan.call(self_p), 0, self_t)
    return ops.sum_dim_IntList.call(counted, dim, keepdim, dtype)


def logcumsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: int) -> Tensor:
    """The running mean tangent, weighted with the exponentials."""
    weights = self_p
    if numel(self_p._size):
        weights = ops.sub_Tensor.call(self_p, ops.max_dim.call(self_p, dim, True)[0], 1)
    weights = ops.exp.call(weights)
    total = ops.cumsum.call(weights, dim, None)
    weighted = ops.cumsum.call(ops.mul__Tensor.call(weights, self_t), dim, None)
    return ops.div__Tensor.call(weighted, ops.add__Scalar.call(total, 1e-13, 1))


def cumprod_jvp(self_t: Tensor, self_p: Tensor, result: Tensor, dim: int, dtype: DType | None) -> Tensor:
    """The sum of each tangent times the other elements so far; after a zero, only the first zero's tangent counts."""
    slopes = ops.cumsum.call(ops.div_Tensor.call(self_t, self_p), dim, None)
    gradient = ops.mul_Tensor.call(slopes, result)
    if not self_p._size:
        ops.masked_fill__Tensor.call(gradient, ops.eq_Scalar.call(self_p, 0), self_t)
    else:
        zeros = ops.eq_Scalar.call(self_p, 0)
        once = ops.eq_Scalar.call(ops.cumsum.call(zeros, dim, None), 1)
        first = ops.logical_and.call(zeros, once)
        replaced = ops.cumprod.call(ops.where_self.call(first, self_t, self_p), dim, None)
        after = ops.to_dtype.call(ops.cumsum.call(first, dim, None), bool_, False, False, None)
        gradient = ops.where_self.call(after, replaced, gradient)
    return ops.to_dtype.call(gradient, self_p._dtype if dtype is None else dtype, False, False, None)


# -- networks ----------------------------------------------------------------------------------------------------------


def apply_loss_reduction(unreduced: Tensor, reduction: int) -> Tensor:
    """The loss without reduction, its mean, or its sum."""
    if reduction == 1:
        return ops.mean.call(unreduced)
    return ops.sum.call(unreduced) if reduction == 2 else unreduced


def prelu_weight_jvp(grad_output_p: Tensor, grad_output_t: Tensor, self_p: Tensor, self_t: Tensor) -> Tensor:
    """The tangent of grad * self where self is below 0; C++ evaluates the arguments of ``where`` from right to left."""
    second = ops.mul_Tensor.call(grad_output_t, self_p)
    product = ops.add_Tensor.call(ops.mul_Tensor.call(grad_output_p, self_t), second, 1)
    zero = ops.zeros.call((), self_p._dtype, "strided", self_p._device, None)
    return ops.where_self.call(ops.ge_Scalar.call(self_p, 0), zero, product)


def native_dropout_jvp(input_t: Tensor, mask: Tensor, p: float, train: bool | None) -> Tensor:
    """The tangent, masked and scaled like the value."""
    if train is False:
        return input_t
    return ops.mul_Tensor.call(ops.mul_Scalar.call(input_t, 0.0 if p == 1 else 1.0 / (1.0 - p)), mask)


def convolution_jvp(
    input_p: Tensor, input_t: Tensor, weight_p: Tensor, weight_t: Tensor, bias_p: Tensor | None, bias_t: Tensor | None,
    stride: Size, padding: Size, dilation: Size, transposed: bool, output_padding: Size, groups: int
) -> Tensor:  # fmt: skip
    """The tangent of an operation that is linear in input and in weight."""
    how = stride, padding, dilation, transposed, output_padding, groups
    second = ops.convolution.call(input_p, weight_t, bias_t, *how)
    return ops.add_Tensor.call(ops.convolution.call(input_t, weight_p, None, *how), second, 1)


def convolution_backward_jvp_grad_bias(grad_out_t: Tensor, grad_bias: Tensor | None) -> Tensor | None:
    """The sum over batch and spatial dimensions, if there is a bias."""
    if grad_bias is None:
        return None
    return ops.sum_dim_IntList.call(grad_out_t, (0, *range(2, len(grad_out_t._size))), False, None)


def shrink_backward_jvp(grad_t: Tensor, self_p: Tensor, lambd: Scalar, result: Tensor) -> Tensor:
    """The tangent of the gradient where self is beyond the bounds."""
    zeros = _expanded_zeros(result)
    above = ops.gt_Scalar.call(self_p, lambd)
    passed = ops.logical_or.call(above, ops.lt_Scalar.call(self_p, -lambd))
    return ops.where_self.call(passed, grad_t, zeros)


def hardtanh_backward_jvp(grad_t: Tensor, self_p: Tensor, min_val: Scalar, max_val: Scalar, result: Tensor) -> Tensor:
    """The tangent of the gradient where self is within the bounds."""
    zeros = _expanded_zeros(result)
    above = ops.gt_Scalar.call(self_p, min_val)
    passed = ops.logical_and.call(above, ops.lt_Scalar.call(self_p, max_val))
    return ops.where_self.call(passed, grad_t, zeros)


def _expanded_zeros(result: Tensor) -> Tensor:
    zero = ops.zeros.call((), result._dtype, "strided", result._device, None)
    return ops.expand_as.call(zero, result)


def scatter_reduce_jvp(
    self_p: Tensor, self_t: Tensor, dim: int, index: Tensor, src_p: Tensor, src_t: Tensor, reduce: str,
    include_self: bool, result: Tensor,
) -> Tensor:  # fmt: skip
    """Sums and means of tangents, or the mean tangent of the minima or maxima; products have none, as in PyTorch."""
    if reduce in ("sum", "mean"):
        return ops.scatter_reduce_two.call(self_t, dim, index, src_t, reduce, include_self)
    if reduce not in ("amin", "amax"):
        return None  # type: ignore[return-value]  # the undefined tensor
    gathered = ops.gather.call(result, dim, index, False)
    mask_self = ops.eq_Tensor.call(self_p, result)
    mask_src = ops.eq_Tensor.call(src_p, gathered)
    masked_src_t = ops.where_ScalarOther.call(mask_src, src_t, 0.0)
    selected = ops.to_dtype.call(mask_self, self_t._dtype, False, False, None)
    from_src = ops.to_dtype.call(mask_src, self_t._dtype, False, False, None)
    count = ops.scatter_reduce_two.call(selected, dim, index, from_src, "sum", include_self)
    own = ops.where_ScalarOther.call(mask_self, self_t, 0.0)
    total = ops.scatter_reduce_two.call(own, dim, index, masked_src_t, "sum", include_self)
    return ops.div_Tensor.call(total, count)
