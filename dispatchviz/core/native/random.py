"""Generators of random numbers (``aten/src/ATen/core/Generator.h``); ``distributions.py`` draws from them.

Each kind of device has a default generator; all start from one fixed seed, so a program draws the same numbers in
every run. Numbers are drawn by NumPy on the host, for ``cuda`` too, real or emulated: the same ones on both.
NB: in PyTorch, the CPU generator is a Mersenne twister (mt19937) and the CUDA one is Philox, so digits differ; and the
default CPU generator is seeded at random until ``manual_seed`` is called.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy

from dispatchviz.core.device import CPU, CUDA, Device, concrete

DEFAULT_SEED = 67280421310721
"""``c10::default_rng_seed_val``."""


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
        return self.manual_seed(secrets.randbits(64)).initial_seed()

    def snapshot(self) -> Any:
        """Where it is: ``restore`` goes back to it."""
        return self._source.bit_generator.state

    def restore(self, snapshot: Any) -> None:
        """Draws again what it drew after the snapshot."""
        self._source.bit_generator.state = snapshot

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
