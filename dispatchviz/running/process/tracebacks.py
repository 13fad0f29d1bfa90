"""Tracebacks as PyTorch would leave them, without frames of this package and without errors that it handled itself."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType

from dispatchviz.running.call_sites import is_users

_PACKAGE = str(Path(__file__).parents[2]) + os.sep


def without_our_frames(error: BaseException) -> None:
    """Remove our frames from the traceback of an error, of the errors that led to it, and of those that it groups."""
    known: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in known:
            continue
        known.add(id(one))
        one.__traceback__ = users_part(one.__traceback__)
        if _is_ours(one.__context__):
            one.__context__ = None
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions


def users_part(trace: TracebackType | None) -> TracebackType | None:
    """Return the same traceback without frames of this package. An example that ships in it counts as the user's
    program.
    """
    kept = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if not code.co_filename.startswith(_PACKAGE) or is_users(code):
            kept.append(trace)
        trace = trace.tb_next
    rest = None
    for part in reversed(kept[: sys.getrecursionlimit()]):  # Python prints at most this number of frames
        rest = TracebackType(rest, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return rest


def _is_ours(context: BaseException | None) -> bool:
    """Return whether an error was raised and handled within this package, where PyTorch raises none."""
    return context is not None and context.__traceback__ is not None and users_part(context.__traceback__) is None


LONGEST = 20_000
"""The number of characters of a traceback that are kept, from its end."""


def traceback_of(error: BaseException) -> str:
    """Return the text that Python prints for an error that leaves the program. It is empty if printing raises an error,
    and for an interrupt.
    """
    if isinstance(error, KeyboardInterrupt):
        return ""
    try:
        return "".join(traceback.format_exception(error))[-LONGEST:]
    except Exception:
        return ""


def message_of(error: BaseException) -> str:
    """Return ``str`` of an error, or Python's text if that raises an error."""
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"
