"""The steps at which variables of the program hold a storage, as far as the trace shows it.

A variable holds a tensor from its NameBound to the NameUnbound, to the next NameBound of that name, or to the end of
the function call that it belongs to. A tensor has one recorded name at a time, and a variable of another function may
have the same name. So a span proves that the program holds the storage, but a gap proves nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.memory.storage_sizes import LOOKED_AT
from dispatchviz.explain.trace_index.trace_index import index


class Span(NamedTuple):
    """The steps at which a variable holds a tensor: from ``begin`` up to, but not including, ``end``."""

    begin: int
    end: int
    name: str


def spans(trace: Trace, storage: int) -> Iterator[Span]:
    """Yield the spans of the variables that name a tensor on a storage."""
    columns = trace.columns
    moves = len(trace.steps_of(ev.GeometryChanged)) > 0
    for made in index(trace).about_storage(storage, ev.TensorCreated)[:LOOKED_AT]:
        tensor = columns.tensors[made]
        end = _moved(trace, tensor) if moves else len(trace)
        for span in spans_of_tensor(trace, tensor):
            if span.begin < end:
                yield span._replace(end=min(span.end, end))


def _moved(trace: Trace, tensor: int) -> int:
    """Return the step at which a tensor gets another storage (``x.data = y``), or the number of steps."""
    events = map(trace.__getitem__, index(trace).steps_about(tensor, ev.GeometryChanged))
    moves = (event.seq for event in events if isinstance(event, ev.GeometryChanged) and event.dtype)
    return next(moves, len(trace))


def spans_of_tensor(trace: Trace, tensor: int) -> Iterator[Span]:
    """Yield the spans of the variables that name a tensor."""
    columns, known = trace.columns, index(trace)
    unbound = known.steps_about(tensor, ev.NameUnbound)
    for begin in known.steps_about(tensor, ev.NameBound):
        name = columns.name_texts[columns.names[begin]]
        later = (unbound[place] for place in range(bisect_right(unbound, begin), len(unbound)))
        gone = next((step for step in later if columns.names[step] == columns.names[begin]), len(trace))
        ends = gone, _bound_again(trace, name, begin), call_ends(trace).end(begin)
        yield Span(begin, min(ends), name)


def _bound_again(trace: Trace, name: str, step: int) -> int:
    """Return the next step at which a variable of this name gets a tensor, or the number of steps."""
    holders = index(trace).holders.get(name)
    steps = () if holders is None else holders.steps
    place = bisect_right(steps, step)
    return steps[place] if place < len(steps) else len(trace)


class CallEnds:
    """The ends of the calls of the program's functions, found in one pass over the lines. It holds no reference to the
    trace.
    """

    def __init__(self, trace: Trace) -> None:
        columns = trace.columns
        self._lines = trace.steps_of(ev.SourceLine)
        self._line_of, self._count = columns.lines, len(trace)
        self._calls: list[int] = []
        """The call that each line belongs to."""
        self._ends: list[int] = []
        """The step after the end of each call."""
        depths, open_ = dict[int, int](), list[tuple[int, int, str, int]]()
        for step, caller, number in zip(self._lines, columns.callers, columns.places, strict=False):
            place = columns.line_places[number]
            depth = depths[step] = depths.get(caller, 0) + 1
            while open_ and not _continues(open_[-1], depth, caller, place.function, place.begins):
                self._ends[open_.pop()[3]] = step
            if not open_ or open_[-1][0] < depth:
                open_.append((depth, caller, place.function, len(self._ends)))
                self._ends.append(self._count)
            self._calls.append(open_[-1][3] if place.function else -1)

    def end(self, step: int) -> int:
        """Return the step at which the call around a step has ended. The top level of a file does not end."""
        at = bisect_right(self._lines, self._line_of[step]) - 1
        call = self._calls[at] if 0 <= at < len(self._calls) else -1
        return self._count if call < 0 else self._ends[call]


def _continues(call: tuple[int, int, str, int], depth: int, caller: int, function: str, begins: bool) -> bool:
    """Return whether an open call goes on at a line: the line is within the call, or within one that it makes."""
    own, called_from, name, _ = call
    return own < depth or (own == depth and (called_from, name) == (caller, function) and not begins)


_ends: WeakKeyDictionary[Trace, CallEnds] = WeakKeyDictionary()


def call_ends(trace: Trace) -> CallEnds:
    """Return the ends of the calls of a trace, created on first use."""
    found = _ends.get(trace)
    if found is None:
        found = _ends[trace] = CallEnds(trace)
    return found
