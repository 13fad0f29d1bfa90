"""The part of a trace that an assertion is about: all of it, or what happens within the first match of a pattern."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.record.events import AnyEvent, TensorFormatted
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.testing.events_of_kind import PrintedSteps
from dispatchviz.testing.failures import failed
from dispatchviz.testing.known_names import check_names
from dispatchviz.testing.patterns import Pattern


def part(trace: Trace, within: Pattern | None) -> tuple[int, int]:
    """Return the first step that counts, and the first one after that part. Raise AssertionError if ``within`` never
    matches.
    """
    __tracebackhide__ = True
    if within is None:
        return 0, len(trace)
    check_names(trace, [within])
    start = next((event.seq for event in trace if within.matches(event)), None)
    if start is None:
        raise failed(trace, f"{within!r} does not happen, so nothing happens within it")
    return start, trace.ends[start] + 1


def events_within(trace: Trace, within: Pattern | None) -> Sequence[AnyEvent]:
    """Return the events of the part, without those of printing tensors. Raise AssertionError as ``part`` does."""
    __tracebackhide__ = True
    begin, end = part(trace, within)
    printed = PrintedSteps(trace)
    if begin < len(trace) and (begin in printed or isinstance(trace[begin], TensorFormatted)):
        return trace[begin:end]  # the pattern asks for the calls of the printing
    return [event for event in trace[begin:end] if event.seq not in printed]
