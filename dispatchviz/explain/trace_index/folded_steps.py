"""The steps that are shown at first. Folded are the steps that print a tensor, into the step that reports it, and the
calls of the profiler's operators, which only mark the begin and end of a period.

Printing ten numbers takes a hundred calls, and each step of an optimizer makes two calls of the profiler. Readers
rarely need them. They are still in the trace, and the numbers of steps count them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from heapq import merge
from itertools import chain

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

PROFILER = "profiler::"
"""The beginning of the names of the profiler's operators (``torch/csrc/autograd/record_function_ops.cpp``)."""


def unfolded(trace: Trace, begin: int = 0) -> Iterator[int]:
    """Yield the steps from ``begin`` on that are outside printing and the profiler. Steps inside are included if
    printing fails or if ``begin`` is inside.
    """
    for steps in shown_ranges(trace, begin):
        yield from steps


def shown_ranges(trace: Trace, begin: int = 0, profiler: bool = False) -> Iterator[range]:
    """Yield the same steps as ranges. With ``profiler`` its calls are shown too."""
    at = begin
    for step, shown in _folded(trace, profiler):
        if step >= at:
            yield range(at, step + shown)
            at = trace.ends[step] + 1
    yield range(at, len(trace))


def _folded(trace: Trace, profiler: bool) -> Iterator[tuple[int, int]]:
    """Yield the steps whose contents are folded, each with 1 if its own row is shown, else 0."""
    printing = ((step, 1) for step in trace.steps_of(ev.TensorFormatted) if not _failed(trace, step))
    return merge(printing, ((step, 0) for step in (() if profiler else profiler_calls(trace))))


def profiler_calls(trace: Trace) -> array[int]:
    """Return the calls of the profiler's operators. Few programs have any."""
    if not any(name.startswith(PROFILER) for name in trace.columns.operator_names):
        return array("i")
    calls = (steps for operator, _, steps in trace.columns.calls() if operator.startswith(PROFILER))
    return array("i", sorted(chain(*calls)))


def unfolded_events(trace: Trace, begin: int = 0) -> Iterator[ev.AnyEvent]:
    """Yield the events of ``unfolded``, read in sequence without look-ups."""
    following = begin
    for event in map(trace.__getitem__, range(begin, len(trace))) if begin else trace:
        if event.seq < following:
            continue
        if type(event) not in _FOLDING:
            yield event
            continue
        if isinstance(event, ev.Dispatched) and event.operator.startswith(PROFILER):
            following = trace.ends[event.seq] + 1
            continue
        yield event
        if isinstance(event, ev.TensorFormatted) and not _failed(trace, event.seq):
            following = trace.ends[event.seq] + 1


_FOLDING = (ev.Dispatched, ev.TensorFormatted)
"""The kinds whose contents may be folded."""


def _failed(trace: Trace, at: int) -> bool:
    errors = trace.steps_of(ev.ErrorRaised)
    first = bisect_left(errors, at)
    return first < len(errors) and errors[first] <= trace.ends[at]
