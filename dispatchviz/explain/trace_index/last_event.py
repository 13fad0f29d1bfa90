"""The last event of a kind up to a step: a bisection of the trace's columns, and one event that is decoded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TypeVar

from dispatchviz.core.record.events import Event
from dispatchviz.core.record.trace_file import Trace

E = TypeVar("E", bound=Event)


def last_event(trace: Trace, at: int, kind: type[E]) -> E | None:
    """None if there was none yet."""
    return next(latest_first(trace, at, kind), None)


def latest_first(trace: Trace, at: int, kind: type[E]) -> Iterator[E]:
    """The events of a kind up to a step, backwards from there."""
    steps = trace.steps_of(kind)
    for place in range(bisect_right(steps, at) - 1, -1, -1):
        event = trace[steps[place]]
        if isinstance(event, kind):  # it is not where the file is damaged
            yield event
