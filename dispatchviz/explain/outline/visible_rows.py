"""The visible rows of an outline: a sequence of steps. Only its unfolded parts are created."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from dispatchviz.explain.outline.outline import Outline


class Segment(NamedTuple):
    """Consecutive rows of one level: some of the items in an item."""

    items: Sequence[int]
    start: int
    stop: int
    depth: int


class Row(NamedTuple):
    """A row: its item, and its place in the tree."""

    item: int
    depth: int
    unfolded: bool
    """True if its contents follow."""


class VisibleRows(Sequence[int]):
    """The steps of the rows, in order, including ``at``."""

    def __init__(self, outline: Outline, segments: Sequence[Segment], at: int) -> None:
        self._outline = outline
        self._segments = [each for each in segments if each.start < each.stop]
        self._begins = [0, *accumulate(each.stop - each.start for each in self._segments)]
        self._stray: tuple[int, int] | None = None
        """The row of a step that is in no item. This happens only in a damaged trace, whose events are not nested
        correctly.
        """
        index = bisect_left(self, at)
        if index == len(self) or self[index] != at:
            self._stray = index, at

    def __len__(self) -> int:
        return self._begins[-1] + (self._stray is not None)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        index = at + len(self) if at < 0 else at
        return self._outline.begin(self._item(index)[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VisibleRows) and self._segments == other._segments and self._stray == other._stray

    def __hash__(self) -> int:
        return hash(tuple(self._begins))

    def row(self, index: int) -> Row:
        """Return the row at an index."""
        item, depth = self._item(index)
        below = index + 1 < len(self) and self._item(index + 1)[1] > depth
        return Row(item, depth, below)

    def _item(self, index: int) -> tuple[int, int]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        if self._stray is not None and index >= self._stray[0]:
            if index == self._stray[0]:
                return self._stray[1], 0
            index -= 1
        number = bisect_right(self._begins, index) - 1
        segment = self._segments[number]
        return segment.items[segment.start + index - self._begins[number]], segment.depth
