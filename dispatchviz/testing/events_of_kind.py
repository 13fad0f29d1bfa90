"""The events of one kind in a trace or in one of its backward passes, without those of printing tensors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TypeVar

from dispatchviz.core.record.events import BackwardStarted, Event, TensorFormatted
from dispatchviz.core.record.trace_file import Trace

E = TypeVar("E", bound=Event)


def events_of(trace: Trace, kind: type[E], backward: int | None = None) -> Iterator[E]:
    """Yield the events of a kind, except while a tensor is printed. ``backward``, counted from 0, limits them to one
    backward pass. Raise ValueError if there is no such pass.
    """
    begin, end = (0, len(trace)) if backward is None else _span(trace, backward)
    printed = PrintedSteps(trace)
    steps = (step for step in trace.steps_of(kind) if begin <= step <= end and step not in printed)
    return (event for event in map(trace.__getitem__, steps) if isinstance(event, kind))


def _span(trace: Trace, backward: int) -> tuple[int, int]:
    begun = list(events_of(trace, BackwardStarted))
    found = next((event.seq for event in begun if event.graph_task == backward), None)
    if found is None:
        there = ", ".join(str(event.graph_task) for event in begun) or "none"
        raise ValueError(f"the trace has no backward pass {backward}; its backward passes are: {there}")
    return found, trace.ends[found]


class PrintedSteps:
    """The steps that happen while a tensor is formatted; supports ``in``."""

    def __init__(self, trace: Trace) -> None:
        self._begins = trace.steps_of(TensorFormatted)
        self._ends: list[int] = []
        for step in self._begins:  # one may be within another
            self._ends.append(max(trace.ends[step], self._ends[-1] if self._ends else -1))

    def __contains__(self, step: int) -> bool:
        before = bisect_left(self._begins, step) - 1
        return before >= 0 and step <= self._ends[before]
