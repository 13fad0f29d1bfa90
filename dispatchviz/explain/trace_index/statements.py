"""A line of the program with everything that happens until it is done. It is interrupted by the functions that it
calls.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE

LOOKED_AT = 20_000
"""The largest number of lines of called functions that are skipped."""


class _Statement(NamedTuple):
    parts: list[int]
    """The step of a SourceLine, and those at which the program returns to it before its next line."""
    lines: set[int]
    """The same steps, and the lines of the functions that it calls."""
    after: int
    """The first line after it that does not belong to it, or the step after the last one."""


def parts(trace: Trace, line: int) -> list[int]:
    """Return the step of a SourceLine, and those at which the program returns to it before its next line."""
    return _statement(trace, line).parts


def end(trace: Trace, step: int) -> int:
    """Return the last step of a line, including the functions that it calls. For any other event, the last step within
    it.
    """
    if not isinstance(trace[step], ev.SourceLine):
        return trace.ends[step]
    statement, around = _statement(trace, step), trace.columns.parents[step]
    last = max(trace.ends[line] for line in statement.lines)
    if around == NONE:
        return last
    # in a block of ``with``, or in a function that PyTorch calls, the events of a line are in the event around the line
    return max(last, min(statement.after - 1, trace.ends[around]))


def _statement(trace: Trace, line: int) -> _Statement:
    columns, steps = trace.columns, trace.steps_of(ev.SourceLine)
    at, found, lines = bisect_left(steps, line), [line], {line}
    if at >= min(len(steps), len(columns.places)) or columns.places[at] >= len(columns.line_places):
        return _Statement(found, lines, line + 1)  # in case the file is damaged
    own, caller, after = columns.line_places[columns.places[at]], columns.callers[at], len(trace)
    for later in range(at + 1, min(at + LOOKED_AT, len(steps), len(columns.callers))):
        if columns.callers[later] == caller:
            place = columns.line_places[columns.places[later]]
            if not place.resumed or (place.file, place.line, place.function) != (own.file, own.line, own.function):
                after = min(after, steps[later])
                break
            found.append(steps[later])
        elif columns.callers[later] not in lines:  # it belongs to a resumed function, or to another thread
            after = min(after, steps[later])
            continue
        lines.add(steps[later])
    return _Statement(found, lines, after)
