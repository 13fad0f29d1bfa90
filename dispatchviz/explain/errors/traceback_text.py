"""An error as Python tells it: the traceback that it printed, or where the program stood when one was handled."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack


def traceback_at(trace: Trace, at: int) -> str:
    """Of the error at a step, else of the one that ended the program; empty if there is none."""
    event, last = trace[at], trace[len(trace) - 1]
    ended = last if isinstance(last, ev.ProgramRaised) else None
    if isinstance(event, ev.ErrorRaised) and not (ended and _is_same(event, ended)):
        return _where_it_stood(trace, event)
    if ended is None:
        return ""
    return ended.traceback or _where_it_stood(trace, ended)


def _is_same(error: ev.ErrorRaised, ended: ev.ProgramRaised) -> bool:
    return (error.exception, error.message) == (ended.exception, ended.message)


def _where_it_stood(trace: Trace, error: ev.ErrorRaised | ev.ProgramRaised) -> str:
    """The lines of the program's functions, outermost first, and the whole message."""
    rows = ["Traceback (most recent call last):"]
    for place in user_stack(trace, error.seq):
        rows.append(f'  File "{place.file}", line {place.line}, in {place.function or "<module>"}')
        rows += [f"    {text}"] if (text := source_text(trace, place)) else []
    return "\n".join([*rows, f"{error.exception}: {error.message}" if error.message else error.exception])
