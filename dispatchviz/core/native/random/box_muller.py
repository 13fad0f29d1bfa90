"""Box-Muller transform: normal samples from uniform ones, 16 at a time (``NormalFill16`` of
``cpu/DistributionTemplates.h``).

Of 16 uniform numbers the first 8 give radii, the last 8 angles. In float32 PyTorch computes logarithm, sine and cosine
by its own polynomials (``cpu/avx_mathfun.h``, from the Cephes library), in float64 by the C library. Both are computed
here with PyTorch's own roundings on x86 with AVX2, so the results are equal bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from dispatchviz.core.native.arithmetic.fma import fma

_single = numpy.float32
_SQRT_HALF, _LN2_HIGH, _LN2_LOW = _single(0.707106781186547524), _single(0.693359375), _single(-2.12194440e-4)
_LOG = tuple(
    map(
        _single,
        (
            *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
            *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
        ),
    )
)
_COS = tuple(map(_single, (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)))
_SIN = tuple(map(_single, (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)))
_QUARTER_PI = tuple(map(_single, (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)))
"""Pi / 4 in three parts, so that multiples of it can be subtracted exactly."""
_FOUR_BY_PI, _TWO_PI = _single(1.27323954473516), _single(2 * math.pi)


def normal_fill(uniform: Any, mean: float, std: float) -> Any:
    """Transform uniform into normal samples in place.

    The array is float32 or float64, with a multiple of 16 elements.
    """
    blocks = uniform.reshape(-1, 2, 8)
    radius_and_angle = _single_blocks if uniform.dtype == _single else _double_blocks
    radius, sine, cosine = radius_and_angle(1 - blocks[:, 0], blocks[:, 1])
    kind = uniform.dtype.type
    normal = numpy.stack([radius * cosine, radius * sine], 1)
    return fma(normal.reshape(-1), kind(std), kind(mean))


def by_c_library(function: Callable[[float], float], numbers: Any) -> Any:
    """A function of the C library applied to float64 numbers; NumPy's own differs in the last bit."""
    return numpy.fromiter(map(function, numbers.reshape(-1).tolist()), numpy.float64, numbers.size).reshape(
        numbers.shape
    )


def _double_blocks(first: Any, second: Any) -> tuple[Any, Any, Any]:
    angle = 2 * math.pi * second
    radius = numpy.sqrt(-2 * by_c_library(math.log, first))
    return radius, by_c_library(math.sin, angle), by_c_library(math.cos, angle)


def _single_blocks(first: Any, second: Any) -> tuple[Any, Any, Any]:
    return (numpy.sqrt(_single(-2) * _log(first)), *_sincos(_TWO_PI * second))


def _log(x: Any) -> Any:
    """The logarithm of positive normal numbers: the exponent's part, and a polynomial of the mantissa, from sqrt(1/2)
    to sqrt(2).
    """
    bits = numpy.ascontiguousarray(x).view(numpy.uint32)
    exponent = (bits >> 23).astype(numpy.int32) - 126
    x = (bits & 0x807FFFFF | 0x3F000000).view(_single)
    small = x < _SQRT_HALF
    exponent = (exponent - small).astype(_single)
    x = (x - _single(1)) + numpy.where(small, x, _single(0))
    square = x * x
    y = fma(_polynomial(_LOG, x) * x, square, exponent * _LN2_LOW)
    return fma(exponent, _LN2_HIGH, x + fma(square, _single(-0.5), y))


def _sincos(x: Any) -> tuple[Any, Any]:
    """The sine and cosine of non-negative angles. The octant determines the signs, and the polynomial of each."""
    octant = (x * _FOUR_BY_PI).astype(numpy.int32) + 1 & ~1
    turns = octant.astype(_single)
    for piece in _QUARTER_PI:
        x = fma(turns, piece, x)
    square = x * x
    cosine = fma(_polynomial(_COS, square) * square, square, square * _single(-0.5)) + _single(1)
    sine = fma(_polynomial(_SIN, square) * square, x, x)
    plain = octant & 2 == 0
    return (
        _negated(numpy.where(plain, sine, cosine), octant & 4),
        _negated(numpy.where(plain, cosine, sine), ~(octant - 2) & 4),
    )


def _polynomial(coefficients: Sequence[Any], x: Any) -> Any:
    result = numpy.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = fma(result, x, coefficient)
    return result


def _negated(numbers: Any, where: Any) -> Any:
    return numpy.where(where != 0, -numbers, numbers)
