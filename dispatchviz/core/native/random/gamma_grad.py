"""``_standard_gamma_grad``: derivative of a gamma sample with respect to its concentration
(``aten/src/ATen/native/Distributions.h``).

It is minus the derivative of the distribution function with respect to alpha, divided by the density: a series for
small numbers, an expansion for large concentrations, and a rational approximation between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from dispatchviz.core.device.array_library import array_module, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet, store
from dispatchviz.core.native.special import special_arrays
from dispatchviz.core.tensor.dtype import float32, float64
from dispatchviz.core.tensor.tensor import Tensor


def _standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """The gradient; self holds the concentrations, ``output`` the samples."""
    result = ops.empty_memory_format.call(self._size, self._dtype, "strided", self._device, None, None)
    if self._dtype not in (float32, float64):
        raise not_implemented("_standard_gamma_grad_cpu", self._dtype)
    if result._array is not None:
        given = numpy.broadcast_arrays(on_host(self._array), on_host(output._array))
        pairs = zip(*(array.astype("float64").flat for array in given), strict=True)  # NumPy scalars can divide by 0
        found = quiet.run(lambda: [_gradient(alpha, x) for alpha, x in pairs])
        store(result, array_module(result._device.type).asarray(numpy.array(found).reshape(result._size)))
    return result


def _gradient(alpha: float, x: float) -> float:
    if x < 0.8:
        return _for_small_samples(alpha, x)
    if alpha > 8:
        return _near_mean(alpha, x) if 0.9 * alpha <= x <= 1.1 * alpha else _for_large_concentrations(alpha, x)
    u, v = math.log(x / alpha), math.log(alpha)
    terms = [a + u * (b + u * c) for a, b, c in zip(*_COEFFICIENTS, strict=True)]
    return math.exp(_cubic(terms[:4], v) / _cubic(terms[4:], v))


_COEFFICIENTS = (
    (0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1.0, 0.32668115, 0.10406089, 0.0014179084),
    (0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
    (
        0.040121004,
        -0.0065914022,
        -0.0026286047,
        -0.0013441777,
        0.017050642,
        -0.0021309326,
        0.00085092367,
        -1.5247877e-07,
    ),
)
"""The coefficients of the numerator (four) and the denominator (four), by powers of log(x / alpha)."""


def _cubic(terms: Sequence[float], v: float) -> float:
    return terms[0] + v * (terms[1] + v * (terms[2] + v * terms[3]))


def _for_small_samples(alpha: float, x: float) -> float:
    """The derivative for small numbers, by a Taylor series of the distribution function; nan becomes 0."""
    above, below = 1.0, alpha
    first, second = above / below, above / (below * below)
    for i in range(1, 6):
        above *= -x / i
        below += 1
        first += above / below
        second += above / (below * below)
    power = x**alpha
    density = x ** (alpha - 1) * math.exp(-x) if x else math.inf
    derivative = (_log(x) - _digamma(alpha)) * (power * first) - power * second
    result = -derivative / density if density else math.nan
    return 0.0 if math.isnan(result) else result


def _log(x: float) -> float:
    return math.log(x) if x else -math.inf


def _digamma(x: float) -> float:
    if not x:
        return math.inf
    found: Any = special_arrays.digamma(numpy, numpy.array([x]))
    return float(found[0])


def _near_mean(alpha: float, x: float) -> float:
    """The derivative near the mean, where the expansion for large concentrations divides by 0."""
    first = 1 + 24 * alpha * (1 + 12 * alpha)
    second = 1440 * (alpha * alpha) + 6 * x * (53 - 120 * x) - 65 * x * x / alpha + alpha * (107 + 3600 * x)
    return first * second / (1244160 * (alpha * alpha) * (alpha * alpha))


def _for_large_concentrations(alpha: float, x: float) -> float:
    """The derivative for large concentrations, by Rice's saddle point expansion."""
    root = math.sqrt(8 * alpha)
    ratio, bend = root / (alpha - x), (x - alpha - alpha * math.log(x / alpha)) ** -1.5
    both = ratio - bend if x < alpha else ratio + bend
    term = math.log(x / alpha) * both - math.sqrt(2 / alpha) * (alpha + x) / ((alpha - x) * (alpha - x))
    stirling = 1 + 1 / (12 * alpha) * (1 + 1 / (24 * alpha))
    return float(-stirling * (x * term) / root)
