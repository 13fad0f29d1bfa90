"""Backward of elementwise operators: ``erf``, ``sgn``, ``angle``, ``maximum``, ``clamp``, ``atan2``, ``lerp``,
``masked_fill`` (``torch/csrc/autograd/FunctionsManual.cpp``, and formulas of derivatives.yaml that need statements).
Those of arithmetic are in ``functions_manual.py``.

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

import math

from dispatchviz.core.autograd.formulas.complex_gradients import conjugated
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
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


def halved_at_ties(grad: Tensor, self: Tensor, other: Tensor, lost: Tensor) -> Tensor:
    """grad, half of it where both tensors are equal, 0 where ``lost``"""
    half = ops.div_Scalar.call(grad, 2)
    halved = ops.where_self.call(ops.eq_Tensor.call(self, other), half, grad)
    return masked_fill_inplace_if_safe(halved, lost)


def masked_fill_inplace_if_safe(tensor: Tensor, mask: Tensor) -> Tensor:
    """0 where ``mask``; a new tensor if a transform, a subclass or a mode sees the tensors"""
    elsewhere = is_tensor_subclass_like(tensor) or is_tensor_subclass_like(mask)
    return (ops.masked_fill_Scalar if elsewhere else ops.masked_fill__Scalar).call(tensor, mask, 0)


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


def clamp_backward(grad: Tensor, self: Tensor, min: Tensor | Scalar | None, max: Tensor | Scalar | None) -> Tensor:
    """grad within the bounds; on a bound 0 for numbers, and half of it for tensors"""
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        return _clamp_tensor_backward(grad, self, _tensor_or_none(min), _tensor_or_none(max))
    if min is None and max is None:
        return grad
    zero = _zero_of(grad)
    parts = [] if min is None else [ops.gt_Scalar.call(self, min)]
    parts += [] if max is None else [ops.lt_Scalar.call(self, max)]
    inside = ops.logical_and_.call(*parts) if len(parts) > 1 else parts[0]
    return ops.where_self.call(inside, grad, zero)


def _tensor_or_none(bound: Tensor | Scalar | None) -> Tensor | None:
    assert bound is None or isinstance(bound, Tensor), "both bounds are numbers, or both are tensors"
    return bound


def _clamp_tensor_backward(grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None) -> Tensor:
    if min is None or max is None:
        return _one_bound_backward(grad, self, min, max, of_self=True)
    ordered = ops.lt_Tensor.call(min, max)
    on_min = ops.eq_Tensor.call(self, min)
    on_bound = ops.logical_or.call(on_min, ops.eq_Tensor.call(self, max))
    tie = ops.logical_and.call(on_bound, ordered)
    below = ops.lt_Tensor.call(self, min)
    outside = ops.logical_or.call(below, ops.gt_Tensor.call(self, max))
    halved = ops.where_self.call(tie, ops.div_Scalar.call(grad, 2), grad)
    return masked_fill_inplace_if_safe(halved, outside)


def _one_bound_backward(
    grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None, of_self: bool
) -> Tensor:  # fmt: skip
    """The gradient of self or of the only bound."""
    bound = max if min is None else min
    assert bound is not None
    lost = ops.lt_Tensor if (min is not None) is of_self else ops.gt_Tensor
    return halved_at_ties(grad, self, bound, lost.call(self, bound))


def clamp_backward_min_max(
    grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None, grad_input_mask: Mask
) -> tuple[Tensor | None, Tensor | None]:
    """grad where the bound applied, half of it where self is on the bound; the upper bound wins"""
    if min is not None and max is not None:
        return _two_bounds_backward(grad, self, min, max, grad_input_mask)
    of_min = of_max = None
    if grad_input_mask[0] and min is not None:
        of_min = _one_bound_backward(grad, self, min, None, of_self=False)
    if grad_input_mask[1] and max is not None:
        of_max = _one_bound_backward(grad, self, None, max, of_self=False)
    return of_min, of_max


def _two_bounds_backward(
    grad: Tensor, self: Tensor, min: Tensor, max: Tensor, grad_input_mask: Mask
) -> tuple[Tensor | None, Tensor | None]:
    ordered, equal = ops.lt_Tensor.call(min, max), ops.eq_Tensor.call(min, max)
    of_min = of_max = None
    if grad_input_mask[0]:
        counts = ops.logical_and.call(ordered, ops.le_Tensor.call(self, min))
        on_both = ops.logical_and.call(equal, ops.lt_Tensor.call(self, min))
        lost = ops.logical_not.call(ops.logical_or.call(counts, on_both))
        of_min = halved_at_ties(grad, self, min, lost)
    if grad_input_mask[1]:
        swapped = ops.lt_Tensor.call(max, min)
        counts = ops.logical_or.call(swapped, ops.logical_and.call(ordered, ops.ge_Tensor.call(self, max)))
        on_both = ops.logical_and.call(equal, ops.gt_Tensor.call(self, max))
        lost = ops.logical_not.call(ops.logical_or.call(counts, on_both))
        half = ops.div_Scalar.call(grad, 2)
        tie = ops.logical_and.call(ops.eq_Tensor.call(self, max), ordered)
        of_max = masked_fill_inplace_if_safe(ops.where_self.call(tie, half, grad), lost)
    return of_min, of_max


def masked_fill_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """The sum of grad where the mask is true"""
    return ops.sum.call(ops.masked_select.call(grad, mask), None)


# -- clamp_min, clamp_max ----------------------------------------------------------------------------------------------


def clamp_max_backward(grad: Tensor, self: Tensor, max: Scalar) -> Tensor:
    """grad where self < max, else 0"""
    zero = _zero_of(grad)
    return ops.where_self.call(ops.lt_Scalar.call(self, max), grad, zero)


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
