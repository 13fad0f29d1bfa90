"""Filling tensors with random numbers (``aten/src/ATen/native/Distributions.cpp``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import DType, c_name
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import not_implemented, quiet, store
from dispatchviz.core.native.random import Generator, default_generators
from dispatchviz.core.structured import check_no_internal_overlap
from dispatchviz.core.tensor import Tensor

_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def normal_(self: Tensor, mean: float = 0, std: float = 1, generator: Generator | None = None) -> Tensor:
    """Fills with normally distributed numbers; complex ones have half the variance in each part.

    NB: in PyTorch, a complex tensor is filled through ``view_as_real``; here at once.
    """
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    check_no_internal_overlap(self)
    if not self._dtype.can_require_grad:
        raise not_implemented("normal_kernel_cpu", self._dtype)
    source, wide = _source(self, generator), self._dtype.name in ("float64", "complex128")
    if self._dtype.is_complex:
        parts = source.normal((*self._size, 2), wide) * (std / math.sqrt(2))
        return _fill(self, mean + parts[..., 0] + 1j * parts[..., 1])
    return _fill(self, _scaled(source.normal(self._size, wide), std, mean))


def uniform_(self: Tensor, from_: float = 0, to: float = 1, generator: Generator | None = None) -> Tensor:
    """Fills with numbers from [from, to)."""
    if not self._dtype.can_require_grad:
        raise not_implemented("check_uniform_bounds", self._dtype)
    _check_bounds(self, from_, to)
    check_no_internal_overlap(self)
    source, wide = _source(self, generator), self._dtype.name in ("float64", "complex128")
    if self._dtype.is_complex:
        parts = source.uniform((*self._size, 2), wide)
        return _fill(self, parts[..., 0] + 1j * parts[..., 1])
    return _fill(self, _scaled(_cut(source.uniform(self._size, wide), self._dtype), to - from_, from_))


def normal_meta_(self: Tensor, mean: float = 0, std: float = 1, generator: Generator | None = None) -> Tensor:
    """There is nothing to fill."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    return self


def uniform_meta_(self: Tensor, from_: float = 0, to: float = 1, generator: Generator | None = None) -> Tensor:
    """There is nothing to fill."""
    return self


def _check_bounds(self: Tensor, low: float, high: float) -> None:
    largest = _LARGEST.get(self._dtype.name, math.inf)
    for name, bound in (("from", low), ("to", high)):
        if not abs(bound) <= largest:
            raise RuntimeError(f"{name} is out of bounds for {c_name(self._dtype)}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{self._dtype.legacy}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def _source(self: Tensor, generator: Generator | None) -> Generator:
    """RuntimeError if a generator is for another kind of device."""
    if generator is None:
        return default_generators[self._device.type]
    if generator.device.type != self._device.type:
        raise RuntimeError(
            f"Expected a '{self._device.type}' device type for generator but found '{generator.device.type}'"
        )
    return generator


_DIGITS = {"float16": 11, "bfloat16": 8}


def _cut(numbers: Any, dtype: DType) -> Any:
    """Numbers from [0, 1) with as many bits as the dtype has: rounded up, one could be 1."""
    digits = _DIGITS.get(dtype.name)
    return numbers if digits is None else array_module("cpu").floor(numbers * 2.0**digits) * 2.0**-digits


def _scaled(numbers: Any, factor: float, shift: float) -> Any:
    return numbers if (factor, shift) == (1, 0) else quiet.run(lambda: numbers * factor + shift)


def _fill(self: Tensor, numbers: Any) -> Tensor:
    store(self, array_module(self._device.type).asarray(numbers))
    return self


def bernoulli__float(self: Tensor, p: float = 0.5, generator: Generator | None = None) -> Tensor:
    """1 with probability p, else 0."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if self._array is None or 0 in self._size:
        return self
    drawn = _source(self, generator).uniform(self._size, False)
    return _fill(self, drawn < p)


def bernoulli_p(self: Tensor, p: float, generator: Generator | None = None) -> Tensor:
    """A new tensor of the shape of self, filled so."""
    result = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    return ops.bernoulli__float.call(result, p, generator)
