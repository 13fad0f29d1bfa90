"""A stored trace as a row of the home screen: at first from its file name, later with its contents."""

from __future__ import annotations

import shlex
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from time import time

from dispatchviz.core.record.unfinished_files import is_being_written
from dispatchviz.explain.sentences.statement import number_of_steps
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.shown_text import shown
from dispatchviz.tui.home.home_list import TRACE, TRACES, Entry

SEPARATOR = " · "


def trace_entry(path: Path, facts: str = "") -> Entry | None:
    """The row of a file; None if it no longer exists. ``facts`` describes its contents."""
    try:
        status = path.stat()
    except OSError:
        return None
    parts = (ago(time() - status.st_mtime), in_bytes(status.st_size), facts)
    shows = SEPARATOR.join(part for part in parts if part)
    name = shown(path.name.partition(".")[0])
    return Entry(TRACE, str(path), TRACES, name, shows, f"dispatchviz open {as_typed(path)}")


def as_typed(path: Path) -> str:
    """The path as a person would type it in a shell."""
    with suppress(ValueError, RuntimeError):
        return f"~/{shlex.quote(str(path.relative_to(Path.home())))}"
    return shlex.quote(str(path))


def facts_of(path: Path) -> str:
    """The description of a trace: its program and number of steps, or why it cannot be read."""
    if is_being_written(path):
        return "is being recorded"
    from dispatchviz.core.record.trace_file import Trace

    try:
        trace = Trace.load(path)
        facts = [number_of_steps(len(trace)), trace.notice, trace.header.program]
    except (DispatchvizError, OSError) as error:
        facts = [str(error)]
    return SEPARATOR.join(part.removeprefix(str(path)).lstrip(" :") for part in facts if part)


UNITS = ((timedelta(days=1), "day"), (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"))


def ago(seconds: float) -> str:
    """The time since something, in its largest unit."""
    for unit, name in UNITS:
        if count := int(max(seconds, 0) // unit.total_seconds()):
            return f"{count} {name}{'s' * (count != 1)} ago"
    return "just now"


def in_bytes(size: int) -> str:
    """The size in its largest unit."""
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= factor:
            return f"{size / factor:.1f} {unit}" if size < 10 * factor else f"{size // factor} {unit}"
    return f"{size} byte{'s' * (size != 1)}"
