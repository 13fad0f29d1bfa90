"""Backward of elementwise operators: ``erf``, ``sgn``, ``angle``, ``maximum``, ``clamp``, ``atan2``, ``lerp``,
``masked_fill`` (``torch/csrc/autograd/FunctionsManual.cpp``, and formulas of derivatives.yaml that need statements).
Those of arithmetic are in ``functions_manual.py``.

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.autograd.formulas.complex_gradients import conjugated
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

Mask = tuple[bool, ...]

# -- one tensor --------------------------------------------------------------------------------------------------------


def erf_backward(grad: Tensor, self: Tensor) -> Tensor:
    """2 / sqrt(pi) * e ** -(self ** 2) * grad"""
    bell = ops.exp.call(ops.neg.call(ops.pow_Tensor_Scalar.call(self, 2)))
    return ops.mul_Tensor.call(ops.mul_Scalar.call(bell, 2 / math.sqrt(math.pi)), grad)


def sgn_backward(self: Tensor, grad: Tensor, sgn: Tensor) -> Tensor:
    """0, without memory; for complex numbers, the part of grad across the direction, divided by the absolute value"""
    if not self._dtype.is_complex:
        return ops._efficientzerotensor.call(sgn._size, sgn._dtype, "strided", sgn._device, None)
    size = ops.abs.call(self)
    twice = ops.mul_Scalar.call(size, 2.0)
    conjugate = conjugated(grad)
    along = ops.mul_Tensor.call(ops.mul_Tensor.call(sgn, sgn), conjugate)
    quotient = ops.div_Tensor.call(ops.sub_Tensor.call(grad, along, 1), twice)
    return ops.masked_fill__Scalar.call(quotient, ops.eq_Scalar.call(size, 0.0), 0.0)


def angle_backward(grad: Tensor, self: Tensor) -> Tensor:
    """grad * self / |self| ** 2 * i, 0 where self is 0; the angle of a real tensor does not change"""
    if not self._dtype.is_complex:
        return ops.zeros_like.call(self, None, None, None, None, "preserve_format")
    square = ops.pow_Tensor_Scalar.call(ops.abs.call(self), 2)
    rotated = ops.mul_Scalar.call(ops.div_Tensor.call(ops.mul_Tensor.call(grad, self), square), 1j)
    zero = ops.zeros.call((), self._dtype, "strided", self._device, None)
    return ops.where_self.call(ops.eq_Scalar.call(self, 0.0), zero, rotated)


def polar_backward(grad: Tensor, result: Tensor) -> tuple[Tensor, Tensor]:
    """The part of the conjugate of grad along the direction of the result, and the part across it, times its absolute
    value
    """
    conjugate = conjugated(grad)
    of_abs = ops.real.call(ops.mul_Tensor.call(conjugate, ops.sgn.call(result)))
    rotated = ops.mul_Scalar.call(result, 1j)
    return of_abs, ops.real.call(ops.mul_Tensor.call(conjugate, rotated))


# -- two and three tensors ---------------------------------------------------------------------------------------------


def maximum_backward(grad: Tensor, own: Tensor, other: Tensor, is_self: bool) -> Tensor:
    """grad where own is larger, half of it where both are equal"""
    return _where_not(grad, own, other, ops.lt_Tensor if is_self else ops.gt_Tensor, is_self)


def minimum_backward(grad: Tensor, own: Tensor, other: Tensor, is_self: bool) -> Tensor:
    """grad where own is smaller, half of it where both are equal"""
    return _where_not(grad, own, other, ops.gt_Tensor if is_self else ops.lt_Tensor, is_self)


def _where_not(grad: Tensor, own: Tensor, other: Tensor, loses: Any, is_self: bool) -> Tensor:
    """grad where ``loses`` is false; both formulas compare self with other, in this order."""
    self, second = (own, other) if is_self else (other, own)
    halved = _halved_at_ties(grad, self, second)
    return ops.masked_fill__Scalar.call(halved, loses.call(self, second), 0)


def _halved_at_ties(grad: Tensor, own: Tensor, other: Tensor) -> Tensor:
    half = ops.div_Scalar.call(grad, 2)
    return ops.where_self.call(ops.eq_Tensor.call(own, other), half, grad)


def atan2_backward(
    grad: Tensor, self: Tensor, other: Tensor, grad_input_mask: Mask
) -> tuple[Tensor | None, Tensor | None]:
    """grad * (other, -self) / (self ** 2 + other ** 2)"""
    second = ops.mul_Tensor.call(other, other)
    square = ops.add_Tensor.call(ops.mul_Tensor.call(self, self), second)
    inverse = ops.reciprocal.call(square)
    fill = ops.masked_fill_Scalar if thread.state.grad_mode else ops.masked_fill__Scalar
    recip = fill.call(inverse, ops.eq_Scalar.call(square, 0), 0)
    of_self = of_other = None
    if grad_input_mask[0]:
        of_self = ops.mul_Tensor.call(ops.mul_Tensor.call(grad, other), recip)
    if grad_input_mask[1]:
        of_other = ops.mul_Tensor.call(ops.mul_Tensor.call(grad, ops.neg.call(self)), recip)
    return of_self, of_other


def lerp_tensor_self_backward(grad: Tensor, weight: Tensor) -> Tensor:
    """grad * (1 - weight)"""
    ones = ops.fill__Scalar.call(ops.empty_like.call(weight, None, None, None, None, None), 1)
    rest = ops.sub__Tensor.call(ones, weight, 1)
    return ops.mul_Tensor.call(grad, conjugated(rest))


def lerp_self_backward(grad: Tensor, weight: Scalar) -> Tensor:
    """grad * (1 - weight)"""
    return ops.mul_Scalar.call(grad, 1 - (weight.conjugate() if isinstance(weight, complex) else float(weight)))


# -- clamp, masked_fill ------------------------------------------------------------------------------------------------


def clamp_min_tensor_backward(grad: Tensor, self: Tensor, min: Tensor, is_self: bool) -> Tensor:
    """grad where self >= min, or where it is not"""
    zero = _zero(grad)
    mask = ops.ge_Tensor.call(self, min) if is_self else ops.lt_Tensor.call(self, min)
    return ops.where_self.call(mask, grad, zero)


def clamp_backward(grad: Tensor, self: Tensor, min: Tensor | Scalar | None, max: Tensor | Scalar | None) -> Tensor:
    """grad within the bounds and on them, else 0"""
    if min is None and max is None:
        return grad
    zero = _zero(grad)
    if min is not None and max is not None:
        inside = _ge(self, min)
        below = _le(self, max)
        return ops.where_self.call(ops.logical_and_.call(inside, below), grad, zero)
    kept = _ge(self, min) if min is not None else _le(self, max)
    return ops.where_self.call(kept, grad, zero)


def _zero(like: Tensor) -> Tensor:
    return ops.scalar_tensor.call(0.0, like._dtype, "strided", like._device, None)


def _ge(self: Tensor, bound: Tensor | Scalar | None) -> Tensor:
    return ops.ge_Tensor.call(self, bound) if isinstance(bound, Tensor) else ops.ge_Scalar.call(self, _number(bound))


def _le(self: Tensor, bound: Tensor | Scalar | None) -> Tensor:
    return ops.le_Tensor.call(self, bound) if isinstance(bound, Tensor) else ops.le_Scalar.call(self, _number(bound))


def _number(bound: Scalar | None) -> Scalar:
    assert bound is not None
    return bound


def clamp_backward_min_max(
    grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None, grad_input_mask: Mask
) -> tuple[Tensor | None, Tensor | None]:
    """grad where the bound applied"""
    of_min = of_max = None
    if min is None and max is None:
        return of_min, of_max
    zero = _zero(grad)
    if grad_input_mask[0] and min is not None:
        of_min = ops.where_self.call(_min_counts(self, min, max), grad, zero)
    if grad_input_mask[1] and max is not None:
        of_max = ops.where_self.call(_max_counts(self, min, max), grad, zero)
    return of_min, of_max


def _min_counts(self: Tensor, min: Tensor, max: Tensor | None) -> Tensor:
    below = ops.lt_Tensor.call(self, min)
    return below if max is None else ops.logical_and_.call(below, ops.lt_Tensor.call(min, max))


def _max_counts(self: Tensor, min: Tensor | None, max: Tensor) -> Tensor:
    above = ops.gt_Tensor.call(self, max)
    return above if min is None else ops.logical_or_.call(above, ops.lt_Tensor.call(max, min))


def masked_fill_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """The sum of grad where the mask is true"""
    return ops.sum.call(ops.masked_select.call(grad, mask), None)


# -- clamp_min, clamp_max ----------------------------------------------------------------------------------------------


def clamp_max_backward(grad: Tensor, self: Tensor, max: Scalar) -> Tensor:
    """grad where self <= max, else 0"""
    zero = _zero_of(grad)
    return ops.where_self.call(ops.le_Scalar.call(self, max), grad, zero)


def clamp_max_tensor_backward(grad: Tensor, self: Tensor, max: Tensor) -> Tensor:
    """grad where self <= max, else 0"""
    zero = _zero_of(grad)
    return ops.where_self.call(ops.le_Tensor.call(self, max), grad, zero)


def clamp_max_bound_backward(grad: Tensor, self: Tensor, max: Tensor) -> Tensor:
    """grad where self > max, else 0"""
    zero = _zero_of(grad)
    return ops.where_self.call(ops.gt_Tensor.call(self, max), grad, zero)


def _zero_of(grad: Tensor) -> Tensor:
    return ops.scalar_tensor.call(0.0, grad._dtype, "strided", grad._device, None)


# -- logarithms --------------------------------------------------------------------------------------------------------


def log1p_backward(grad: Tensor, self: Tensor) -> Tensor:
    """grad / (self + 1)"""
    return ops.div_Tensor.call(grad, conjugated(ops.add_Scalar.call(self, 1, 1)))


def xlogy_number_backward(grad: Tensor, self: Tensor, other: Scalar) -> Tensor:
    """grad * log(other); 0 where self is 0 and the number has no logarithm"""
    product = ops.xlogy_Scalar_Other.call(grad, other)
    if isinstance(other, complex) or other > 0:
        return product
    return ops.masked_fill_Scalar.call(product, ops.eq_Scalar.call(self, 0.0), 0.0)


def xlog1py_number_backward(grad: Tensor, self: Tensor, other: Scalar) -> Tensor:
    """grad * log(1 + other); 0 where self is 0 and 1 + other has no logarithm"""
    product = ops.special_xlog1py_other_scalar.call(grad, other)
    if isinstance(other, complex) or other > -1:
        return product
    return ops.masked_fill_Scalar.call(product, ops.eq_Scalar.call(self, 0.0), 0.0)
