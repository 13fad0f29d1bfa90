"""The lines of a source file that a trace has, counted as Python counts them: a form feed ends none."""

from __future__ import annotations

import functools

from dispatchviz.core.record.trace_file import Trace


def source_lines(trace: Trace, file: str) -> tuple[str, ...]:
    """The lines of a file; none if the trace does not have it."""
    return _lines(trace.header.sources.get(file, ""))


@functools.lru_cache(maxsize=64)
def _lines(text: str) -> tuple[str, ...]:
    """Cut once: a log asks at each line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines if lines[-1] else lines[:-1])
