"""The recording itself, in its own format or as JSON lines."""

from __future__ import annotations

from pathlib import Path

from dispatchviz.core.record.trace_file import Trace, encode, looks_like_trace
from dispatchviz.core.record.trace_file.writers import SUFFIXES
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import print_json_lines
from dispatchviz.outputs.format import Format, Request, either
from dispatchviz.outputs.written_files import STANDARD_OUTPUT, check_place, write_bytes, writing

TRACES = SUFFIXES
"""The suffixes of traces."""


def check_save(path: str) -> None:
    """Raise DispatchvizError if a trace cannot be saved there, or if it would replace another kind of file."""
    if not Path(path).name.lower().endswith(TRACES):
        raise DispatchvizError(f"cannot save the trace as {path}: the name of a trace ends in {either(TRACES)}")
    check_trace(path)


def check_trace(path: str, suffix: str = "") -> None:
    """Check the same for any file name."""
    check_place(path, "trace", looks_like_trace)


def save_trace(trace: Trace, path: str | Path) -> None:
    """Save a trace. Raise DispatchvizError if the file cannot be written."""
    with writing(path):
        trace.save(path)


def print_jsonl(trace: Trace) -> None:
    """Print the trace, one JSON value on each line."""
    print_json_lines(encode(part).decode() for part in (trace.header, *trace.events))


def _write(trace: Trace, request: Request) -> str:
    if request.path == STANDARD_OUTPUT and request.suffix == ".jsonl":
        print_jsonl(trace)
    elif request.path.lower().endswith(request.suffix):
        save_trace(trace, request.path)
    else:
        write_bytes(request.path, trace.encoded(request.suffix))
    return ""


TRACE = Format(
    suffixes=TRACES,
    named="a trace",
    help="the trace",
    docs="docs/trace-format.md",
    check=check_trace,
    write=_write,
    binary=(".dvtrace", ".jsonl.gz"),
)
