"""A line of the program with all that happens until it is done: it ends where a function is called, and is resumed."""

from __future__ import annotations

from bisect import bisect_left

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

LOOKED_AT = 20_000
"""So many lines of called functions are passed over at most."""


def parts(trace: Trace, line: int) -> list[int]:
    """The step of a SourceLine, and those at which the program comes back to it before its next line."""
    columns, steps = trace.columns, trace.steps_of(ev.SourceLine)
    at = bisect_left(steps, line)
    if at >= min(len(steps), len(columns.places)) or columns.places[at] >= len(columns.line_places):
        return [line]  # whatever a file says
    own, caller, found = columns.line_places[columns.places[at]], columns.callers[at], [line]
    for later in range(at + 1, min(at + LOOKED_AT, len(steps), len(columns.callers))):
        if columns.callers[later] != caller:
            continue  # of a function that it calls
        place = columns.line_places[columns.places[later]]
        if not place.resumed or (place.file, place.line, place.function) != (own.file, own.line, own.function):
            break
        found.append(steps[later])
    return found


def end(trace: Trace, step: int) -> int:
    """The last step of a line, with the functions that it calls; of any other event the last one within it."""
    return trace.ends[parts(trace, step)[-1] if isinstance(trace[step], ev.SourceLine) else step]
