"""The mask of an operator: the functionality bits of a call's key set that remain without the fallthrough keys.

This module mirrors the ``nonFallthroughKeys`` of ``ATen/core/dispatch/DispatchKeyExtractor.h``: one mask, and a copy of
it per backend in case a key falls through for some backends only.
"""

from __future__ import annotations

from dispatchviz.core.keys.key_set import FULL
from dispatchviz.core.keys.keys import BACKEND_MASK, CUSTOMIZABLE, NUM_BACKENDS, DispatchKey


class FallthroughMasks:
    """The masks of one operator. They start with every bit set; only functionality bits are ever cleared."""

    __slots__ = ("backends", "differ", "single")

    def __init__(self) -> None:
        self.single = FULL
        self.backends = [FULL] * NUM_BACKENDS
        self.differ = False
        """True if the copies are not all equal. Then they are used instead of the single mask."""

    def update(self, key: DispatchKey, falls_through: bool) -> None:
        """Update the masks after the entry of a runtime key has been computed (``setOperatorHasFallthroughForKey``)."""
        functionality = key.functionality
        bit = functionality.bits
        before, self.single = self.single, _changed(self.single, bit, falls_through)
        if functionality in CUSTOMIZABLE:
            own = key.backend - 1
            self.backends[own] = _changed(self.backends[own], bit, falls_through)
            self.differ = len(set(self.backends)) > 1
        elif self.single != before:  # all copies have the same bit
            self.backends = [_changed(mask, bit, falls_through) for mask in self.backends]

    def of(self, ks: int) -> int:
        """The mask of a call with a key set, before or after masking: the copy of its highest backend if the copies
        differ.
        """
        if not self.differ:
            return self.single
        return self.backends[((ks & BACKEND_MASK) >> 1).bit_length()]


def _changed(mask: int, bit: int, clear: bool) -> int:
    return mask & ~bit if clear else mask | bit
