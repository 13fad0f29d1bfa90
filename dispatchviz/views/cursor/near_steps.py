"""The nearest step of some kind on one side of a step, without looking at what is between."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from dispatchviz.core.record.events import Event
from dispatchviz.core.record.trace_file import Trace


def neighbour(steps: Sequence[int], at: int, forward: bool = True) -> int | None:
    """The next of sorted steps on one side of a step; None if there is none."""
    index = bisect_right(steps, at) if forward else bisect_left(steps, at) - 1
    return steps[index] if 0 <= index < len(steps) else None


def next_of_kinds(trace: Trace, kinds: Iterable[type[Event]], at: int, forward: bool = True) -> int | None:
    """The nearest step of any of some kinds."""
    found = [neighbour(trace.steps_of(kind), at, forward) for kind in kinds]
    known = [step for step in found if step is not None]
    return (min if forward else max)(known) if known else None
