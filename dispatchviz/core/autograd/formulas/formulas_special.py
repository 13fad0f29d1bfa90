"""Backward of ``acosh``, ``rad2deg``, ``sinc``, ``copysign``, ``logit``, ``mvlgamma``, ``i1``
(``torch/csrc/autograd/FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

import math

from dispatchviz.core.autograd.formulas.functions_manual import conjugated
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

# -- angles ------------------------------------------------------------------------------------------------------------


def acosh_backward(grad: Tensor, self: Tensor) -> Tensor:
    """grad / sqrt(self * self - 1), with two roots for complex numbers"""
    if self._dtype.is_complex:
        second = ops.rsqrt.call(ops.sub_Scalar.call(self, 1, 1))
        first = ops.rsqrt.call(ops.add_Scalar.call(self, 1, 1))
        return ops.mul_Tensor.call(grad, conjugated(ops.mul_Tensor.call(first, second)))
    return ops.mul_Tensor.call(grad, ops.rsqrt.call(ops.sub_Scalar.call(ops.mul_Tensor.call(self, self), 1, 1)))


def rad2deg_backward(grad: Tensor) -> Tensor:
    """180 / pi times grad"""
    return ops.mul_Scalar.call(grad, 180 / math.pi)


def deg2rad_backward(grad: Tensor) -> Tensor:
    """pi / 180 times grad"""
    return ops.mul_Scalar.call(grad, math.pi / 180)


def sinc_backward(grad: Tensor, self: Tensor) -> Tensor:
    """grad * (pi self cos(pi self) - sin(pi self)) / (pi self ** 2); 0 at 0"""
    angle = ops.mul_Scalar.call(self, math.pi)
    below = ops.mul_Scalar.call(ops.mul_Tensor.call(self, self), math.pi)
    sine = ops.sin.call(angle)
    above = ops.sub_Tensor.call(ops.mul_Tensor.call(angle, ops.cos.call(angle)), sine, 1)
    out = ops.mul_Tensor.call(grad, conjugated(ops.div_Tensor.call(above, below)))
    zero = _number(0.0, grad)
    return ops.where_self.call(ops.eq_Scalar.call(below, 0.0), zero, out)


# -- signs and logarithms ----------------------------------------------------------------------------------------------


def copysign_tensor_self_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """grad, or -grad where the sign has changed; 0 at 0"""
    ratio = ops.div_Tensor.call(result, self)
    ops.masked_fill__Scalar.call(ratio, ops.eq_Scalar.call(self, 0), 0)
    return ops.mul_Tensor.call(grad, ratio)


def logit_gradient(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """The gradient, by one operator, or by several if it may be differentiated again."""
    if thread.state.grad_mode:
        return infinitely_differentiable_logit_backward(grad, self, eps)
    return ops.logit_backward.call(grad, self, eps)


def infinitely_differentiable_logit_backward(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """grad / (self * (1 - self)); 0 beyond eps and 1 - eps, nan beyond 0 and 1"""
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    if eps is None:
        empty = ops.empty_memory_format.call((), self._dtype, "strided", self._device, False, None)
        beyond = ops.fill__Scalar.call(empty, math.nan)
    else:
        beyond = ops.zeros.call((), self._dtype, "strided", self._device, False)
    ones = ops.fill__Scalar.call(ops.empty_like.call(self, None, None, None, None, "preserve_format"), 1.0)
    derivative = ops.div_Tensor.call(grad, ops.mul_Tensor.call(self, ops.sub__Tensor.call(ones, self, 1)))
    below = ops.le_Scalar.call(self, high)
    return ops.where_self.call(ops.logical_and.call(ops.ge_Scalar.call(self, low), below), derivative, beyond)


# -- gamma and Bessel functions ----------------------------------------------------------------------------------------


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    """grad times a sum of digamma"""
    options = (self._dtype, "strided", self._device, False)
    steps = ops.arange_start_step.call(-p / 2 + 0.5, 0.5, 0.5, *options)
    args = ops.add_Tensor.call(steps, ops.unsqueeze.call(self, -1), 1)
    return ops.mul_Tensor.call(grad, ops.sum_dim_IntList.call(ops.digamma_.call(args), (-1,), False, None))


def i1_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """grad * (i0(self) - result / self); half of it at 0"""
    is_not_tiny, safe = _not_tiny(self)
    quotient = ops.mul_Tensor.call(result, ops.reciprocal.call(safe))
    derivative = ops.sub_Tensor.call(ops.i0.call(safe), quotient, 1)
    return ops.mul_Tensor.call(grad, ops.where_self.call(is_not_tiny, derivative, _number(0.5, self)))


def i1e_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """grad * (i0e(self) - result * (sgn(self) + 1 / self)); half of it at 0"""
    is_not_tiny, safe = _not_tiny(self)
    inverse = ops.reciprocal.call(safe)
    factor = ops.add_Tensor.call(ops.sgn.call(safe), inverse, 1)
    product = ops.mul_Tensor.call(result, factor)
    derivative = ops.sub_Tensor.call(ops.special_i0e.call(safe), product, 1)
    return ops.mul_Tensor.call(grad, ops.where_self.call(is_not_tiny, derivative, _number(0.5, self)))


def _not_tiny(self: Tensor) -> tuple[Tensor, Tensor]:
    """A mask of elements larger than the dtype's epsilon, and self with epsilon elsewhere."""
    eps = 2.0**-52 if self._dtype.name == "float64" else 2.0**-23
    is_not_tiny = ops.gt_Scalar.call(ops.abs.call(self), eps)
    return is_not_tiny, ops.where_self.call(is_not_tiny, self, _number(eps, self))


def _number(number: float, like: Tensor) -> Tensor:
    return ops.scalar_tensor.call(number, like._dtype, "strided", like._device, None)
