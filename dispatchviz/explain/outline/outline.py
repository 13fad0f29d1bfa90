"""A trace as a tree of rows: lines of the program, iterations, calls, and within them the events of a level.

An item is a number. For an event it is its ``seq``. For a row of ``line_rows.py`` it is the row's number with all bits
flipped, which is negative. For consecutive registrations it is ``MANY`` plus the ``seq`` of the first. Items are nested
or disjoint ranges of steps. Nothing is stored for parts that are not unfolded.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache

from dispatchviz.core.record.events import CellsRecomputed, KernelRegistered, OperatorDefined, SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE
from dispatchviz.explain.outline.levels import steps_at
from dispatchviz.explain.outline.line_rows import LineRows, RowKind, line_rows
from dispatchviz.explain.outline.visible_rows import Segment, VisibleRows

ROOT = None
"""The item that contains all others."""

MANY = 1 << 40
"""The smallest number of an item that is several registrations."""

REGISTRATIONS = (OperatorDefined, KernelRegistered, CellsRecomputed)

SEVERAL = 3
"""The number of consecutive registrations that become one row."""


class Outline:
    """The tree of a trace at one level."""

    def __init__(self, trace: Trace, level: int, lines: LineRows | None = None) -> None:
        self.trace, self.level = trace, level
        self.lines = line_rows(trace) if lines is None else lines
        self.steps = self._without_returns(steps_at(trace, level))
        """The steps of all items: those of the level, without the lines that the program returns to."""
        self.registrations = dict(self._runs())
        """The first and last steps of consecutive registrations."""
        self._run_begins = list(self.registrations)
        self.children = lru_cache(maxsize=256)(self._children)
        """The items directly in an item, in order."""

    def at_level(self, level: int) -> Outline:
        """Return the same trace at another level."""
        return Outline(self.trace, level, self.lines)

    # -- one item ------------------------------------------------------------------------------------------------------

    def begin(self, item: int) -> int:
        """Return the first step of an item, which represents it."""
        return item % MANY if item >= 0 else self.lines.begins[~item]

    def end(self, item: int) -> int:
        """Return the last step of an item."""
        if item >= MANY:
            return self.trace.ends[self.registrations[item - MANY]]
        return self.trace.ends[item] if item >= 0 else self.lines.ends[~item]

    def kind(self, item: int) -> RowKind | None:
        """Return the kind of an item in the user's program, or None for an event."""
        return None if item >= 0 else self.lines.kind(~item)

    def is_merged(self, item: int) -> bool:
        """Return whether an unfolded item has no row of its own, because the first item in it begins at the same
        step.
        """
        return item >= MANY or (item < 0 and self.lines.kinds[~item] != RowKind.STATEMENT)

    def at(self, step: int) -> tuple[int, ...]:
        """Return the items that begin at a step, outermost first."""
        rows = [~row for row in self.lines.at(step) if self.lines.shown[row]]
        if rows:
            return tuple(rows)
        return (MANY + step, step) if step in self.registrations else (step,)

    def path(self, step: int) -> tuple[int, ...]:
        """Return the items that contain a step and begin before it, outermost first."""
        rows = [~row for row in self.lines.around(step) if self.lines.shown[row] and self.lines.begins[row] < step]
        events = [event for event in self.trace.columns.ancestors(step) if self._is_item(event)]
        several = [MANY + run for run in self._run_around(step)]
        return tuple(sorted(rows + events + several, key=lambda item: (self.begin(item), -item)))

    def around(self, item: int) -> int | None:
        """Return the item around an item."""
        step = self.begin(item)
        same = self.at(step)
        if item in same and (before := same.index(item)):
            return same[before - 1]
        path = self.path(step)
        return path[-1] if path else ROOT

    def before(self, item: int) -> int | None:
        """Return the item before an item on its level. For the first one, the item around it."""
        around = self.around(item)
        while around is not None and self.begin(around) == self.begin(item):
            item, around = around, self.around(around)
        items = self.children(around)
        at = bisect_left(items, self.begin(item), key=self.begin)
        return items[at - 1] if at else around

    def has_children(self, item: int) -> bool:
        """Return whether there is anything to unfold."""
        if self.is_merged(item):
            return True
        after = bisect_right(self.steps, self.begin(item))
        return after < len(self.steps) and self.steps[after] <= self.end(item)

    # -- all of them ---------------------------------------------------------------------------------------------------

    def rows(self, opened: Set[int], at: int) -> VisibleRows:
        """Return the visible rows for the unfolded items. They include the rows that contain step ``at``."""
        path = self.path(at)
        unfolded: dict[int | None, set[int]] = {}
        for item in {*opened, *path}:
            unfolded.setdefault(self.around(item), set()).add(item)
        extra = None if self._is_listed(at) else at
        return VisibleRows(self, tuple(self._segments(ROOT, 0, unfolded, path[-1] if path else ROOT, extra)), at)

    def _segments(
        self, item: int | None, depth: int, unfolded: dict[int | None, set[int]], last: int | None, extra: int | None
    ) -> Iterator[Segment]:
        """Yield the rows in an item. ``extra`` is a step outside all items that is shown in the item ``last``."""
        items = self.children(item)
        if extra is not None and item == last:
            items = array("q", sorted((*items, extra), key=self.begin))
        begin = 0
        for at in sorted(at for each in unfolded.get(item, ()) if (at := self._index(items, each)) >= 0):
            merged = self.is_merged(items[at])
            yield Segment(items, begin, at if merged else at + 1, depth)
            yield from self._segments(items[at], depth if merged else depth + 1, unfolded, last, extra)
            begin = at + 1
        yield Segment(items, begin, len(items), depth)

    def _index(self, items: Sequence[int], item: int) -> int:
        at = bisect_left(items, self.begin(item), key=self.begin)
        return at if at < len(items) and items[at] == item else -1

    def _children(self, item: int | None) -> Sequence[int]:
        first, last = (0, len(self.trace) - 1) if item is None else (self.begin(item) + 1, self.end(item))
        found = array("q")
        if item is not None and self.is_merged(item):
            inner = self._within(item)
            found.append(inner)
            first = self.end(inner) + 1
        at = bisect_left(self.steps, first)
        while at < len(self.steps) and self.steps[at] <= last:
            outermost = self.at(self.steps[at])[0]
            found.append(outermost)
            at = bisect_left(self.steps, self.end(outermost) + 1, at + 1)
        return found

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of consecutive registrations, from the first to the last."""
        parents, run = self.trace.columns.parents, array("i")
        for step in (*sorted(self.trace.steps_of(*REGISTRATIONS)), NONE):
            if run and (step == NONE or parents[step] != parents[run[0]] or not self._follows(run[-1], step)):
                if len(run) >= SEVERAL:
                    yield run[0], run[-1]
                del run[:]
            run.append(step)

    def _follows(self, step: int, other: int) -> bool:
        """Return whether a step of the list directly follows another."""
        return bisect_left(self.steps, other) == bisect_right(self.steps, self.trace.ends[step])

    def _run_around(self, step: int) -> Iterator[int]:
        at = bisect_left(self._run_begins, step) - 1
        if at >= 0 and self.trace.ends[self.registrations[begin := self._run_begins[at]]] >= step:
            yield begin

    def _within(self, item: int) -> int:
        """Return the first item in an iteration or a call."""
        same = self.at(self.begin(item))
        return same[same.index(item) + 1]

    def _is_item(self, seq: int) -> bool:
        """Return whether an event is an item itself. A line that begins a row is that row."""
        return self._is_listed(seq) and not self.lines.at(seq)

    def _is_listed(self, step: int) -> bool:
        at = bisect_left(self.steps, step)
        return at < len(self.steps) and self.steps[at] == step

    def _without_returns(self, steps: Sequence[int]) -> Sequence[int]:
        """Remove the lines that the program returns to, which are in the row of the line. The level of all steps shows
        them.
        """
        if isinstance(steps, range):
            return steps
        begun = set(self.lines.begins)
        kept, first = array("i"), 0
        for again in (seq for seq in self.trace.steps_of(SourceLine) if seq not in begun):
            at = bisect_left(steps, again, first)
            kept.extend(steps[first:at])
            first = bisect_right(steps, again, at)
        kept.extend(steps[first:])
        return kept
