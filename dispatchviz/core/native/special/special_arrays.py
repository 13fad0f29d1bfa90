"""``erfinv``, ``erfcx``, ``digamma``, ``zeta``, ``igamma``, ``i0e`` and others of float64 arrays; the array libraries
lack them.

The first argument of each function is the array library. They are well-known series and recurrences in double
precision, accurate to about 1e-13 where PyTorch's own float64 kernels are (``aten/src/ATen/native/Math.h``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Array = Any


def each(function: Callable[[float], float]) -> Callable[[Any, Array], Array]:
    """A function of numbers applied element by element; ValueError and OverflowError give infinity."""

    def of_number(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.inf

    def of_array(xp: Any, values: Array) -> Array:
        found = [of_number(x) for x in values.reshape(-1).tolist()]
        return xp.asarray(found, "float64").reshape(values.shape)

    return of_array


erf, erfc, lgamma = each(math.erf), each(math.erfc), each(math.lgamma)

# -- the error function ------------------------------------------------------------------------------------------------


def erfinv(xp: Any, y: Array) -> Array:
    """The inverse error function: a rational approximation, then two Newton steps."""
    inner = _ratio(y * y, (0.886226899, -1.645349621, 0.914624893, -0.140543331), _INNER_BELOW) * y
    z = xp.sqrt(-xp.log((1 - abs(y)) / 2))
    outer = xp.copysign(_ratio(z, (-1.970840454, -1.624906493, 3.429567803, 1.641345311), _OUTER_BELOW), y)
    x = xp.where(abs(y) <= 0.7, inner, outer)
    for _ in range(2):
        x = x - (erf(xp, x) - y) / (2 / math.sqrt(math.pi) * xp.exp(-x * x))
    return xp.where(abs(y) == 1, xp.copysign(math.inf, y), x)


_INNER_BELOW = (1.0, -2.118377725, 1.442710462, -0.329097515, 0.012229801)
_OUTER_BELOW = (1.0, 3.543889200, 1.637067800)


def _ratio(x: Array, above: tuple[float, ...], below: tuple[float, ...]) -> Array:
    return polynomial(x, above) / polynomial(x, below)


def polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    """A polynomial whose coefficients start with the lowest power."""
    total = x * 0 + coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def erfcx(xp: Any, x: Array) -> Array:
    """exp(x ** 2) * erfc(x)"""
    inverse = 1 / (x * x)
    far = polynomial(inverse, (1.0, -0.5, 0.75, -1.875, 6.5625)) / (x * math.sqrt(math.pi))
    return xp.where(x > 25, far, xp.exp(x * x) * erfc(xp, xp.minimum(x, 25)))


def log_ndtr(xp: Any, x: Array) -> Array:
    """The logarithm of the normal distribution function."""
    low = xp.log(erfcx(xp, -x / math.sqrt(2)) / 2) - x * x / 2
    return xp.where(x < -1, low, xp.log1p(-erfc(xp, x / math.sqrt(2)) / 2))


def _normal_quantile(area: float) -> float:
    if area in (0, 1):
        return math.copysign(math.inf, area - 0.5)
    from statistics import NormalDist  # imported here because it loads fractions and decimals

    return NormalDist().inv_cdf(area) if 0 < area < 1 else math.nan


ndtri = each(_normal_quantile)


def entr(xp: Any, x: Array) -> Array:
    """-x * log(x); 0 at 0"""
    positive = -x * xp.log(xp.where(x > 0, x, 1))
    return xp.where(xp.isnan(x) | (x > 0), positive, xp.where(x == 0, 0.0, -math.inf))


def xlog1py(xp: Any, x: Array, y: Array) -> Array:
    """x * log(1 + y); 0 where x is 0, unless y is nan"""
    return xp.where(xp.isnan(y), math.nan, xp.where(x == 0, 0.0, x * xp.log1p(y)))


# -- the gamma function ------------------------------------------------------------------------------------------------

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
              854513 / 138, -236364091 / 2730)  # fmt: skip
"""The Bernoulli numbers B2, B4, ..."""


def digamma(xp: Any, x: Array) -> Array:
    """The digamma function: reflected at 1 for negative x, raised to 10, then the asymptotic series.

    Every step is in the dtype of x.
    """
    negative = x < 0
    angle = math.pi * (x - xp.trunc(x)).astype("float64")
    reflected = xp.where(negative, -math.pi / xp.tan(angle), 0.0).astype(x.dtype)
    total = xp.zeros_like(x)
    y = xp.where(negative, 1 - x, x)
    for _ in range(10):
        below = y < 10
        total = xp.where(below, total - 1 / y, total)
        y = xp.where(below, y + 1, y)
    inverse = 1 / (y * y)
    series = inverse * polynomial(inverse, tuple(b / (2 * k) for k, b in enumerate(_BERNOULLI[:7], 1)))
    raised = xp.where(y == 10, total + _DIGAMMA_OF_10, total + xp.log(y) - 0.5 / y - series)
    found = xp.where(y == math.inf, math.inf, raised) + reflected
    found = xp.where(negative & (x == xp.trunc(x)), math.nan, found)
    return xp.where(x == 0, xp.copysign(math.inf, -x), found)


_DIGAMMA_OF_10 = 2.2517525890667211


def trigamma(xp: Any, x: Array) -> Array:
    """The derivative of digamma; every step in the dtype of x."""
    low = x < 0.5
    sine = xp.sin(math.pi * x)
    total = xp.where(low, -(math.pi * math.pi) / (sine * sine), x * 0)
    y = xp.where(low, 1 - x, x)
    for _ in range(6):
        total = total + 1 / (y * y)
        y = y + 1
    inverse = 1 / (y * y)
    total = total + (1 + 1 / (2 * y) + inverse * (1 / 6 - inverse * (1 / 30 - inverse / 42))) / y
    return xp.where(low, -total, total)


def polygamma(xp: Any, n: int, x: Array) -> Array:
    """The n-th derivative of digamma, for n of at least 2."""
    sign = 1.0 if n % 2 else -1.0
    return sign * math.exp(math.lgamma(n + 1)) * zeta(xp, xp.full_like(x, n + 1), x)


def zeta(xp: Any, x: Array, q: Array) -> Array:
    """The Hurwitz zeta function, the sum of (q + k) ** -x over k from 0: at least nine terms, then the Euler-Maclaurin
    remainder.
    """
    total = q**-x
    a = q + 0.0
    for i in range(_MOST_TERMS):
        going = (a <= 9) if i >= 9 else xp.isfinite(a)
        if not going.any():
            break
        a = xp.where(going, a + 1, a)
        total = xp.where(going, total + a**-x, total)
    last = a**-x
    total = total + last * a / (x - 1) - 0.5 * last
    factor = xp.ones_like(total)
    for k, bernoulli in enumerate(_BERNOULLI):
        factor = factor * (x + 2 * k) / ((2 * k + 2) * (2 * k + 1)) * ((x + 2 * k - 1) if k else 1)
        last = last / a if k == 0 else last / (a * a)
        total = total + bernoulli * factor * last
    whole = q == xp.floor(q)
    total = xp.where(q <= 0, xp.where(whole, math.inf, xp.where(x == xp.floor(x), total, math.nan)), total)
    return xp.where(x == 1, math.inf, xp.where(x < 1, math.nan, total))


_MOST_TERMS = 1000


def igamma(xp: Any, a: Array, x: Array) -> Array:
    """The regularized lower incomplete gamma function."""
    lower = (x <= 1) | (x <= a)
    found = xp.where(lower, _lower_series(xp, a, x, lower), 1 - _upper_fraction(xp, a, x, ~lower))
    return _set_limits(xp, a, x, found, 0.0, 1.0)


def igammac(xp: Any, a: Array, x: Array) -> Array:
    """The regularized upper incomplete gamma function."""
    lower = (x <= 1) | (x <= a)
    found = xp.where(lower, 1 - _lower_series(xp, a, x, lower), _upper_fraction(xp, a, x, ~lower))
    return _set_limits(xp, a, x, found, 1.0, 0.0)


def _set_limits(xp: Any, a: Array, x: Array, found: Array, at_zero: float, at_infinity: float) -> Array:
    found = xp.where(x == math.inf, xp.where(a == math.inf, math.nan, at_infinity), found)
    found = xp.where((a == math.inf) & (x != math.inf), at_zero, found)
    found = xp.where(a == 0, xp.where(x > 0, at_infinity, math.nan), xp.where(x == 0, at_zero, found))
    return xp.where((a < 0) | (x < 0), math.nan, found)


def _prefactor(xp: Any, a: Array, x: Array) -> Array:
    """x ** a * exp(-x) / gamma(a)"""
    return xp.exp(a * xp.log(x) - x - lgamma(xp, a))


def _lower_series(xp: Any, a: Array, x: Array, wanted: Array) -> Array:
    a, x = xp.where(wanted, a, 1.0), xp.where(wanted, x, 0.5)
    term = total = xp.ones_like(a)
    for n in range(1, 2000):
        term = term * x / (a + n)
        total = total + term
        if not (term > total * 1e-17).any():
            break
    return total * _prefactor(xp, a, x) / a


def _upper_fraction(xp: Any, a: Array, x: Array, wanted: Array) -> Array:
    """The continued fraction of the upper incomplete gamma function, by Lentz's method."""
    a, x = xp.where(wanted, a, 1.0), xp.where(wanted, x, 2.0)
    b = x + 1 - a
    c = xp.full_like(b, 1e300)
    d = 1 / b
    total = d
    for n in range(1, 2000):
        factor = -n * (n - a)
        b = b + 2
        d = 1 / (factor * d + b)
        c = b + factor / c
        total = total * c * d
        if not (abs(c * d - 1) > 1e-16).any():
            break
    return total * _prefactor(xp, a, x)


# -- modified Bessel functions -----------------------------------------------------------------------------------------


def i0e(xp: Any, x: Array) -> Array:
    """I0 times exp(-abs(x))."""
    return _scaled_bessel_i(xp, abs(x), 0)


def i0(xp: Any, x: Array) -> Array:
    """I0."""
    return i0e(xp, x) * xp.exp(abs(x))


def i1(xp: Any, x: Array) -> Array:
    """I1."""
    return i1e(xp, x) * xp.exp(abs(x))


def i1e(xp: Any, x: Array) -> Array:
    """I1 times exp(-abs(x))."""
    return xp.copysign(1.0, x) * _scaled_bessel_i(xp, abs(x), 1)


def _scaled_bessel_i(xp: Any, x: Array, order: int) -> Array:
    """A scaled modified Bessel function: the power series up to 30, the asymptotic one beyond."""
    near = xp.minimum(x, 30)
    term = total = (near / 2) ** order
    for k in range(1, 120):
        term = term * (near / 2) ** 2 / (k * (k + order))
        total = total + term
    far = xp.maximum(x, 30)
    beyond = series = xp.ones_like(far)
    for k in range(1, 30):
        beyond = beyond * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * far)
        series = series + beyond
    return xp.where(x <= 30, total * xp.exp(-near), series / xp.sqrt(2 * math.pi * far))
