"""The numbers of a tensor as of a step, in recordings that have them, where nothing can have changed them.

The last recorded numbers of a tensor hold until something is written to its memory. While a call writes to it, the
trace does not show how far the call is, so there are no numbers then. From the step on at which the recording reached
its limit of numbers, no tensor has any.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.trace_index import index

LOOKED_AT = 32
"""So many events about a memory are looked at, before a step and after it."""


def numbers_of(trace: Trace, tensor: int, at: int) -> str:
    """``[[0.1, 2.0], [3.0, nan]]``; empty if the trace does not tell them."""
    if not trace.steps_of(ev.NumbersRecorded) or at >= (end_of_numbers(trace) or at + 1):
        return ""
    steps = index(trace).steps_about(tensor, ev.NumbersRecorded, ev.GeometryChanged, ev.KeySetChanged)
    place = bisect_right(steps, at)
    said = trace[steps[place - 1]] if place else None
    if not isinstance(said, ev.NumbersRecorded) or not said.numbers:
        return ""
    about = index(trace).about_storage(said.storage, ev.NumbersRecorded)
    since, until = bisect_right(about, said.seq), bisect_right(about, at)
    if until - since > LOOKED_AT or any(_wrote(trace, step) for step in about[since:until]):
        return ""
    return "" if _is_being_written(trace, about[until : until + LOOKED_AT + 1], at) else said.numbers


def end_of_numbers(trace: Trace) -> int | None:
    """The step from which on no numbers are recorded, since the recording has reached its limit; None without one."""
    steps = trace.steps_of(ev.NumbersRecorded)
    event = trace[steps[-1]] if steps else None
    return event.seq if isinstance(event, ev.NumbersRecorded) and event.last else None


def outermost_call(trace: Trace, at: int) -> int | None:
    """The step of the outermost call that a step is, or is within; None if there is none."""
    calls = [around.seq for around in trace.ancestors(at) if isinstance(around, ev.Dispatched)]
    return calls[-1] if calls else at if isinstance(trace[at], ev.Dispatched) else None


def _is_being_written(trace: Trace, following: Sequence[int], at: int) -> bool:
    """Return whether the outermost call around a step writes to the memory that these next events are about, or may do
    so.
    """
    call = outermost_call(trace, at)
    if call is None:
        return False
    end, limit = trace.ends[call], end_of_numbers(trace)
    if limit is not None and limit <= end:
        return True
    within = [step for step in following if step <= end]
    return len(within) > LOOKED_AT or any(_wrote(trace, step) for step in within)


def _wrote(trace: Trace, step: int) -> bool:
    event = trace[step]
    return isinstance(event, ev.NumbersRecorded) and event.written
