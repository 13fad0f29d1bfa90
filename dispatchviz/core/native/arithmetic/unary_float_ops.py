"""``acos``, ``asin``, ``atan``, ``tan``, ``exp2``, ``expm1``, ``log2``, ``log10``, ``sinc`` and others
(``aten/src/ATen/native/UnaryOps.cpp``): unary operators with floating results that the array libraries have. The
commonest are in ``unary_ops.py``."""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.iterator.tensor_iterator import compute, elementwise_float, float_type, loop
from dispatchviz.core.tensor.tensor import Tensor


def acos_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def acos_out(self: Tensor, out: Tensor) -> None:
    """The angle from 0 to pi whose cosine it is; nan beyond 1 and -1."""
    loop(numpy.arccos, out, float_type(self._dtype), self)


def asin_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def asin_out(self: Tensor, out: Tensor) -> None:
    """The angle from -pi/2 to pi/2 whose sine it is; nan beyond 1 and -1."""
    loop(numpy.arcsin, out, float_type(self._dtype), self)


def atan_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def atan_out(self: Tensor, out: Tensor) -> None:
    """The angle from -pi/2 to pi/2 whose tangent it is."""
    loop(numpy.arctan, out, float_type(self._dtype), self)


def acosh_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def acosh_out(self: Tensor, out: Tensor) -> None:
    """The positive number whose hyperbolic cosine it is; nan below 1."""
    loop(numpy.arccosh, out, float_type(self._dtype), self)


def asinh_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def asinh_out(self: Tensor, out: Tensor) -> None:
    """The number whose hyperbolic sine it is."""
    loop(numpy.arcsinh, out, float_type(self._dtype), self)


def atanh_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def atanh_out(self: Tensor, out: Tensor) -> None:
    """The number whose hyperbolic tangent it is; nan beyond 1 and -1."""
    loop(numpy.arctanh, out, float_type(self._dtype), self)


def tan_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def tan_out(self: Tensor, out: Tensor) -> None:
    """Tangent of an angle in radians."""
    loop(numpy.tan, out, float_type(self._dtype), self)


def exp2_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def exp2_out(self: Tensor, out: Tensor) -> None:
    """2 to the self"""
    loop(numpy.exp2, out, float_type(self._dtype), self)


def expm1_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def expm1_out(self: Tensor, out: Tensor) -> None:
    """e to the self, minus 1"""
    loop(numpy.expm1, out, float_type(self._dtype), self)


def log10_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def log10_out(self: Tensor, out: Tensor) -> None:
    """Logarithm to the base 10."""
    loop(numpy.log10, out, float_type(self._dtype), self)


def log2_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def log2_out(self: Tensor, out: Tensor) -> None:
    """Logarithm to the base 2."""
    loop(numpy.log2, out, float_type(self._dtype), self)


def sinc_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def sinc_out(self: Tensor, out: Tensor) -> None:
    """sin(pi self) / (pi self); 1 at 0"""
    xp = array_module(out._device.type)

    def sinc(values: Any) -> Any:
        angle = values * values.dtype.type(math.pi)
        return xp.where(values == 0, 1, xp.sin(angle) / angle)

    compute(out, float_type(self._dtype), sinc, self)
