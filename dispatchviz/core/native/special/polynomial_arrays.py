"""Orthogonal polynomials of arrays (``aten/src/ATen/native/Math.h``), in the dtype of the arrays.

Each function takes the array library, the points and the degrees, which are truncated to integers; a negative degree
gives 0. The recurrence runs for each element up to its degree. Where a Chebyshev polynomial oscillates, from some
degree on, it is computed as a quotient of sines and cosines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from dispatchviz.core.native.arithmetic.fma import fma
from dispatchviz.core.native.special.bessel_arrays import rounded_once

Array = Any
Step = Callable[[int, Array, Array], Array]
"""A function that returns the polynomial after the last two: ``step(k, last, before)``, with k from 1."""


_sin, _cos, _arccos = (rounded_once(name) for name in ("sin", "cos", "arccos"))


def _recurrence(xp: Any, n: Array, first: Array, step: Step, *, stops_at_nan: bool = True) -> Array:
    """The polynomials of degrees ``n`` by recurrence: degree 0 is 1, degree 1 is ``first``."""
    before, last = xp.ones_like(first), first
    found = xp.where(n < 0, 0.0, xp.where(n == 0, 1.0, first)).astype(first.dtype)
    for k in range(1, int(n.max()) if n.size else 0):
        going = (k < n) & ~xp.isnan(last) if stops_at_nan else k < n
        if not going.any():
            break
        before, last = last, step(k, last, before)
        found = xp.where(going, last, found)
    return found


def _whole(n: Array) -> Array:
    """Degrees truncated as in C++; those that do not fit are far below zero."""
    return n.astype("int64")


# -- Chebyshev ---------------------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """One of the four kinds of Chebyshev polynomials."""

    waves_from: tuple[int, int]
    """The degree from which sines and cosines are used, for the plain and the shifted polynomial."""
    first: Callable[[Array], Array]
    """The polynomial of degree 1."""
    ends: tuple[Callable[[Array], Array], Callable[[Array], Array]]
    """The value of a degree at 1, and at -1 (0 if shifted) up to the sign of odd degrees."""
    wave: Callable[[Any, Array, Array], Array]
    """The polynomial as a function of an angle and a degree."""


def _one(n: Array) -> Array:
    return n * 0 + 1


def _wave_t(xp: Any, angle: Array, n: Array) -> Array:
    return _cos(xp, n.astype(angle.dtype) * angle)


def _wave_u(xp: Any, angle: Array, n: Array) -> Array:
    return _sin(xp, (n + 1).astype(angle.dtype) * angle) / _sin(xp, angle)


def _wave_v(xp: Any, angle: Array, n: Array) -> Array:
    wave = _cos(xp, (n.astype(angle.dtype) + 0.5) * angle) / _cos(xp, angle / 2)
    return xp.where(_sin(xp, angle / 2) == 1, _signed(xp, n, n + n + 1), wave)


def _wave_w(xp: Any, angle: Array, n: Array) -> Array:
    return _sin(xp, (n.astype(angle.dtype) + 0.5) * angle) / _sin(xp, angle / 2)


def _signed(xp: Any, n: Array, values: Array) -> Array:
    return xp.where(n % 2 == 0, values, -values)


_T = _Kind((6, 6), lambda y: y, (_one, _one), _wave_t)
_U = _Kind((8, 6), lambda y: y + y, (lambda n: n + 1, lambda n: n + 1), _wave_u)
_V = _Kind((8, 6), lambda y: y + y - 1, (_one, lambda n: n + n + 1), _wave_v)
_W = _Kind((8, 4), lambda y: y + y + 1, (lambda n: n + n + 1, _one), _wave_w)


def _chebyshev(xp: Any, kind: _Kind, x: Array, n: Array, *, shifted: bool = False) -> Array:
    n, y = _whole(n), x + x - 1 if shifted else x
    upper, lower = x == 1, x == (0 if shifted else -1)
    waves = (n > kind.waves_from[shifted]) & (abs(y) < 1)
    counted = xp.where(upper | lower | waves, xp.minimum(n, 0), n)
    found = _recurrence(xp, counted, kind.first(y), lambda k, last, before: fma(y + y, last, -before))
    angle = _arccos(xp, xp.where(waves, y, 0 * y))
    found = xp.where(waves, _flat(xp, kind, shifted, x, angle, n, kind.wave(xp, angle, n)), found)
    at_one, at_minus_one = kind.ends
    found = xp.where(upper, at_one(n), xp.where(lower, _signed(xp, n, at_minus_one(n)), found))
    return xp.where(n < 0, 0.0, found).astype(x.dtype)


def _flat(xp: Any, kind: _Kind, shifted: bool, x: Array, angle: Array, n: Array, wave: Array) -> Array:
    """Replace the quotient of the fourth kind where the cosine of half the angle is rounded to 1."""
    if kind is not _W:
        return wave
    sign = _signed(xp, n, _one(n))
    return xp.where(_cos(xp, angle / 2) == 1, sign if shifted else xp.where(x > 0, n + n + 1, sign), wave)


def chebyshev_polynomial_t(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the first kind."""
    return _chebyshev(xp, _T, x, n)


def chebyshev_polynomial_u(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the second kind."""
    return _chebyshev(xp, _U, x, n)


def chebyshev_polynomial_v(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the third kind."""
    return _chebyshev(xp, _V, x, n)


def chebyshev_polynomial_w(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the fourth kind."""
    return _chebyshev(xp, _W, x, n)


def shifted_chebyshev_polynomial_t(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the first kind, shifted to [0, 1]."""
    return _chebyshev(xp, _T, x, n, shifted=True)


def shifted_chebyshev_polynomial_u(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the second kind, shifted to [0, 1]."""
    return _chebyshev(xp, _U, x, n, shifted=True)


def shifted_chebyshev_polynomial_v(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the third kind, shifted to [0, 1]."""
    return _chebyshev(xp, _V, x, n, shifted=True)


def shifted_chebyshev_polynomial_w(xp: Any, x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the fourth kind, shifted to [0, 1]."""
    return _chebyshev(xp, _W, x, n, shifted=True)


# -- Hermite, Laguerre, Legendre ---------------------------------------------------------------------------------------


def hermite_polynomial_h(xp: Any, x: Array, n: Array) -> Array:
    """The physicist's Hermite polynomial; nan above degree 128, or 512 for double."""
    return _hermite(xp, x, n, x + x, lambda k, last, before: fma(x + x, last, -(2 * k * before)))


def hermite_polynomial_he(xp: Any, x: Array, n: Array) -> Array:
    """The probabilist's Hermite polynomial; nan above degree 128, or 512 for double."""
    return _hermite(xp, x, n, x, lambda k, last, before: fma(x, last, -(k * before)))


def _hermite(xp: Any, x: Array, n: Array, first: Array, step: Step) -> Array:
    n = _whole(n)
    beyond = n > (128 if x.dtype == "float32" else 512)
    found = _recurrence(xp, xp.where(beyond, 0, n), first, step, stops_at_nan=False)
    return xp.where(beyond, math.nan, found)


def laguerre_polynomial_l(xp: Any, x: Array, n: Array) -> Array:
    """The Laguerre polynomial; 1 at 0."""
    n = _whole(n)
    counted = xp.where(x == 0, xp.minimum(n, 0), n)
    return _recurrence(xp, counted, 1 - x, lambda k, last, before: fma(2 * k + (1 - x), last, -(k * before)) / (k + 1))


def legendre_polynomial_p(xp: Any, x: Array, n: Array) -> Array:
    """The Legendre polynomial; 1 at 1, and 1 or -1 at -1."""
    n = _whole(n)
    ends = abs(x) == 1
    counted = xp.where(ends, xp.minimum(n, 0), n)
    found = _recurrence(xp, counted, x, lambda k, last, before: fma((2 * k + 1) * x, last, -(k * before)) / (k + 1))
    at_ends = xp.where((x > 0) | (n % 2 == 0), 1.0, -1.0)
    return xp.where(ends & (n >= 0), at_ends, found).astype(x.dtype)
