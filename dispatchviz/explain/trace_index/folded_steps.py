"""The steps that are shown at first: what printing a tensor takes is folded into the step that says so.

Printing ten numbers takes a hundred calls, and a reader hardly ever asks about them. They are in the trace all the
same; numbers of steps count them.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

FOLDED = "all but printing"
"""What is shown, as a text."""


def unfolded(trace: Trace, begin: int = 0) -> Iterator[int]:
    """The steps outside of printing, from one on; those inside too where printing fails, or is what it begins with."""
    at = begin
    while at < len(trace):
        yield at
        event = trace[at]
        at = trace.ends[at] + 1 if isinstance(event, ev.TensorFormatted) and not _failed(trace, at) else at + 1


def shown_at_first(trace: Trace) -> tuple[int, ...] | None:
    """The same, None if that is every step."""
    if ev.TensorFormatted not in set(map(type, trace)):
        return None
    steps = tuple(unfolded(trace))
    return None if len(steps) == len(trace) else steps


def _failed(trace: Trace, at: int) -> bool:
    return any(isinstance(event, ev.ErrorRaised) for event in trace[at : trace.ends[at] + 1])
