"""``fmax``, ``fmin``, ``gcd``, ``lcm``, ``logaddexp``, ``hypot``, ``nextafter``
(``aten/src/ATen/native/BinaryOps.cpp``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.arithmetic.clamp import refuse_complex
from dispatchviz.core.native.iterator.tensor_iterator import compute, elementwise, loop, no_instance, result_type
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Tensor


def _only_fractions(function: Any, kernel: str, self: Tensor, other: Tensor, out: Tensor) -> None:
    """Run a loop that has instances for floating dtypes only."""
    dtype = result_type(self, other)
    loop(function if dtype.is_floating_point else no_instance(kernel, dtype), out, dtype, self, other)


# -- fmax, fmin --------------------------------------------------------------------------------------------------------


def fmax_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype. Raise RuntimeError for complex."""
    refuse_complex("fmax", self, other)
    elementwise(op, self, other)


def fmin_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype. Raise RuntimeError for complex."""
    refuse_complex("fmin", self, other)
    elementwise(op, self, other)


def fmax_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The larger element; the number if the other one is nan"""
    loop(numpy.fmax, out, result_type(self, other), self, other)


def fmin_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The smaller element; the number if the other one is nan"""
    loop(numpy.fmin, out, result_type(self, other), self, other)


# -- gcd, lcm ----------------------------------------------------------------------------------------------------------


def gcd_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def gcd_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The greatest common divisor"""
    _only_integers(numpy.gcd, "gcd_cpu", self, other, out)


def lcm_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def lcm_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The least common multiple"""
    _only_integers(numpy.lcm, "lcm_cpu", self, other, out)


def _only_integers(function: Any, kernel: str, self: Tensor, other: Tensor, out: Tensor) -> None:
    dtype = result_type(self, other)
    refused = dtype.can_require_grad or dtype is bool_
    loop(no_instance(kernel, dtype) if refused else function, out, dtype, self, other)


# -- logaddexp, hypot, nextafter ---------------------------------------------------------------------------------------


def logaddexp_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def logaddexp_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """log(e ** self + e ** other)"""
    dtype = result_type(self, other)
    if dtype.is_complex:
        compute(out, dtype, _logaddexp_of_complex(array_module(out._device.type)), self, other)
    else:
        _only_fractions(numpy.logaddexp, "logaddexp_cpu", self, other, out)


def _logaddexp_of_complex(xp: Any) -> Callable[[Any, Any], Any]:
    """The function that computes log(exp(a) + exp(b)) with the number of larger real part factored out."""

    def logaddexp(a: Any, b: Any) -> Any:
        first = a.real >= b.real
        large, small = xp.where(first, a, b), xp.where(first, b, a)
        return large + xp.log1p(xp.exp(small - large))

    return logaddexp


def logaddexp2_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def logaddexp2_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """log2(2 ** self + 2 ** other)"""
    _only_fractions(numpy.logaddexp2, "logaddexp2_cpu", self, other, out)


def hypot_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def hypot_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The square root of self ** 2 + other ** 2"""
    _only_fractions(numpy.hypot, "hypot_cpu", self, other, out)


def nextafter_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def nextafter_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The next number after self towards other"""
    _only_fractions(numpy.nextafter, "nextafter_cpu", self, other, out)
