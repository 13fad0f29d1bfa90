"""The elements of a tensor as of a step, in recordings that have them, as long as nothing can have changed them.

The last recorded elements of a tensor are valid until something is written to its memory. If the next ones were written
unseen, they are valid on their own line. While a call writes to it,
the trace does not show the progress of the call, so no elements are available. After the step at which the recording
reached its limit of numbers, no tensor has any.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.trace_index import index

LOOKED_AT = 32
"""The number of events about a memory that are read, before a step and after it."""


def numbers_of(trace: Trace, tensor: int, at: int) -> str:
    """Return the elements, such as ``[[0.1, 2.0], [3.0, nan]]``; empty if the trace does not have them."""
    if not trace.steps_of(ev.NumbersRecorded) or at >= (end_of_numbers(trace) or at + 1):
        return ""
    steps = index(trace).steps_about(tensor, ev.NumbersRecorded, ev.GeometryChanged, ev.KeySetChanged)
    place = bisect_right(steps, at)
    recorded = trace[steps[place - 1]] if place else None
    if not isinstance(recorded, ev.NumbersRecorded) or not recorded.numbers:
        return ""
    if _may_have_changed_unseen(trace, steps[place:], recorded.seq, at):
        return ""
    about = index(trace).about_storage(recorded.storage, ev.NumbersRecorded)
    since, until = bisect_right(about, recorded.seq), bisect_right(about, at)
    if until - since > LOOKED_AT or any(_wrote(trace, step) for step in about[since:until]):
        return ""
    return "" if _is_being_written(trace, about[until : until + LOOKED_AT + 1], at) else recorded.numbers


def _may_have_changed_unseen(trace: Trace, later: Sequence[int], recorded: int, at: int) -> bool:
    """Return whether the next numbers of a tensor were written by no recorded call, so that only the line on which it
    was recorded surely saw these.
    """
    following = trace[later[0]] if later else None
    if not isinstance(following, ev.NumbersRecorded) or not following.unseen:
        return False
    return source_line(trace, recorded) is not source_line(trace, at)


def end_of_numbers(trace: Trace) -> int | None:
    """Return the step after which no numbers are recorded, because the recording reached its limit; None if it did
    not.
    """
    steps = trace.steps_of(ev.NumbersRecorded)
    event = trace[steps[-1]] if steps else None
    return event.seq if isinstance(event, ev.NumbersRecorded) and event.last else None


def outermost_call(trace: Trace, at: int) -> int | None:
    """Return the step of the outermost call that a step is, or is in; None if there is none."""
    calls = [around.seq for around in trace.ancestors(at) if isinstance(around, ev.Dispatched)]
    return calls[-1] if calls else at if isinstance(trace[at], ev.Dispatched) else None


def _is_being_written(trace: Trace, following: Sequence[int], at: int) -> bool:
    """Return whether the outermost call around a step writes, or may write, to the memory that these next events are
    about.
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
