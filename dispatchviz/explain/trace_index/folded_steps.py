"""The steps that are shown at first: what printing a tensor takes is folded into the step that says so.

Printing ten numbers takes a hundred calls, and a reader hardly ever asks about them. They are in the trace all the
same; numbers of steps count them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace


def unfolded(trace: Trace, begin: int = 0) -> Iterator[int]:
    """The steps outside of printing, from one on; those inside too where printing fails, or is what it begins with."""
    for steps in shown_ranges(trace, begin):
        yield from steps


def shown_ranges(trace: Trace, begin: int = 0) -> Iterator[range]:
    """The same, as ranges of steps one after the other."""
    at = begin
    for formatted in trace.steps_of(ev.TensorFormatted):
        if formatted >= at and not _failed(trace, formatted):
            yield range(at, formatted + 1)
            at = trace.ends[formatted] + 1
    yield range(at, len(trace))


def unfolded_events(trace: Trace, begin: int = 0) -> Iterator[ev.AnyEvent]:
    """The same, the events themselves: read one after the other, none is looked up."""
    following = begin
    for event in map(trace.__getitem__, range(begin, len(trace))) if begin else trace:
        if event.seq >= following:
            yield event
            if isinstance(event, ev.TensorFormatted) and not _failed(trace, event.seq):
                following = trace.ends[event.seq] + 1


def _failed(trace: Trace, at: int) -> bool:
    errors = trace.steps_of(ev.ErrorRaised)
    first = bisect_left(errors, at)
    return first < len(errors) and errors[first] <= trace.ends[at]
