"""Unary operators: ``neg``, ``exp``, ``log``, ``sin``, ``cos``, ``sqrt``, ``tanh``, ``sigmoid``, ``sign`` and others
(``aten/src/ATen/native/UnaryOps.cpp``)."""

from __future__ import annotations

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.cpu_loops import compute_vectorized
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise_float,
    elementwise_same,
    float_type,
    loop,
    no_instance,
)
from dispatchviz.core.native.special.error_function import error_function
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Tensor


def neg_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self. Raise NotImplementedError for bool."""
    if self._dtype is bool_:
        raise NotImplementedError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    elementwise_same(op, self)


def exp_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def log_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def sin_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def cos_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def sinh_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def cosh_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def reciprocal_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def neg_out(self: Tensor, out: Tensor) -> None:
    """-self"""
    loop(numpy.negative, out, self._dtype, self)


def exp_out(self: Tensor, out: Tensor) -> None:
    """e ** self"""
    loop(numpy.exp, out, float_type(self._dtype), self)


def log_out(self: Tensor, out: Tensor) -> None:
    """The natural logarithm; nan below 0, -inf at 0."""
    loop(numpy.log, out, float_type(self._dtype), self)


def sin_out(self: Tensor, out: Tensor) -> None:
    """The sine of an angle in radians."""
    loop(numpy.sin, out, float_type(self._dtype), self)


def sinh_out(self: Tensor, out: Tensor) -> None:
    """The hyperbolic sine."""
    loop(numpy.sinh, out, float_type(self._dtype), self)


def cosh_out(self: Tensor, out: Tensor) -> None:
    """The hyperbolic cosine."""
    loop(numpy.cosh, out, float_type(self._dtype), self)


def cos_out(self: Tensor, out: Tensor) -> None:
    """The cosine of an angle in radians."""
    loop(numpy.cos, out, float_type(self._dtype), self)


def reciprocal_out(self: Tensor, out: Tensor) -> None:
    """1 / self"""
    loop(numpy.reciprocal, out, float_type(self._dtype), self)


# -- tanh and others with floating results -----------------------------------------------------------------------------


def tanh_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def sigmoid_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def sqrt_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def rsqrt_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def erf_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def tanh_out(self: Tensor, out: Tensor) -> None:
    """The hyperbolic tangent."""
    loop(numpy.tanh, out, float_type(self._dtype), self)


def sigmoid_out(self: Tensor, out: Tensor) -> None:
    """1 / (1 + exp(-self))"""
    exp = array_module(out._device.type).exp
    compute(out, float_type(self._dtype), lambda values: 1 / (1 + exp(-values)), self)


def sqrt_out(self: Tensor, out: Tensor) -> None:
    """The square root; nan below 0."""
    loop(numpy.sqrt, out, float_type(self._dtype), self)


def rsqrt_out(self: Tensor, out: Tensor) -> None:
    """1 / sqrt(self)"""
    sqrt = array_module(out._device.type).sqrt
    compute_vectorized(out, float_type(self._dtype), lambda values: 1 / sqrt(values), self)


def erf_out(self: Tensor, out: Tensor) -> None:
    """The error function."""
    dtype = float_type(self._dtype)
    function = no_instance("erf_vml_cpu", dtype) if dtype.is_complex else error_function(out._device.type)
    compute(out, dtype, function, self)


def log1p_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def log1p_out(self: Tensor, out: Tensor) -> None:
    """log(1 + self)"""
    loop(numpy.log1p, out, float_type(self._dtype), self)


# -- sign and size -----------------------------------------------------------------------------------------------------


def sgn_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self."""
    elementwise_same(op, self)


def sign_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self. Raise NotImplementedError for complex."""
    if self._dtype.is_complex:
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    elementwise_same(op, self)


def sgn_out(self: Tensor, out: Tensor) -> None:
    """The sign; a complex number is divided by its absolute value"""
    if self._dtype.is_complex:
        xp = array_module(out._device.type)
        compute(out, self._dtype, lambda v: xp.where(v == 0, v, v / xp.where(v == 0, 1, xp.abs(v))), self)
    else:
        sign_out(self, out)


def sign_out(self: Tensor, out: Tensor) -> None:
    """1, 0 or -1"""
    if self._dtype is bool_:
        return compute(out, bool_, lambda values: values, self)
    kind = self._dtype.numpy
    return compute(out, self._dtype, lambda v: (v > 0).astype(kind) - (v < 0).astype(kind), self)  # 0 for nan


# -- square, isnan -----------------------------------------------------------------------------------------------------


def square(self: Tensor) -> Tensor:
    """self ** 2"""
    return ops.pow_Tensor_Scalar.call(self, 2)


def square_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``square``."""
    return ops.pow_Tensor_Scalar_out.call(self, 2, out)


def square_(self: Tensor) -> Tensor:
    """The in-place version of ``square``."""
    return ops.pow__Scalar.call(self, 2)


def isnan(self: Tensor) -> Tensor:
    """True where self is not equal to itself"""
    return ops.ne_Tensor.call(self, self)
