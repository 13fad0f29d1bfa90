"""Steps of a long trace as sequences that cost nothing: ranges one after the other, and a list with one step more."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import overload

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.folded_steps import shown_ranges


class Ranges(Sequence[int]):
    """The numbers of ranges that follow one another."""

    def __init__(self, ranges: Iterable[range]) -> None:
        self._ranges = [each for each in ranges if each]
        self._begins = [0, *accumulate(map(len, self._ranges))]
        """How many numbers are before each range, and in all."""

    def __len__(self) -> int:
        return self._begins[-1]

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = at + len(self) if at < 0 else at
        if not 0 <= index < len(self):
            raise IndexError(at)
        number = bisect_right(self._begins, index) - 1
        return self._ranges[number][index - self._begins[number]]


class WithOne(Sequence[int]):
    """Sorted steps and one more among them."""

    def __init__(self, steps: Sequence[int], index: int, step: int) -> None:
        self._steps, self._index, self._step = steps, index, step

    def __len__(self) -> int:
        return len(self._steps) + 1

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = at + len(self) if at < 0 else at
        if index == self._index:
            return self._step
        return self._steps[index - (index > self._index)]


def shown_at_first(trace: Trace) -> Sequence[int] | None:
    """The steps outside of printing; None if that is every step."""
    shown = Ranges(shown_ranges(trace))
    return None if len(shown) == len(trace) else shown
