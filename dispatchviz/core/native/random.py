"""Random numbers: generators, and the operators that draw (``aten/src/ATen/native/Distributions.cpp``).

Each kind of device has a default generator; all start from one fixed seed, so a program draws the same numbers in
every run. Numbers are drawn by NumPy on the host, for ``cuda`` too, real or emulated: the same ones on both.
NB: in PyTorch, the CPU generator is a Mersenne twister (mt19937) and the CUDA one is Philox, so digits differ; and the
default CPU generator is seeded at random until ``manual_seed`` is called.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.backend import array_module
from dispatchviz.core.device import CPU, CUDA, Device, concrete
from dispatchviz.core.native.iterator import not_implemented, quiet, store
from dispatchviz.core.native.scalars import c_name
from dispatchviz.core.structured import check_no_internal_overlap
from dispatchviz.core.tensor import Tensor

DEFAULT_SEED = 67280421310721
"""``c10::default_rng_seed_val``."""

_LARGEST = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}


class Generator:
    """A source of random numbers for one device (``torch.Generator``)."""

    __slots__ = ("_seed", "_source", "device")

    def __init__(self, device: Device = CPU) -> None:
        self.device = concrete(device)
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Starts over from a seed; a negative one counts from 2**64. RuntimeError if it has more than 64 bits."""
        if not -(1 << 63) <= seed < 1 << 64:
            raise RuntimeError("Overflow when unpacking long long")
        self._seed = seed % (1 << 64)
        self._source = numpy.random.default_rng(self._seed)
        return self

    def initial_seed(self) -> int:
        """The seed that it started from."""
        return self._seed

    def seed(self) -> int:
        """Starts over from a seed that nobody knows; returns it."""
        return self.manual_seed(int(numpy.random.SeedSequence().entropy) % (1 << 64)).initial_seed()

    def normal(self, size: tuple[int, ...], wide: bool) -> Any:
        """Standard normal numbers as a NumPy array of float64 (wide) or float32."""
        return self._source.standard_normal(size, numpy.float64 if wide else numpy.float32)

    def uniform(self, size: tuple[int, ...], wide: bool) -> Any:
        """Numbers from [0, 1) as a NumPy array of float64 (wide) or float32."""
        return self._source.random(size, numpy.float64 if wide else numpy.float32)


default_generators = {"cpu": Generator(CPU), "cuda": Generator(CUDA)}


def manual_seed(seed: int) -> Generator:
    """Seeds the default generators of all devices; returns the CPU's."""
    for generator in default_generators.values():
        generator.manual_seed(seed)
    return default_generators["cpu"]


# -- operators ---------------------------------------------------------------------------------------------------------


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
    return _fill(self, _scaled(source.uniform(self._size, wide), to - from_, from_))


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
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
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


def _scaled(numbers: Any, factor: float, shift: float) -> Any:
    return numbers if (factor, shift) == (1, 0) else quiet.run(lambda: numbers * factor + shift)


def _fill(self: Tensor, numbers: Any) -> Tensor:
    store(self, array_module(self._device.type).asarray(numbers))
    return self
