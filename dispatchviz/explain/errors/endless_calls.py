"""A kernel that calls its own operator again without end: which one, and why the call leads back to it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

MOST = 100
"""The explanation looks at so many nested calls of the operator."""


def called_again(trace: Trace, error: ev.ErrorRaised | ev.ProgramRaised) -> str:
    """Says which operator its own kernel calls again, and why that leads back to it; empty for other errors."""
    if error.exception != "RecursionError":
        return ""
    steps = trace.steps_of(ev.Dispatched)
    deepest = bisect_left(steps, error.seq) - 1  # where the stack ends even the recorder misses the error itself
    if deepest < 0:
        return ""
    last = trace[steps[deepest]]
    around = islice((event for event in trace.ancestors(last.seq) if isinstance(event, ev.Dispatched)), MOST)
    if not isinstance(last, ev.Dispatched) or not any(_is_again(call, last) for call in around):
        return ""
    return (
        f"The kernel of {last.operator} at {last.key} calls {last.operator} again. A call, unlike a redispatch, "
        f"computes its key set anew, from its arguments and the thread: {last.key} wins each time, and the kernel runs "
        f"again. A guard around that call which excludes {last.key} lets it go on to the key below. A fallthrough in "
        "the kernel's place would not run at all: the operator's mask leaves its key out."
    )


def _is_again(call: ev.Dispatched, last: ev.Dispatched) -> bool:
    """Whether a call leads where another one did; a redispatch never does, since its set has fewer keys."""
    return (call.operator, call.key) == (last.operator, last.key) and call.how.startswith("call")
