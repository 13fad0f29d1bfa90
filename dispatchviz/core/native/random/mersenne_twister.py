"""``mt19937``, the Mersenne Twister of PyTorch's CPU generator (``aten/src/ATen/core/MT19937RNGEngine.h``), computed by
NumPy's mt19937.

Both run the same recurrence over 624 words from the same seeding, so the raw streams are equal bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy

STATE_SIZE = 624
"""The number of words in the state, which is regenerated when all have been used."""


class MersenneTwister:
    """A stream of random 32-bit outputs."""

    __slots__ = ("_fresh", "_source")

    def __init__(self, seed: int) -> None:
        self._source: Any = numpy.random.MT19937()
        seeded: Any = numpy.random.RandomState(seed & 0xFFFFFFFF).get_state(legacy=False)
        self._source.state = seeded
        self._fresh = True

    def random32(self, count: int) -> Any:
        """The next 32-bit outputs (``random()``), as an array of uint64 below 2**32."""
        self._fresh = self._fresh and count == 0
        return self._source.random_raw(count)

    def random64(self, count: int) -> Any:
        """The next 64-bit outputs (``random64()``), made of two 32-bit ones each; the first is the upper half."""
        outputs = self.random32(2 * count)
        return outputs[::2] << numpy.uint64(32) | outputs[1::2]

    @property
    def state(self) -> tuple[int, Any]:
        """The position in the 624 state words, and the words; 0 if there was no output since the seeding."""
        inside: Any = self._source.state["state"]
        return 0 if self._fresh else int(inside["pos"]), inside["key"]

    @state.setter
    def state(self, value: tuple[int, Any]) -> None:
        position, outputs = value
        self._fresh = position == 0
        inside = {"key": numpy.asarray(outputs, numpy.uint32), "pos": position or STATE_SIZE}
        self._source.state = {"bit_generator": "MT19937", "state": inside}
