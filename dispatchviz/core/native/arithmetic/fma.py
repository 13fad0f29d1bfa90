"""Fused multiply-add: ``a * b + c`` with a single rounding, as compilers make it for the processors PyTorch is built
for.

NumPy rounds twice, which in a fifth of all cases gives another last bit.
"""

from __future__ import annotations

from typing import Any

import numpy

_SPLIT = 2.0**27 + 1
"""Cuts a float64 into two halves of 26 bits (Veltkamp), whose products are exact."""


def fma(a: Any, b: Any, c: Any) -> Any:
    """For float32 or float64, whichever ``a`` is."""
    return _fma32(a, b, c) if a.dtype == numpy.float32 else _fma64(a, _wide(b), _wide(c))


def multiply_add(a: Any, b: Any, c: Any) -> Any:
    """``fma`` for arrays of real floating numbers; others are rounded as NumPy does."""
    return fma(a, b, c) if a.dtype.kind == "f" and a.dtype.itemsize >= 4 else a * b + c


def _wide(value: Any) -> Any:
    """A number, or an array of whichever library, as float64."""
    return value.astype(numpy.float64, copy=False) if hasattr(value, "astype") else numpy.float64(value)


def _fma32(a: Any, b: Any, c: Any) -> Any:
    """The product of two float32 is exact in float64."""
    return numpy.add(numpy.multiply(a, b, dtype=numpy.float64), c, dtype=numpy.float64).astype(numpy.float32)


def _fma64(a: Any, b: Any, c: Any) -> Any:
    """Product and sum with their rounding errors, which are added last (Dekker, Knuth)."""
    product, low = _two_product(a, b)
    total = product + c
    part = total - product
    exact = total + ((product - (total - part)) + (c - part) + low)
    return numpy.where(numpy.isfinite(exact), exact, total)  # the error of what is not finite is not a number


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(number: Any) -> tuple[Any, Any]:
    shifted = number * _SPLIT
    high = shifted - (shifted - number)
    return high, number - high
