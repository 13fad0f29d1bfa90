"""Elementwise functions of one tensor (``aten/src/ATen/native/UnaryOps.cpp``)."""

from __future__ import annotations

import numpy

from dispatchviz.core.dtype import bool_
from dispatchviz.core.native.iterator import elementwise_float, elementwise_same, float_type, loop
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Tensor


def neg_meta(op: Structured, self: Tensor) -> None:
    """Same dtype; bool is refused."""
    if self._dtype is bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    elementwise_same(op, self)


def exp_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def log_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def sin_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def cos_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def reciprocal_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def neg_out(self: Tensor, out: Tensor) -> None:
    """-self"""
    loop(numpy.negative, out, self._dtype, self)


def exp_out(self: Tensor, out: Tensor) -> None:
    """e to the self"""
    loop(numpy.exp, out, float_type(self._dtype), self)


def log_out(self: Tensor, out: Tensor) -> None:
    """Natural logarithm; nan below 0, -inf at 0."""
    loop(numpy.log, out, float_type(self._dtype), self)


def sin_out(self: Tensor, out: Tensor) -> None:
    """Sine of an angle in radians."""
    loop(numpy.sin, out, float_type(self._dtype), self)


def cos_out(self: Tensor, out: Tensor) -> None:
    """Cosine of an angle in radians."""
    loop(numpy.cos, out, float_type(self._dtype), self)


def reciprocal_out(self: Tensor, out: Tensor) -> None:
    """1 / self"""
    loop(numpy.reciprocal, out, float_type(self._dtype), self)
