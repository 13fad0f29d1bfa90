"""The events of a kind from one step to another, and the last one up to a step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

E = TypeVar("E", bound=ev.Event)


def between(trace: Trace, kind: type[ev.Event], begin: int, end: int) -> Sequence[int]:
    """The steps of a kind from one step to another."""
    steps = trace.steps_of(kind)
    return steps[bisect_left(steps, begin) : bisect_right(steps, end)]


def events_between(trace: Trace, kind: type[E], begin: int, end: int) -> Iterator[E]:
    """The events of a kind from one step to another; those of damaged blocks are left out."""
    return (event for event in map(trace.__getitem__, between(trace, kind, begin, end)) if isinstance(event, kind))


def last_event(trace: Trace, at: int, kind: type[E]) -> E | None:
    """The last event of a kind up to a step; None if there was none yet."""
    return next(latest_first(trace, at, kind), None)


def latest_first(trace: Trace, at: int, kind: type[E]) -> Iterator[E]:
    """The events of a kind up to a step, backwards from there."""
    steps = trace.steps_of(kind)
    for place in range(bisect_right(steps, at) - 1, -1, -1):
        event = trace[steps[place]]
        if isinstance(event, kind):  # it is not where the file is damaged
            yield event
