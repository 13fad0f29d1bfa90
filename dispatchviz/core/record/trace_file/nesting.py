"""The nesting of events: depth, end, next sibling and line of each, computed from their parents.

A growing trace is computed in parts. Each part carries over the events that later ones may be within: those that ended
last, with all events around them, the last child of each and its last line.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dispatchviz.core.record.trace_file.columns import NONE

Column = NDArray[np.int32]
Places = NDArray[np.intp]
"""Indices, of the type that NumPy looks up without converting it."""
Mask = NDArray[np.bool_]

CARRIED = 8192
"""The number of containers that are carried over. An event within another one is rare: a thread would have to wait
within it while other threads begin that many.
"""


class Nested(Struct, frozen=True):
    """The columns of some events."""

    depths: Column
    ends: Column
    siblings: Column
    lines: Column


class Changes(Struct, frozen=True):
    """The columns of earlier events that later events changed."""

    steps: Column
    ends: Column
    siblings: Column


def _no_numbers() -> Column:
    return np.empty(0, np.int32)


class Nesting:
    """The containers for the next events."""

    def __init__(self, whole: bool = True) -> None:
        self.whole = whole
        """True if the parent of every event was among those carried over. Otherwise the columns of the nesting are
        wrong.
        """
        self.steps = _no_numbers()
        """The ``seq`` of each event that is carried over, in order."""
        self.parents, self.ends, self.siblings, self.lines = (_no_numbers() for _ in range(4))
        self.is_line = self.may_hold = np.empty(0, np.bool_)

    def with_events(
        self, first: int, parents: Column, is_line: Mask, may_hold: Mask
    ) -> tuple[Nested, Changes, Nesting]:
        """Return the columns of the events from ``first`` on, their changes to earlier events, and the nesting for the
        next events.

        ``parents`` are their parents. ``may_hold`` marks the events that others may be within.
        """
        before = len(self.steps)
        steps = np.concatenate((self.steps, np.arange(first, first + len(parents), dtype=np.int32)))
        all_parents = np.concatenate((self.parents, parents))
        is_line, may_hold = np.concatenate((self.is_line, is_line)), np.concatenate((self.may_hold, may_hold))
        local, found = _places(steps, all_parents, first, before)
        now = _nested(steps, local, is_line, self.lines)
        depths, ends, siblings, lines = now.depths, now.ends, now.siblings, now.lines
        ends[:before] = np.maximum(ends[:before], self.ends)
        new = self.siblings == NONE  # a sibling that is already known is nearer
        siblings[:before] = np.where(new & (siblings[:before] >= first), siblings[:before], self.siblings)
        changed = np.flatnonzero((ends[:before] != self.ends) | (siblings[:before] != self.siblings))
        changes = Changes(steps[changed], ends[changed], siblings[changed])
        following = Nesting(self.whole and found)
        kept = _carried(steps, local, ends, depths, is_line, may_hold)
        following.steps, following.parents, following.ends = steps[kept], all_parents[kept], ends[kept]
        following.siblings, following.lines = siblings[kept], lines[kept]
        following.is_line, following.may_hold = is_line[kept], may_hold[kept]
        return Nested(depths[before:], ends[before:], siblings[before:], lines[before:]), changes, following


def nested(parents: Column, is_line: Mask) -> Nested:
    """The columns of a whole trace."""
    return Nesting().with_events(0, parents, is_line, np.zeros(len(parents), np.bool_))[0]


def in_order(numbers: Column | Places) -> Places:
    """The indices that sort numbers; equal ones stay in their order. NumPy sorts 16 bits in a few passes."""
    low = numbers.min(initial=0)
    if len(numbers) and numbers.max() - low < 1 << 16:
        return np.argsort((numbers - low).astype(np.uint16), kind="stable")
    return np.argsort(numbers, kind="stable")


def _places(steps: Column, parents: Column, first: int, before: int) -> tuple[Places, bool]:
    """The index of each parent among the steps, and whether all are there. The steps from ``first`` on, which begin at
    index ``before``, are without gaps, so only earlier ones are searched.
    """
    places = parents.astype(np.intp) - (first - before)
    earlier = np.flatnonzero(parents < first)
    found = np.searchsorted(steps[:before], parents[earlier])
    there = np.zeros(len(earlier), np.bool_)
    if before:
        there = steps[np.minimum(found, before - 1)] == parents[earlier]
    places[earlier] = np.where(there, found, NONE)
    return places, bool((there | (parents[earlier] == NONE)).all())


def _carried(steps: Column, parents: Places, ends: Column, depths: Column, is_line: Mask, may_hold: Mask) -> Places:
    """The indices of the events to carry over. An event around another one ends with it or later, and is less deep."""
    holding = np.flatnonzero(may_hold | (ends > steps))
    holding = holding[in_order(depths[holding])]
    kept = holding[in_order(-ends[holding])[:CARRIED]]
    there = np.flatnonzero(parents != NONE)
    last_child, last_line = np.full(len(steps), NONE), np.full(len(steps), NONE)
    last_child[parents[there]] = there  # the last of several assignments to one place wins
    there = there[is_line[there]]
    last_line[parents[there]] = there
    carried = np.zeros(len(steps), np.bool_)
    carried[kept] = True
    for inner in (last_child[kept], last_line[kept]):
        carried[inner[inner != NONE]] = True
    return np.flatnonzero(carried)


def _nested(steps: Column, parents: Places, is_line: Mask, known: Column) -> Nested:
    """The columns of the events ``steps``. ``known`` has the lines of the first of them."""
    count, levels = len(steps), list(_levels(parents))
    places = np.arange(count)
    depths, siblings = np.zeros(count, np.int32), np.full(count, NONE, np.int32)
    lines = np.where(is_line, steps, np.int32(NONE))
    lines[: len(known)] = known
    for depth, (outer, counts, begins, inner) in enumerate(levels, 1):
        depths[inner] = depth
        own = steps[inner]
        siblings[inner[:-1]] = own[1:]
        siblings[inner[begins[1:] - 1]] = NONE
        last = np.maximum.accumulate(np.where(is_line[inner], places[: len(inner)], NONE))
        lines[inner] = np.where(last >= begins.repeat(counts), own[last], lines[outer].repeat(counts))
        lines[: len(known)] = known
    ends = np.arange(count, dtype=np.int32)
    for outer, _, begins, inner in reversed(levels):  # those of the deepest events are known first
        ends[outer] = np.maximum(outer, np.maximum.reduceat(ends[inner], begins))
    return Nested(depths, steps[ends], siblings, lines)


_Level = tuple[Places, Places, Places, Places]
"""The events at one depth that others are within, how many each has, the place of the first of these in the last array,
and these: the ones within the first event, then those within the second, and so on.
"""


def _levels(parents: Places) -> Iterator[_Level]:
    """Yield the events level by level, outermost first."""
    families, counts = in_order(parents), np.bincount(parents + 1, minlength=len(parents) + 1)
    places, firsts = np.arange(len(parents)), counts.cumsum()
    outer = families[: counts[0]]
    while len(outer := outer[counts[outer + 1] > 0]):
        some = counts[outer + 1]
        ends = some.cumsum()
        begins = ends - some
        inner = families[(firsts[outer] - begins).repeat(some) + places[: ends[-1]]]
        yield outer, some, begins, inner
        outer = inner
