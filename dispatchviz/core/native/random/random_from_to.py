"""``random_``: random integers in place (``Distributions.cpp``, ``DistributionTemplates.h``)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.call.structured import check_no_internal_overlap
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.native.random import distributions_helper
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.uniform_normal import MAXIMUM, fill, generator_of
from dispatchviz.core.tensor.dtype import DType, type_meta_name
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.warning import warn

_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""The number of bits of a mantissa; integers up to ``2**digits`` are exact."""
_INT64_LOWEST = -(1 << 63)


def random_(self: Tensor, generator: Generator | None) -> Tensor:
    """Fill with integers from 0 to the largest one that the dtype holds exactly."""
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    if self._dtype.is_complex:
        raise not_implemented("random_kernel_cpu", self._dtype)
    range_ = 2 if self._dtype.name == "bool" else _max_integer(self._dtype) + 1
    wide = self._dtype.name in ("int64", "float64")
    return fill(self, distributions_helper.integers(generator_of(self, generator), numel(self._size), range_, wide))


def random__to(self: Tensor, to: int, generator: Generator | None) -> Tensor:
    """Fill with integers from [0, to)."""
    return random__from(self, 0, to, generator)


def random__from(self: Tensor, from_: int, to: int | None, generator: Generator | None) -> Tensor:
    """Fill with integers from [from, to), by default up to the maximum of the dtype. Raise RuntimeError for bounds that
    the dtype cannot hold.
    """
    check_no_internal_overlap(self)
    if to is None and from_ == _INT64_LOWEST:
        return _any_integers(self, generator)
    if to is None:
        last = _max_integer(self._dtype)
        from_ = _next_above(self._dtype, from_)
        _check_casted(
            self._dtype, from_, last, f"than or equal to 'to_inc' casted to dtype, but got from={from_} > to_inc"
        )
    else:
        if from_ >= to:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={from_} >= to={to}")
        from_, to = _next_above(self._dtype, from_), _next_below(self._dtype, to)
        _check_casted(self._dtype, from_, to, f"than 'to' casted to dtype, but got from={from_} >= to")
        last = to - 1
    _check_in_range(self._dtype, from_, last)
    if not numel(self._size):
        return self
    samples = distributions_helper.integers_between(
        generator_of(self, generator), numel(self._size), from_, last - from_ + 1
    )
    return fill(self, samples)


def random_meta_(self: Tensor, *bounds_and_generator: Any) -> Tensor:
    """No-op: meta tensors have no data."""
    return self


def _any_integers(self: Tensor, generator: Generator | None) -> Tensor:
    if not numel(self._size):
        return self
    if self._dtype.name not in ("int64", "float64", "float32", "bfloat16"):
        raise RuntimeError(
            "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
            if self._dtype.name in ("uint8", "int8", "int16", "int32")
            else str(not_implemented("random_full_64_bits_range_kernel_cpu", self._dtype))
        )
    return fill(self, distributions_helper.all_integers(generator_of(self, generator), numel(self._size)))


def _max_integer(dtype: DType) -> int:
    """The largest sample: ``2**digits`` for a floating dtype."""
    if dtype.is_floating_point:
        return 1 << _DIGITS[dtype.name]
    if dtype.is_complex:
        raise RuntimeError("random_from_to_impl handles only integral, floating-point and boolean types")
    return 1 if dtype.name == "bool" else int(numpy.iinfo(dtype.numpy).max)


def _check_casted(dtype: DType, low: int, high: int, to: str) -> None:
    """Raise RuntimeError if ``low``, cast to a floating dtype, is not below ``high``.

    ``to`` is the message's text for ``high``.
    """
    if dtype.is_floating_point and low >= high:
        raise RuntimeError(f"random_ expects 'from' casted to dtype to be less {to}={high}")


def _next_above(dtype: DType, number: int) -> int:
    """The closest bound that rounding does not move below the given one (``update_from``)."""
    if not dtype.is_floating_point or (rounded := _rounded(dtype, number + 1)) >= number:
        return number
    return rounded + (1 << (abs(number + 1).bit_length() - _DIGITS[dtype.name]))


def _next_below(dtype: DType, number: int) -> int:
    """The closest bound that rounding does not reach (``update_to``)."""
    if not dtype.is_floating_point or (rounded := _rounded(dtype, number - 1)) < number:
        return number
    return rounded - (1 << (abs(number - 1).bit_length() - _DIGITS[dtype.name]))


def _rounded(dtype: DType, number: int) -> int:
    """A number cast to the dtype and back; C++ returns the lowest int64 if it does not fit."""
    value = float(numpy.int64(number).astype(dtype.numpy))
    fits = math.isfinite(value) and -(2.0**63) <= value < 2.0**63
    return int(value) if fits else _INT64_LOWEST


def _check_in_range(dtype: DType, low: int, last: int) -> None:
    """Raise RuntimeError for bounds outside of the dtype's range; warn if it cannot represent every integer between
    them.
    """
    if dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    floating = dtype.is_floating_point
    lowest: float = -MAXIMUM[dtype.name] if floating else _min_integer(dtype)
    maximum: float = MAXIMUM[dtype.name] if floating else _max_integer(dtype)
    shown = type_meta_name(dtype)
    for name, bound in (("from", low), ("to - 1", last)):
        if not lowest <= bound <= maximum:
            raise RuntimeError(f"{name} is out of bounds for {shown}")
    for name, bound in (("from", low), ("to - 1", last)) if floating else ():
        if abs(bound) > _max_integer(dtype):
            digits = _DIGITS[dtype.name]
            warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {shown} can "
                "support discrete uniform distribution only within this range. This warning will become an error in "
                "version 1.7 release, please fix the code in advance",
                "aten/src/ATen/native/DistributionTemplates.h:111",
            )


def _min_integer(dtype: DType) -> int:
    return 0 if dtype.name == "bool" else int(numpy.iinfo(dtype.numpy).min)
