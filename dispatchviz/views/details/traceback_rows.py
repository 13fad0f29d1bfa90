"""The traceback of an error as Python prints it. For an error that the program handled, the lines at which it was."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import source_text, user_stack
from dispatchviz.views.text.styled_line import Line, line


def traceback_rows(text: str) -> list[Line]:
    """The rows of a traceback, with the program's own lines and the message in bold."""
    return [_row(row) for row in text.rstrip("\n").split("\n")]


def _row(text: str) -> Line:
    inside = len(text) - len(text.lstrip())
    return line((text, "dim" if text.startswith("  File ") else "bold"), indent=inside + 2)


def traceback_at(trace: Trace, at: int) -> str:
    """The traceback of the error at a step, or else of the error that ended the program; empty if there is none."""
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
    """The lines of the program's functions, outermost first, and the full message."""
    rows = ["Traceback (most recent call last):"]
    for place in user_stack(trace, error.seq):
        rows.append(f'  File "{place.file}", line {place.line}, in {place.function or "<module>"}')
        rows += [f"    {text}"] if (text := source_text(trace, place)) else []
    return "\n".join([*rows, f"{error.exception}: {error.message}" if error.message else error.exception])
