"""Bessel and Airy functions of arrays, in the dtype of the array; the array libraries lack them
(``aten/src/ATen/native/Math.h``).

The first argument of each function is the array library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchviz.core.native.arithmetic.fma import fma
from dispatchviz.core.native.special import bessel_coefficients as table

Array = Any
Coefficients = tuple[float, ...]


def horner(x: Array, coefficients: Coefficients) -> Array:
    """A polynomial whose coefficients start with the highest power."""
    total = x * 0
    for coefficient in coefficients:
        total = fma(total, x, x.dtype.type(coefficient))
    return total


def rounded_once(name: str) -> Callable[[Any, Array], Array]:
    """A function that is rounded once, like C's float functions; NumPy's float32 functions are less accurate."""

    def of_array(xp: Any, x: Array) -> Array:
        return getattr(xp, name)(x.astype("float64")).astype(x.dtype)

    return of_array


_exp, _log, _sin, _cos = (rounded_once(name) for name in ("exp", "log", "sin", "cos"))


def _ratio(x: Array, above: Coefficients, below: Coefficients) -> Array:
    return horner(x, above) / horner(x, below)


def chebyshev_series(x: Array, coefficients: Coefficients) -> Array:
    """Half the sum of Chebyshev polynomials of x / 2, by Clenshaw's recurrence."""
    before = last = x * 0
    total = last + coefficients[0]
    for coefficient in coefficients[1:]:
        before, last = last, total
        total = fma(x, last, -before) + coefficient
    return (total - before) * 0.5


# -- first and second kind ---------------------------------------------------------------------------------------------


def bessel_j0(xp: Any, x: Array) -> Array:
    """J0: a ratio of polynomials up to 5, a decaying wave beyond."""
    x = abs(x)
    square = x * x
    near = (square - 5.78318596294678452118) * (square - 30.4712623436620863991)
    near = near * horner(square, table.J0_ABOVE) / horner(square, table.J0_BELOW)
    near = xp.where(x < 0.00001, 1 - square / 4, near)
    return xp.where(x <= 5, near, _wave_of_j(xp, x, *_far0(x)))


def bessel_j1(xp: Any, x: Array) -> Array:
    """J1, an odd function."""
    negative, x = x < 0, abs(x)
    square = x * x
    near = _ratio(square, table.J1_ABOVE, table.J1_BELOW) * x
    near = near * (square - 14.6819706421238932572) * (square - 49.2184563216946036703)
    found = xp.where(x <= 5, near, _wave_of_j(xp, x, *_far1(x)))
    return xp.where(negative, -found, found)


def bessel_y0(xp: Any, x: Array) -> Array:
    """Y0: minus infinity at 0, nan below."""
    near = fma(2 / math.pi * _log(xp, x), bessel_j0(xp, x), _ratio(x * x, table.Y0_ABOVE, table.Y0_BELOW))
    return _from_zero(xp, x, xp.where(x <= 5, near, _wave_of_y(xp, x, *_far0(x))), -math.inf)


def bessel_y1(xp: Any, x: Array) -> Array:
    """Y1: minus infinity at 0, nan below."""
    near = 2 / math.pi * fma(bessel_j1(xp, x), _log(xp, x), -(1 / x))
    near = fma(x, _ratio(x * x, table.Y1_ABOVE, table.Y1_BELOW), near)
    return _from_zero(xp, x, xp.where(x <= 5, near, _wave_of_y(xp, x, *_far1(x))), -math.inf)


def _far0(x: Array) -> tuple[Array, Array, Array]:
    """The angle and the two amplitudes of order 0 beyond 5."""
    z = 25 / (x * x)
    return x - math.pi / 4, _ratio(z, table.PP0, table.PQ0), 5 / x * _ratio(z, table.QP0, table.QQ0)


def _far1(x: Array) -> tuple[Array, Array, Array]:
    z = 5 / x * (5 / x)
    return x - 3 * math.pi / 4, _ratio(z, table.PP1, table.PQ1), 5 / x * _ratio(z, table.QP1, table.QQ1)


def _wave_of_j(xp: Any, x: Array, angle: Array, p: Array, q: Array) -> Array:
    return fma(p, _cos(xp, angle), -(q * _sin(xp, angle))) * math.sqrt(2 / math.pi) / xp.sqrt(x)


def _wave_of_y(xp: Any, x: Array, angle: Array, p: Array, q: Array) -> Array:
    return fma(p, _sin(xp, angle), q * _cos(xp, angle)) * math.sqrt(2 / math.pi) / xp.sqrt(x)


def _from_zero(xp: Any, x: Array, found: Array, at_zero: float) -> Array:
    """A function that has a given value at 0 and is nan below."""
    return xp.where(x == 0, at_zero, xp.where(x < 0, math.nan, found))


def spherical_bessel_j0(xp: Any, x: Array) -> Array:
    """sin(x) / x, by its series near 0."""
    near = horner(x * x, tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(6, -1, -1)))
    return xp.where(xp.isinf(x), 0.0, xp.where(abs(x) < 0.5, near, _sin(xp, x) / x))


# -- modified Bessel functions -----------------------------------------------------------------------------------------


def modified_bessel_i0(xp: Any, x: Array) -> Array:
    """I0."""
    x = abs(x)
    near = _exp(xp, x) * chebyshev_series(x / 2 - 2, table.I0_NEAR)
    return xp.where(x <= 8, near, _exp(xp, x) * chebyshev_series(32 / x - 2, table.I0_FAR) / xp.sqrt(x))


def modified_bessel_i1(xp: Any, x: Array) -> Array:
    """I1, an odd function."""
    negative, x = x < 0, abs(x)
    near = chebyshev_series(x / 2 - 2, table.I1_NEAR) * x * _exp(xp, x)
    found = xp.where(x <= 8, near, _exp(xp, x) * chebyshev_series(32 / x - 2, table.I1_FAR) / xp.sqrt(x))
    return xp.where(negative, -found, found)


def modified_bessel_k0(xp: Any, x: Array) -> Array:
    """K0: infinity at 0, nan below."""
    far = _exp(xp, -x) * chebyshev_series(8 / x - 2, table.K0_FAR) / xp.sqrt(x)
    near = _k0_near(xp, x.astype("float64"), x).astype(x.dtype)
    return _from_zero(xp, x, xp.where(x <= 2, near, far), math.inf)


def modified_bessel_k1(xp: Any, x: Array) -> Array:
    """K1: infinity at 0, nan below."""
    far = _exp(xp, -x) * chebyshev_series(8 / x - 2, table.K1_FAR) / xp.sqrt(x)
    return _from_zero(xp, x, xp.where(x <= 2, _k1_near(xp, x), far), math.inf)


def scaled_modified_bessel_k0(xp: Any, x: Array) -> Array:
    """K0 times exp(x)."""
    far = chebyshev_series(8 / x - 2, table.K0_FAR) / xp.sqrt(x)
    return _from_zero(xp, x, xp.where(x <= 2, _k0_near(xp, x, x) * _exp(xp, x), far), math.inf)


def scaled_modified_bessel_k1(xp: Any, x: Array) -> Array:
    """K1 times exp(x)."""
    far = chebyshev_series(8 / x - 2, table.K1_FAR) / xp.sqrt(x)
    return _from_zero(xp, x, xp.where(x <= 2, _k1_near(xp, x) * _exp(xp, x), far), math.inf)


def _k0_near(xp: Any, wide: Array, x: Array) -> Array:
    """K0 near 0, in the dtype of ``wide``: PyTorch takes the logarithm of the unscaled K0 in double."""
    series = chebyshev_series(fma(x, x, -2), table.K0_NEAR).astype(wide.dtype)
    return fma(-_log(xp, 0.5 * wide), modified_bessel_i0(xp, x).astype(wide.dtype), series)


def _k1_near(xp: Any, x: Array) -> Array:
    return fma(_log(xp, 0.5 * x), modified_bessel_i1(xp, x), chebyshev_series(fma(x, x, -2), table.K1_NEAR) / x)


# -- Airy function -----------------------------------------------------------------------------------------------------


def airy_ai(xp: Any, x: Array) -> Array:
    """Ai: a wave for negative x, two power series around 0, a ratio of polynomials beyond; nan at infinity."""
    found = xp.where(x < -2.09, _airy_wave(xp, x), xp.where(x >= 2.09, _airy_far(xp, x), _airy_near(xp, x)))
    return xp.where(xp.isinf(x), math.nan, xp.where(x > 103.892, 0.0, found))


def _airy_wave(xp: Any, x: Array) -> Array:
    angle = -2 * x * xp.sqrt(-x) / 3
    z = 1 / angle
    sine = 1 + z * z * horner(z * z, table.AIRY_SINE_ABOVE) / horner(z * z, table.AIRY_SINE_BELOW)
    cosine = z * horner(z * z, table.AIRY_COSINE_ABOVE) / horner(z * z, table.AIRY_COSINE_BELOW)
    angle = angle + math.pi / 4
    return 1 / math.sqrt(math.pi) / xp.sqrt(xp.sqrt(-x)) * fma(_sin(xp, angle), sine, -(_cos(xp, angle) * cosine))


def _airy_far(xp: Any, x: Array) -> Array:
    zeta = 2 * x * xp.sqrt(x) / 3
    ratio = _ratio(1 / zeta, table.AIRY_FAR_ABOVE, table.AIRY_FAR_BELOW)
    return 1 / math.sqrt(math.pi) * ratio / (2 * xp.sqrt(xp.sqrt(x)) * _exp(xp, zeta))


def _airy_near(xp: Any, x: Array) -> Array:
    """Ai by two power series, summed for each element until a term is too small to count."""
    epsilon = float(xp.finfo(x.dtype).eps)
    cube = x * x * x
    even = m = x * 0 + 1
    odd = n = x
    going = abs(x) < 2.1
    k = 1
    while going.any():
        m = m * cube / (k + 1) / (k + 2)
        n = n * cube / (k + 2) / (k + 3)
        k += 3
        even, odd = xp.where(going, even + m, even), xp.where(going, odd + n, odd)
        going = going & (abs(m / even) > epsilon)
    return xp.where(xp.isnan(x), x, fma(even, x.dtype.type(0.355028053887817239260), -(0.258819403792806798405 * odd)))
