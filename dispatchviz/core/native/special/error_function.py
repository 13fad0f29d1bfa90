"""``erf`` of arrays, the error function, which the array libraries lack.

PyTorch uses that of the C library and of Sleef.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from dispatchviz.core.device.array_library import array_module

_FAR = 4.0
"""The number from which the error function is 1 in single precision."""

_DEGREE = 30
"""The degree at which the polynomial is accurate to 14 digits."""


def error_function(kind: str) -> Callable[[Any], Any]:
    """A function for erf of an array: double element by element, single by a polynomial in double that is rounded
    once.
    """
    xp = array_module(kind)

    def erf(values: Any) -> Any:
        if values.dtype.itemsize > 4:
            return xp.asarray([math.erf(x) for x in values.reshape(-1).tolist()], values.dtype).reshape(values.shape)
        near = xp.clip(values.astype("float64"), -_FAR, _FAR)
        return (near * _quotient(near * near)).astype(values.dtype)

    return erf


def _quotient(squares: Any) -> Any:
    """erf(x) / x by x squared, up to the square of ``_FAR``: a sum of Chebyshev polynomials by Clenshaw's
    recurrence.
    """
    index = squares * (2 / _FAR**2) - 1
    double, last, current = 2 * index, 0.0, 0.0
    for coefficient in reversed(_coefficients()[1:]):
        last, current = current, double * current - last + coefficient
    return index * current - last + _coefficients()[0]


@cache
def _coefficients() -> tuple[float, ...]:
    """The coefficients of the Chebyshev polynomials, from a discrete cosine transform of values at Chebyshev nodes."""
    count = _DEGREE + 1
    angles = [math.pi * (i + 0.5) / count for i in range(count)]
    roots = [_FAR * math.sqrt((math.cos(angle) + 1) / 2) for angle in angles]
    values = [math.erf(x) / x for x in roots]
    sums = [math.fsum(v * math.cos(k * a) for v, a in zip(values, angles, strict=True)) for k in range(count)]
    return (sums[0] / count, *(2 * total / count for total in sums[1:]))
