"""Unary operators with floating results that the array libraries have (``aten/src/ATen/native/UnaryOps.cpp``):
``acos``, ``asin``, ``atan``, ``tan``, ``exp2``, ``expm1``, ``log2``, ``log10``, ``sinc`` and others.

The most common ones are in ``unary_ops.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.iterator.tensor_iterator import compute, elementwise_float, float_type, loop
from dispatchviz.core.tensor.tensor import Tensor


def acos_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def acos_out(self: Tensor, out: Tensor) -> None:
    """The angle from 0 to pi with the cosine self; nan outside of [-1, 1]."""
    loop(numpy.arccos, out, float_type(self._dtype), self)


def asin_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def asin_out(self: Tensor, out: Tensor) -> None:
    """The angle from -pi/2 to pi/2 with the sine self; nan outside of [-1, 1]."""
    loop(numpy.arcsin, out, float_type(self._dtype), self)


def atan_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def atan_out(self: Tensor, out: Tensor) -> None:
    """The angle from -pi/2 to pi/2 with the tangent self."""
    loop(numpy.arctan, out, float_type(self._dtype), self)


def acosh_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def acosh_out(self: Tensor, out: Tensor) -> None:
    """The positive number with the hyperbolic cosine self; nan below 1."""
    loop(numpy.arccosh, out, float_type(self._dtype), self)


def asinh_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def asinh_out(self: Tensor, out: Tensor) -> None:
    """The number with the hyperbolic sine self."""
    loop(numpy.arcsinh, out, float_type(self._dtype), self)


def atanh_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def atanh_out(self: Tensor, out: Tensor) -> None:
    """The number with the hyperbolic tangent self; nan outside of [-1, 1]."""
    loop(numpy.arctanh, out, float_type(self._dtype), self)


def tan_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def tan_out(self: Tensor, out: Tensor) -> None:
    """The tangent of an angle in radians."""
    loop(numpy.tan, out, float_type(self._dtype), self)


def exp2_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def exp2_out(self: Tensor, out: Tensor) -> None:
    """2 ** self"""
    loop(numpy.exp2, out, float_type(self._dtype), self)


def expm1_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def expm1_out(self: Tensor, out: Tensor) -> None:
    """exp(self) - 1"""
    loop(numpy.expm1, out, float_type(self._dtype), self)


def log10_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def log10_out(self: Tensor, out: Tensor) -> None:
    """The logarithm to base 10."""
    loop(numpy.log10, out, float_type(self._dtype), self)


def log2_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def log2_out(self: Tensor, out: Tensor) -> None:
    """The logarithm to base 2."""
    loop(numpy.log2, out, float_type(self._dtype), self)


def sinc_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def sinc_out(self: Tensor, out: Tensor) -> None:
    """sin(pi * self) / (pi * self); 1 at 0"""
    xp = array_module(out._device.type)

    def sinc(values: Any) -> Any:
        angle = values * values.dtype.type(math.pi)
        return xp.where(values == 0, 1, xp.sin(angle) / angle)

    compute(out, float_type(self._dtype), sinc, self)
