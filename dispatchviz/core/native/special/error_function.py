"""``erf`` of arrays, the error function, which the array libraries lack (that of the C library and of Sleef, in
PyTorch)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from dispatchviz.core.device.array_library import array_module

_FAR = 4.0
"""From here on the error function is 1 in single precision."""

_DEGREE = 30
"""At which the polynomial is right to 14 digits."""


def error_function(kind: str) -> Callable[[Any], Any]:
    """erf of an array: of doubles element by element; of singles a polynomial in doubles, rounded once."""
    xp = array_module(kind)

    def erf(values: Any) -> Any:
        if values.dtype.itemsize > 4:
            return xp.asarray([math.erf(x) for x in values.reshape(-1).tolist()], values.dtype).reshape(values.shape)
        near = xp.clip(values.astype("float64"), -_FAR, _FAR)
        return (near * _quotient(near * near)).astype(values.dtype)

    return erf


def _quotient(squares: Any) -> Any:
    """erf(x) / x for x squared up to ``_FAR`` squared: a sum of Chebyshev polynomials by Clenshaw's rule."""
    index = squares * (2 / _FAR**2) - 1
    double, last, current = 2 * index, 0.0, 0.0
    for coefficient in reversed(_coefficients()[1:]):
        last, current = current, double * current - last + coefficient
    return index * current - last + _coefficients()[0]


@cache
def _coefficients() -> tuple[float, ...]:
    """Of the Chebyshev polynomials, by the discrete cosine transform of values at Chebyshev's points."""
    count = _DEGREE + 1
    angles = [math.pi * (i + 0.5) / count for i in range(count)]
    roots = [_FAR * math.sqrt((math.cos(angle) + 1) / 2) for angle in angles]
    values = [math.erf(x) / x for x in roots]
    sums = [math.fsum(v * math.cos(k * a) for v, a in zip(values, angles, strict=True)) for k in range(count)]
    return (sums[0] / count, *(2 * total / count for total in sums[1:]))
