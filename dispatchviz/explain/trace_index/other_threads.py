"""Steps of another thread than that of the program's line before them.

An event is within the current line of its own thread. A line ends for its thread when the thread reaches another line.
So if something happens within a line although other lines have begun since, those lines are of other threads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from weakref import WeakKeyDictionary

from dispatchviz.core.record.events import SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE


class _Lines:
    """The lines of a trace that no event contains, and those of them that continue after another line has begun."""

    def __init__(self, trace: Trace) -> None:
        self.length = len(trace)
        parents, ends = trace.columns.parents, trace.ends
        self.outermost = [step for step in trace.steps_of(SourceLine) if parents[step] == NONE]
        following = (*self.outermost[1:], self.length)
        self.going_on = [step for step, after in zip(self.outermost, following, strict=False) if ends[step] > after]


_known: WeakKeyDictionary[Trace, _Lines] = WeakKeyDictionary()


def _lines(trace: Trace) -> _Lines:
    found = _known.get(trace)
    if found is None or found.length != len(trace):
        found = _known[trace] = _Lines(trace)
    return found


def has_threads(trace: Trace) -> bool:
    """Return whether lines of several threads have run at the same time."""
    return bool(_lines(trace).going_on)


def lines_meanwhile(trace: Trace, begin: int, end: int) -> list[int]:
    """Return the lines of other threads that run during some steps, which begin with a line of the program."""
    ends, going_on = trace.ends, _lines(trace).going_on
    return [step for step in going_on[: bisect_left(going_on, begin)] if begin <= ends[step] and step < end]


def line_elsewhere(trace: Trace, step: int) -> int | None:
    """Return the line that contains a step, if a line of another thread has begun since."""
    lines = _lines(trace)
    if not lines.going_on:
        return None
    parents, outermost = trace.columns.parents, step
    while parents[outermost] != NONE:
        outermost = parents[outermost]
    place = bisect_right(lines.outermost, step) - 1
    last = lines.outermost[place] if place >= 0 else outermost
    is_line = lines.outermost[bisect_left(lines.outermost, outermost) :][:1] == [outermost]
    return outermost if is_line and outermost != last else None
