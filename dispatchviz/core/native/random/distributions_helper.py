"""Uniform, normal, exponential, Cauchy and integer samples from the random 32-bit outputs of a generator
(``aten/src/ATen/core/DistributionsHelper.h``).

Each function takes a generator and a count, and returns a flat NumPy array in the order in which PyTorch's serial CPU
loops draw. It calls the functions of the C library, not NumPy's, so that every bit is PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.native.arithmetic.fma import fma
from dispatchviz.core.native.random.box_muller import by_c_library, normal_fill
from dispatchviz.core.native.random.generator import Generator

MANY_NUMBERS = 1 << 28
"""The range from which an integer uses 64 bits, so that the modulo bias is small."""


def uniform(generator: Generator, count: int, wide: bool) -> Any:
    """Uniform numbers in [0, 1): 53 bits of ``random64`` as float64 (``wide``), or 24 bits of ``random`` as float32."""
    if wide:
        outputs = generator.engine.random64(count) & numpy.uint64((1 << 53) - 1)
        return outputs.astype(numpy.float64) * 2.0**-53
    outputs = generator.engine.random32(count) & numpy.uint64((1 << 24) - 1)
    return outputs.astype(numpy.float32) * numpy.float32(2.0**-24)


def uniform_between(generator: Generator, count: int, wide: bool, low: float, high: float) -> Any:
    """Uniform numbers in [low, high); rounding may return ``high`` itself."""
    numbers = uniform(generator, count, wide)
    if (low, high) == (0, 1):
        return numbers
    first, last = numbers.dtype.type(low), numbers.dtype.type(high)
    return fma(numbers, last - first, first)


def normal(generator: Generator, count: int, mean: float, std: float) -> Any:
    """Normal float64 numbers, one at a time. Box-Muller returns two; the generator caches the second."""
    kept = generator.next_double_normal_sample
    taken = [] if kept is None or not count else [kept]
    missing = count - len(taken)
    numbers = _pairs(uniform(generator, missing + missing % 2, True))
    if count:
        generator.next_double_normal_sample = float(numbers[-1]) if missing % 2 else None
    return fma(numpy.concatenate([taken, numbers[:missing]]), std, mean)


def _pairs(numbers: Any) -> Any:
    angle = 2 * math.pi * numbers[::2]
    radius = numpy.sqrt(-2 * by_c_library(math.log1p, -numbers[1::2]))
    both = radius * by_c_library(math.cos, angle), radius * by_c_library(math.sin, angle)
    return numpy.stack(both, 1).reshape(-1)


def many_normal(generator: Generator, count: int, wide: bool, mean: float, std: float, rest: bool) -> Any:
    """16 or more normal numbers, in blocks of 16. If some are left over, 16 more are sampled for the last 16 elements.

    ``rest``: draw and discard the numbers that are left over first, as PyTorch does for float32 and float64.
    """
    whole = count - count % 16
    numbers = uniform(generator, count if rest else whole, wide)
    result = numpy.empty(count, numbers.dtype)
    result[:whole] = normal_fill(numbers[:whole], mean, std)
    if whole < count:
        result[-16:] = normal_fill(uniform(generator, 16, wide), mean, std)
    return result


def exponential(generator: Generator, count: int, rate: float) -> Any:
    """Exponentially distributed float64 numbers."""
    return -1 / rate * by_c_library(math.log1p, -uniform(generator, count, True))


def cauchy(generator: Generator, count: int, median: float, sigma: float) -> Any:
    """Cauchy-distributed float64 numbers."""
    angle = math.pi * (uniform(generator, count, True) - 0.5)
    return fma(by_c_library(math.tan, angle), sigma, median)


def log_normal(generator: Generator, count: int, mean: float, std: float) -> Any:
    """Log-normal float64 numbers; they share the cache of ``normal``."""
    return by_c_library(_exp, normal(generator, count, mean, std))


def geometric(generator: Generator, count: int, p: float) -> Any:
    """Float64 numbers of trials until the first success."""
    return numpy.ceil(by_c_library(_log, uniform(generator, count, True)) / math.log1p(-p))


def _exp(number: float) -> float:
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def _log(number: float) -> float:
    return math.log(number) if number else -math.inf


def integers_between(generator: Generator, count: int, base: int, range_: int) -> Any:
    """Int64 numbers in [base, base + range)."""
    outputs = _random_source(generator, range_ >= MANY_NUMBERS)(count)
    return (outputs % numpy.uint64(range_) + numpy.uint64(base % (1 << 64))).astype(numpy.int64)


def integers(generator: Generator, count: int, range_: int, wide: bool) -> Any:
    """Uint64 numbers in [0, range), from one 32-bit word each, or from two (``wide``)."""
    return _random_source(generator, wide)(count) % numpy.uint64(range_)


def all_integers(generator: Generator, count: int) -> Any:
    """Int64 numbers from the whole range."""
    return generator.engine.random64(count).astype(numpy.int64)


def _random_source(generator: Generator, wide: bool) -> Callable[[int], Any]:
    return generator.engine.random64 if wide else generator.engine.random32
