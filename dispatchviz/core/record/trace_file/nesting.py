"""The nesting of events: depth, end, next sibling and line of each, computed from their parents.

A growing trace is computed in parts. Each part carries over the events that later ones may be within: those that ended
last, with all events around them, the last child of each and its last line.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
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


@dataclass(frozen=True)
class Nested:
    """The columns of some events."""

    depths: Column
    ends: Column
    siblings: Column
    lines: Column


@dataclass(frozen=True)
class Changes:
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
        depths, families = _depths(local), in_order(local)
        ends = steps[_ends(local, depths)]
        ends[:before] = np.maximum(ends[:before], self.ends)
        siblings = _steps_at(steps, _siblings(local, families))
        new = self.siblings == NONE  # a sibling that is already known is nearer
        siblings[:before] = np.where(new & (siblings[:before] >= first), siblings[:before], self.siblings)
        lines = _lines(is_line, local, families, steps, self.lines)
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


def _steps_at(steps: Column, places: Column) -> Column:
    return np.where(places == NONE, np.int32(NONE), steps[places])


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


def _depths(parents: Places) -> Column:
    """The number of events around each event. Each iteration looks twice as far outward."""
    depths: Column = (parents != NONE).astype(np.int32)
    further = parents.copy()
    inside = np.flatnonzero(further != NONE)
    while len(inside):
        outer = further[inside]
        depths[inside] += depths[outer]
        further[inside] = outer = further[outer]
        inside = inside[outer != NONE]
    return depths


def _ends(parents: Places, depths: Column) -> Column:
    """The last event within each event. Those of the deepest events are known first."""
    ends = np.arange(len(parents), dtype=np.int32)
    by_depth = in_order(depths)
    begins = np.searchsorted(depths[by_depth], np.arange(1, depths.max(initial=0) + 2))
    for begin, end in pairwise(begins[::-1].tolist()):
        level = by_depth[end:begin]
        np.maximum.at(ends, parents[level], ends[level])
    return ends


def _siblings(parents: Places, families: Places) -> Column:
    """The next event within the same event. ``families`` has the events sorted by their parents."""
    siblings = np.full(len(parents), NONE, np.int32)
    same = parents[families[:-1]] == parents[families[1:]]
    siblings[families[:-1][same]] = families[1:][same]
    siblings[parents == NONE] = NONE
    return siblings


def _lines(is_line: Mask, parents: Places, families: Places, steps: Column, known: Column) -> Column:
    """The SourceLine of each event: itself, else the last before it within the same event, else that of its parent.

    ``known`` has the lines of the first events.
    """
    lines = np.full(len(parents), NONE, np.int32)
    if not len(parents):
        return lines
    ordered = parents[families]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    begin = np.maximum.accumulate(np.where(begins, np.arange(len(families)), 0))
    last = np.maximum.accumulate(np.where(is_line[families], np.arange(len(families)), NONE))
    own = (last >= begin) & (ordered != NONE) | is_line[families]
    lines[families[own]] = steps[families[last[own]]]
    lines[: len(known)] = known
    return _inherited(lines, parents)


def _inherited(lines: Column, parents: Places) -> Column:
    """The lines, where an event without one has that of the nearest event around it."""
    further = parents.copy()
    open_ = np.flatnonzero((lines == NONE) & (further != NONE))
    while len(open_):
        outer = further[open_]
        lines[open_] = found = lines[outer]
        further[open_] = outer = further[outer]
        open_ = open_[(found == NONE) & (outer != NONE)]
    return lines
