"""The moves between steps, forward and back. A filter or the level of detail hides steps from them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Self

from msgspec.structs import replace

from dispatchviz.core.record.events import SourceLine
from dispatchviz.views.cursor.cursor_state import CursorState, next_stop

REMEMBERED = 200
"""The number of moves that can be undone."""


class SteppingCursor(CursorState, frozen=True):
    """A cursor state with the basic moves from which all others are built."""

    def goto(self, at: int) -> Self:
        """Go to a step by its number, even if it is hidden. A number outside the trace goes to the nearer end."""
        return self._noted(self._at(self._inside(at)))

    def toward(self, at: int) -> Self:
        """Go to a step, or if a filter hides it, to the next visible one in that direction."""
        return self._noted(self._step(at))

    def into(self) -> Self:
        return self._step(self.at + 1)

    def into_back(self) -> Self:
        return self._step(self.at - 1)

    def over(self) -> Self:
        if self.tree is None:
            return self.toward(self.trace.ends[self.at] + 1)
        return self._behind(self.row.item)

    def over_back(self) -> Self:
        if self.tree is None:
            return self.toward(self._before_on_level())
        before = self.tree.before(self.row.item)
        return self if before is None else self.toward(self.tree.begin(before))

    def out(self) -> Self:
        if self.tree is None:
            around = self._parent(self.at)
            return self.toward(self.trace.ends[around] + 1 if around >= 0 else self.last_step)
        item = self.tree.around(self.row.item)
        return self._to_end() if item is None else self._behind(item)

    def out_back(self) -> Self:
        if self.tree is None:
            return self.toward(self._parent(self.at))
        item = self.tree.around(self.row.item)
        while item is not None and self.tree.begin(item) == self.at:
            item = self.tree.around(item)
        return self if item is None else self.toward(self.tree.begin(item))

    def _behind(self, item: int) -> Self:
        """Go to the step after an item; stay if there is none."""
        assert self.tree is not None
        after = bisect_right(self.tree.steps, self.tree.end(item))
        return self.toward(self.tree.steps[after]) if after < len(self.tree.steps) else self

    def _before_on_level(self) -> int:
        depths = self.trace.depths
        before = self.at - 1
        while before > 0 and depths[before] > depths[self.at]:
            before = self._parent(before)
        return before

    def resume(self) -> Self:
        stop = next_stop(self)
        return self._to_end() if stop is None else self._stopped(stop)

    def resume_back(self) -> Self:
        stop = next_stop(self, forward=False)
        return self.toward(0) if stop is None else self._stopped(stop)

    def _to_end(self) -> Self:
        """Go to the last step, even if it is not listed at this level. With a filter, go to the last visible step."""
        return self.toward(self.last_step) if self.tree is None else self.goto(self.last_step)

    def _stopped(self, stop: int) -> Self:
        """Go to a stop. If it is a line that the filter hides, search on from there."""
        is_line = isinstance(self.trace[stop], SourceLine) and not self.breakpoints and stop not in self.marks
        return self.toward(stop) if is_line else self.goto(stop)

    def _noted(self, after: Self) -> Self:
        return self if after is self else replace(after, past=(*self.past, self.at)[-REMEMBERED:], undone=())

    def _step(self, to: int) -> Self:
        return self._at(self._let_through(self._inside(to)))

    def _at(self, to: int) -> Self:
        if to == self.at:
            return self if self.stage is None else replace(self, stage=None)
        return replace(self, at=to, came_from=self.at, below=(), follows=False, stage=None)

    def _let_through(self, to: int) -> int:
        """The next visible step in the direction of a move, or the last one before its end."""
        if self.shown is None or not len(self.shown):
            return to
        if to >= self.at:
            return max(self.shown[min(bisect_left(self.shown, to), len(self.shown) - 1)], self.at)
        return min(self.shown[max(bisect_right(self.shown, to) - 1, 0)], self.at)

    def _inside(self, at: int) -> int:
        return max(0, min(at, self.last_step))

    def _parent(self, at: int) -> int:
        return self.trace.columns.parents[at]
