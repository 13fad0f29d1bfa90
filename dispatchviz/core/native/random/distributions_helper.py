"""Uniform, normal, exponential, Cauchy and integer samples from random 32-bit outputs of a generator
(``aten/src/ATen/core/DistributionsHelper.h``).

Each function takes a generator and a count and returns a flat NumPy array, in the order in which PyTorch's serial CPU
loops draw. The C library's functions are called, not NumPy's, so that every bit is PyTorch's.
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
"""From this range on an integer takes 64 bits, so that the remainder is skewed by little."""


def uniform(generator: Generator, count: int, wide: bool) -> Any:
    """From [0, 1): 53 bits of ``random64`` as float64 (wide), or 24 bits of ``random`` as float32."""
    if wide:
        outputs = generator.engine.random64(count) & numpy.uint64((1 << 53) - 1)
        return outputs.astype(numpy.float64) * 2.0**-53
    outputs = generator.engine.random32(count) & numpy.uint64((1 << 24) - 1)
    return outputs.astype(numpy.float32) * numpy.float32(2.0**-24)


def uniform_between(generator: Generator, count: int, wide: bool, low: float, high: float) -> Any:
    """From [low, high); rounding may give high itself."""
    numbers = uniform(generator, count, wide)
    if (low, high) == (0, 1):
        return numbers
    first, last = numbers.dtype.type(low), numbers.dtype.type(high)
    return fma(numbers, last - first, first)


def normal(generator: Generator, count: int, mean: float, std: float) -> Any:
    """Float64 numbers, one at a time: Box-Muller makes two, the second is cached in the generator."""
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
    """16 or more numbers: blocks of 16. If some are left over, 16 more are sampled for the last 16 elements.

    ``rest``: those left over are drawn first and thrown away, as float32 and float64 do it.
    """
    whole = count - count % 16
    numbers = uniform(generator, count if rest else whole, wide)
    result = numpy.empty(count, numbers.dtype)
    result[:whole] = normal_fill(numbers[:whole], mean, std)
    if whole < count:
        result[-16:] = normal_fill(uniform(generator, 16, wide), mean, std)
    return result


def exponential(generator: Generator, count: int, rate: float) -> Any:
    """Float64 numbers."""
    return -1 / rate * by_c_library(math.log1p, -uniform(generator, count, True))


def cauchy(generator: Generator, count: int, median: float, sigma: float) -> Any:
    """Float64 numbers."""
    angle = math.pi * (uniform(generator, count, True) - 0.5)
    return fma(by_c_library(math.tan, angle), sigma, median)


def log_normal(generator: Generator, count: int, mean: float, std: float) -> Any:
    """Float64 numbers; the normal ones share the cache of ``normal``."""
    return by_c_library(_exp, normal(generator, count, mean, std))


def geometric(generator: Generator, count: int, p: float) -> Any:
    """Float64 numbers: how many tries until the first success."""
    return numpy.ceil(by_c_library(_log, uniform(generator, count, True)) / math.log1p(-p))


def _exp(number: float) -> float:
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def _log(number: float) -> float:
    return math.log(number) if number else -math.inf


def integers_between(generator: Generator, count: int, base: int, range_: int) -> Any:
    """Int64 numbers from [base, base + range)."""
    outputs = _random_source(generator, range_ >= MANY_NUMBERS)(count)
    return (outputs % numpy.uint64(range_) + numpy.uint64(base % (1 << 64))).astype(numpy.int64)


def integers(generator: Generator, count: int, range_: int, wide: bool) -> Any:
    """Uint64 numbers from [0, range), of one word each or of two (wide)."""
    return _random_source(generator, wide)(count) % numpy.uint64(range_)


def all_integers(generator: Generator, count: int) -> Any:
    """Int64 numbers, any."""
    return generator.engine.random64(count).astype(numpy.int64)


def _random_source(generator: Generator, wide: bool) -> Callable[[int], Any]:
    return generator.engine.random64 if wide else generator.engine.random32
