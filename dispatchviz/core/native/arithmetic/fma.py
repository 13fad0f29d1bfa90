"""Fused multiply-add: ``a * b + c`` with a single rounding, as in the compiled code of PyTorch.

NumPy rounds twice, which changes the last bit of one result in five.
"""

from __future__ import annotations

from typing import Any

import numpy

_SPLIT = 2.0**27 + 1
"""The factor that splits a float64 into two halves of 26 bits, whose products are exact (Veltkamp)."""


def fma(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once, in the dtype of ``a``: float32 or float64."""
    return _fma32(a, b, c) if a.dtype == numpy.float32 else _fma64(a, _wide(b), _wide(c))


def multiply_add(a: Any, b: Any, c: Any) -> Any:
    """``fma`` for real floating arrays; other dtypes are rounded as NumPy does."""
    return fma(a, b, c) if a.dtype.kind == "f" and a.dtype.itemsize >= 4 else a * b + c


def _wide(value: Any) -> Any:
    """A number or an array, of any array library, as float64."""
    return value.astype(numpy.float64, copy=False) if hasattr(value, "astype") else numpy.float64(value)


def _fma32(a: Any, b: Any, c: Any) -> Any:
    """``fma`` of float32: the product of two float32 numbers is exact in float64."""
    return numpy.add(numpy.multiply(a, b, dtype=numpy.float64), c, dtype=numpy.float64).astype(numpy.float32)


def _fma64(a: Any, b: Any, c: Any) -> Any:
    """``fma`` of float64: the rounding errors of product and sum are added last (Dekker, Knuth)."""
    product, low = _two_product(a, b)
    total = product + c
    part = total - product
    exact = total + ((product - (total - part)) + (c - part) + low)
    return numpy.where(numpy.isfinite(exact), exact, total)  # the rounding error of an infinite sum is nan


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(number: Any) -> tuple[Any, Any]:
    shifted = number * _SPLIT
    high = shifted - (shifted - number)
    return high, number - high
