"""Backward and jvp of ``norm``, ``linalg_vector_norm``, ``renorm``, ``dist`` (``norm_backward``, ``norm_jvp`` of
``torch/csrc/autograd/FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dispatchviz.core.autograd.formulas.complex_gradients import conjugated
from dispatchviz.core.autograd.formulas.functions_manual import unsqueeze_multiple
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import bfloat16, complex64, complex128, float16, float32, float64, real_type
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.thread_state import thread

# -- backward ----------------------------------------------------------------------------------------------------------


def linalg_vector_norm_backward(
    grad: Tensor, self: Tensor, ord: Scalar, norm: Tensor, dim: Sequence[int] | None, keepdim: bool
) -> Tensor | None:
    """The gradient by order: none for 0, the sign for 1, grad distributed among the maxima for infinity; 0 where the
    norm is 0.
    """
    order, dims = float(ord), tuple(dim or ())  # type: ignore[arg-type]
    if not keepdim and self._size and dims:
        grad, norm = (unsqueeze_multiple(one, dims, len(self._size)) for one in (grad, norm))
    if order == 0:
        return None
    if order == 1:
        return ops.mul_Tensor.call(ops.sgn.call(self), grad)
    if order == 2:
        direction = ops.div_Tensor.call(self, norm)
        return ops.mul_Tensor.call(grad, ops.masked_fill__Scalar.call(direction, ops.eq_Scalar.call(norm, 0), 0))
    if math.isinf(order):
        return _distribute_among_maxima(grad, self, norm, dims)
    return _power_norm_backward(grad, self, order, norm)


def norm_backward(
    grad: Tensor, self: Tensor, p: Scalar | None, norm: Tensor, dim: Sequence[int] = (), keepdim: bool = True
) -> Tensor | None:
    """The gradient as in ``linalg_vector_norm_backward``. No order means 2, no dimension means all of them."""
    return linalg_vector_norm_backward(grad, self, 2.0 if p is None else p, norm, dim, keepdim)


def renorm_backward(grad: Tensor, self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
    """grad where the norm was within the limit; else times maxnorm / norm, without its part along self"""
    dims, wide = _all_but(dim, self), _WIDE.get(self._dtype, self._dtype)
    norm = ops.linalg_vector_norm.call(self, p, dims, True, wide)
    along = ops.mul_Tensor.call(conjugated(self), grad)
    if along._dtype.is_complex:
        along = ops.real.call(along)
    along = ops.sum_dim_IntList.call(along, dims, True, real_type(wide))
    from_norm = norm_backward(along, self, p, norm, dims, True)
    inverse = ops.reciprocal.call(ops.add_Scalar.call(norm, 1e-7, 1))
    assert from_norm is not None, "p is larger than 0"
    rest = ops.sub_Tensor.call(grad, ops.mul_Tensor.call(inverse, from_norm), 1)
    scaled = ops.mul_Tensor.call(ops.mul_Scalar.call(inverse, maxnorm), rest)
    scaled = ops.to_dtype.call(scaled, grad._dtype, False, False, None)
    return ops.where_self.call(ops.gt_Scalar.call(norm, maxnorm), scaled, grad)


_WIDE = {float16: float32, bfloat16: float32, float32: float64, complex64: complex128}
"""The dtype in which each dtype is accumulated on the CPU (``toAccumulateType``)."""


def _all_but(dim: int, self: Tensor) -> Size:
    dim = wrap_dim(dim, len(self._size))
    return tuple(at for at in range(len(self._size)) if at != dim)


def dist_other_backward(grad: Tensor, difference: Tensor, p: Scalar, norm: Tensor) -> Tensor:
    """The negative gradient of the first argument. Raise RuntimeError for p = 0, which has none."""
    derivative = norm_backward(grad, difference, p, norm)
    if derivative is None:
        raise RuntimeError(
            "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'"
        )
    return ops.neg.call(derivative)


def _distribute_among_maxima(grad: Tensor, self: Tensor, norm: Tensor, dims: Size) -> Tensor:
    """The sign times grad, divided by the number of elements that are as large as the norm, or nan."""
    size = ops.abs.call(self)
    maximum = ops.eq_Tensor.call(size, norm)
    mask = ops.logical_or.call(maximum, ops.isnan.call(size))
    fraction = ops.div_Tensor.call(grad, ops.sum_dim_IntList.call(mask, dims, True, None))
    part = ops.mul_Tensor.call(fraction, mask)
    return ops.mul_Tensor.call(ops.sgn.call(self), part)


def _power_norm_backward(grad: Tensor, self: Tensor, order: float, norm: Tensor) -> Tensor:
    powers = ops.pow__Scalar.call(ops.abs.call(self), order - 1 if order < 2 else order - 2)
    if order < 1:
        powers = ops.masked_fill__Scalar.call(powers, ops.eq_Scalar.call(self, 0), 0)
    scaled = ops.mul_Tensor.call(ops.sgn.call(self) if order < 2 else self, powers)
    if order < 1:
        power = ops.pow_Tensor_Scalar.call(norm, 1 - order)
        return ops.mul_Tensor.call(ops.mul_Tensor.call(scaled, grad), power)
    return ops.mul_Tensor.call(scaled, _zero_at_zero(grad, norm, order))


def _zero_at_zero(dividend: Tensor, norm: Tensor, order: float) -> Tensor:
    """dividend / norm ** (order - 1), 0 where the norm is 0."""
    quotient = ops.div_Tensor.call(dividend, ops.pow_Tensor_Scalar.call(norm, order - 1))
    return ops.masked_fill__Scalar.call(quotient, ops.eq_Scalar.call(norm, 0), 0)


# -- forward -----------------------------------------------------------------------------------------------------------


def linalg_vector_norm_jvp(
    self_p: Tensor, self_t: Tensor, ord: Scalar, norm: Tensor, dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """The tangent of the norm, by order as in ``linalg_vector_norm_backward``."""
    order, dims = float(ord), tuple(dim or ())  # type: ignore[arg-type]
    if order == 0:
        return ops.zeros_like.call(norm, None, None, None, None, None)
    if order == 1:
        mul = ops.mul_Tensor if is_tensor_subclass_like(self_t) else ops.mul__Tensor
        signs = mul.call(ops.sgn.call(self_p), conjugated(self_t))
        return ops.sum_dim_IntList.call(ops.real.call(signs), dims, keepdim, None)
    if order == 2:
        products = ops.real.call(ops.mul_Tensor.call(self_p, conjugated(self_t)))
        derivative = ops.div__Tensor.call(ops.sum_dim_IntList.call(products, dims, keepdim, None), norm)
        return ops.masked_fill__Scalar.call(derivative, ops.eq_Scalar.call(norm, 0), 0)
    if math.isinf(order):
        return _mean_of_maxima(self_p, self_t, norm, dims, keepdim)
    return _power_norm_jvp(self_p, self_t, order, norm, dims, keepdim)


def norm_jvp(
    self_p: Tensor, self_t: Tensor, p: Scalar | None, norm: Tensor, dim: Sequence[int] = (), keepdim: bool = True
) -> Tensor:
    """The tangent of the norm. No order means 2, no dimension means all of them."""
    return linalg_vector_norm_jvp(self_p, self_t, 2.0 if p is None else p, norm, dim, keepdim)


def renorm_jvp(self_p: Tensor, self_t: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
    """The tangent where the norm was within the limit; else times maxnorm / norm, without its part along self."""
    dims = _all_but(dim, self_p)
    norm = ops.linalg_vector_norm.call(self_p, p, dims, True, None)
    inverse = ops.reciprocal.call(ops.add_Scalar.call(norm, 1e-7, 1))
    ratio = ops.mul_Scalar.call(inverse, maxnorm)
    of_norm = linalg_vector_norm_jvp(self_p, self_t, p, norm, dims, True)
    along = ops.mul_Tensor.call(ops.mul_Tensor.call(self_p, inverse), of_norm)
    scaled = ops.mul_Tensor.call(ratio, ops.sub_Tensor.call(self_t, along, 1))
    return ops.where_self.call(ops.gt_Scalar.call(norm, maxnorm), scaled, self_t)


def _mean_of_maxima(self_p: Tensor, self_t: Tensor, norm: Tensor, dims: Size, keepdim: bool) -> Tensor:
    rank = len(self_p._size)
    if not keepdim and self_p._size and dims:
        norm = unsqueeze_multiple(norm, dims, rank)
    self_isnan = ops.isnan.call(self_p)
    logical_and = ops.logical_and if is_tensor_subclass_like(norm) else ops.logical_and_
    both_nan = logical_and.call(self_isnan, ops.isnan.call(norm))
    maximum = ops.logical_or_.call(ops.eq_Tensor.call(ops.abs.call(self_p), norm), both_nan)
    is_eq_max = ops.type_as.call(maximum, norm)
    nb_max = ops.count_nonzero_dim_IntList.call(is_eq_max, dims)
    if self_p._size and dims:
        nb_max = unsqueeze_multiple(nb_max, dims, rank)
    conjugate = conjugated(self_t)
    signs = ops.real.call(ops.mul_Tensor.call(ops.sgn.call(self_p), conjugate))
    fractions = ops.div_Tensor.call(ops.mul_Tensor.call(signs, is_eq_max), nb_max)
    return ops.sum_dim_IntList.call(fractions, dims, keepdim, None)


def _power_norm_jvp(self_p: Tensor, self_t: Tensor, order: float, norm: Tensor, dims: Size, keepdim: bool) -> Tensor:
    conjugate = conjugated(self_t)
    direction = ops.sgn.call(self_p) if order < 2 else self_p
    slopes = ops.real.call(ops.mul_Tensor.call(direction, conjugate))
    powers = ops.pow__Scalar.call(ops.abs.call(self_p), order - 1 if order < 2 else order - 2)
    if order < 1:
        powers = ops.masked_fill__Scalar.call(powers, ops.eq_Scalar.call(self_p, 0), 0)
    sumpow_t = ops.sum_dim_IntList.call(ops.mul_Tensor.call(powers, slopes), dims, keepdim, None)
    if order < 1:
        return ops.mul_Tensor.call(sumpow_t, ops.pow_Tensor_Scalar.call(norm, 1 - order))
    return _zero_at_zero(sumpow_t, norm, order)


def weight_norm_interface_backward(
    grad: Tensor, v: Tensor, g: Tensor, norms: Tensor, dim: int
) -> tuple[Tensor, Tensor]:
    """The gradients of v and g, by one kernel or by operators with derivatives."""
    one_kernel, operators = ops._weight_norm_interface_backward, ops._weight_norm_differentiable_backward
    function = operators if thread.state.grad_mode else one_kernel
    return function.call(in_format(grad), v, g, norms, dim)
