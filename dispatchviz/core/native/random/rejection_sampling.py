"""Poisson, binomial and gamma samples by rejection sampling (``aten/src/ATen/native/Distributions.h``).

Each function returns a single number. Arithmetic is in double, except where C++ uses the tensor's own dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy

from dispatchviz.core.native.random import distributions_helper
from dispatchviz.core.native.random.generator import Generator

Rounding = Callable[[float], float]
"""A function that rounds a number to the dtype of the tensor."""


def single(number: float) -> float:
    """A number rounded to float32."""
    return float(numpy.float32(number))


def _uniform(generator: Generator) -> float:
    return float(distributions_helper.uniform(generator, 1, True)[0])


# -- Poisson -----------------------------------------------------------------------------------------------------------


def poisson(rate: float, generator: Generator) -> float:
    """A Poisson sample: products of uniform numbers below a rate of 10, transformed rejection from there.

    Raise RuntimeError for a negative rate.
    """
    if not rate >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if rate >= 10:
        return _poisson_transformed(rate, generator)
    if rate == 0:
        return 0.0
    least, count, product = math.exp(-rate), 0.0, _uniform(generator)
    while product > least:
        count, product = count + 1, product * _uniform(generator)
    return count


def _poisson_transformed(rate: float, generator: Generator) -> float:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    bound = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = _uniform(generator) - 0.5, _uniform(generator)
        distance = 0.5 - abs(u)
        k = math.floor((2 * a / distance + b) * u + rate + 0.43)
        if distance >= 0.07 and v <= bound:
            return k
        if k < 0 or (distance < 0.013 and v > distance):
            continue
        given = math.log(v) + math.log(inverse_alpha) - math.log(a / (distance * distance) + b)
        if given <= -rate + k * math.log(rate) - math.lgamma(k + 1.0):
            return k


# -- binomial ----------------------------------------------------------------------------------------------------------


def binomial(count: float, prob: float, generator: Generator, rounded: Rounding) -> float:
    """A binomial sample: the number of successes in ``count`` trials.

    If success is more likely than failure, failures are counted.
    """
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if prob != prob:
        return math.nan
    if prob > 0.5:
        return count - _unlikely(count, rounded(1 - prob), generator, rounded)
    return _unlikely(count, prob, generator, rounded)


def _unlikely(count: float, prob: float, generator: Generator, rounded: Rounding) -> float:
    sampler = _binomial_transformed if rounded(count * prob) >= 10 else _waiting_times
    return sampler(count, prob, generator, rounded)


def _waiting_times(count: float, prob: float, generator: Generator, rounded: Rounding) -> float:
    """A binomial sample by adding up the waiting times until the next success."""
    rate = rounded(math.log1p(-prob))
    tries, found = 0.0, 0.0
    while True:
        u = _uniform(generator)
        tries += math.ceil(math.log(u) / rate) if u else math.inf
        if tries > count:
            return found
        found += 1


def _binomial_transformed(count: float, prob: float, generator: Generator, rounded: Rounding) -> float:
    """A binomial sample by transformed rejection."""
    mean, failure = rounded(count * prob), rounded(1 - prob)
    std = rounded(math.sqrt(rounded(mean * failure)))
    b = 1.15 + 2.53 * std
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    bound, odds, alpha = 0.92 - 4.2 / b, rounded(prob / failure), (2.83 + 5.1 / b) * std
    m = math.floor(rounded(rounded(count + 1) * prob))
    while True:
        u, v = _uniform(generator) - 0.5, _uniform(generator)
        distance = 0.5 - abs(u)
        k = float(math.floor((2 * a / distance + b) * u + (mean + 0.5)))
        if k < 0 or k > count:
            continue
        if distance >= 0.07 and v <= bound:
            return k
        most = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + (_tail(m) + _tail(count - m) - _tail(k) - _tail(count - k))
        )
        scaled = v * alpha / (a / (distance * distance) + b)
        if not scaled or math.log(scaled) <= most:
            return k


_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)
"""The differences between Stirling's formula and the logarithms of 0!, 1!, ..., 9!."""


def _tail(k: float) -> float:
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


# -- gamma -------------------------------------------------------------------------------------------------------------

_THIRD = single(1 / 3)
_SQUEEZE = single(0.0331)


def gamma(alpha: float, generator: Generator, rounded: Rounding) -> float:
    """A gamma sample with scale 1. For alpha below 1 it is sampled for alpha + 1 and scaled."""
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - _uniform(generator)) ** rounded(1 / alpha)
        alpha = rounded(alpha + 1)
    d = rounded(alpha - _THIRD)
    c = 1 / math.sqrt(9 * d)
    while True:
        x = y = 0.0
        while y <= 0:
            x = float(distributions_helper.normal(generator, 1, 0, 1)[0])
            y = 1 + c * x
        v, u, xx = y * y * y, 1 - _uniform(generator), x * x
        if u < 1 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1 - v + math.log(v)):
            return scale * d * v
