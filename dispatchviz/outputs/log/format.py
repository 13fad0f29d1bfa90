"""The log as text, for files and terminals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dispatchviz.core.record.trace_file import Trace, encode
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import print_lines
from dispatchviz.outputs.chosen_steps import Steps
from dispatchviz.outputs.format import Format, Request
from dispatchviz.outputs.trace_files import TRACES, print_jsonl, save_trace
from dispatchviz.outputs.without_folders import without_folders
from dispatchviz.outputs.written_files import STANDARD_OUTPUT, check_place, write_text

BEGINS = re.compile(rb"[^\n]* on (the model of )?PyTorch [^\n]*, cuda: |\s*\[\w+\] op=\[")
"""The beginning of each kind of log."""


def check_log(path: str, suffix: str = "") -> None:
    """Raise DispatchvizError if a log cannot be written there, or if it would replace another kind of file."""
    if taken := next((each for each in TRACES if path.lower().endswith(each)), ""):
        raise DispatchvizError(
            f"{path} is the name of a trace (--format jsonl writes one): a log cannot end in {taken}"
        )
    check_place(path, "log", BEGINS.match)


def write_log(
    trace: Trace, form: str, path: str | None, wanted: Mapping[str, Any] | None = None, pager: bool = False
) -> None:
    """Write the log in a form (``text``, ``torch`` or ``jsonl``), to standard output if no path is given.

    ``wanted`` has fields of the text's ``LogFilter``. Raise DispatchvizError if the trace has no such steps.
    """
    if path and form == "jsonl":
        save_trace(trace, path)
    elif path:
        write_text(path, log_lines(trace, form, wanted))
    elif form == "jsonl":
        print_jsonl(trace)
    else:
        from dispatchviz.outputs.log.log_filter import LogFilter
        from dispatchviz.outputs.log.printed_log import print_log, print_plain

        if form == "text":
            print_log(trace, 0, LogFilter(**(wanted or {})), pager)
        else:
            print_plain(log_lines(trace, form), pager)


def log_lines(trace: Trace, form: str, wanted: Mapping[str, Any] | None = None) -> Iterable[str]:
    """Return the lines of a log, without line ends."""
    if form == "jsonl":
        return (encode(part).decode() for part in (trace.header, *trace.events))
    if form == "torch":
        from dispatchviz.outputs.log.torch_log import torch_log

        return torch_log(trace)
    from dispatchviz.outputs.log.log_filter import LogFilter
    from dispatchviz.outputs.log.text_log import text_log

    return text_log(trace, 0, LogFilter(**(wanted or {})))


def _chosen(trace: Trace, wanted: Steps) -> Iterator[str]:
    from dispatchviz.outputs.log.log_filter import EVERYTHING, LogFilter
    from dispatchviz.outputs.log.text_log import text_log

    only = LogFilter(wanted.level or EVERYTHING)
    chosen = wanted.range(trace)
    if wanted.steps is None:
        yield from text_log(trace, 0, only)
        return
    yield from text_log(trace, chosen.start, only, until=chosen.stop)


def _write(trace: Trace, request: Request) -> str:
    lines = _chosen(without_folders(trace), request.steps)
    if request.path == STANDARD_OUTPUT:
        print_lines(lines)
    else:
        write_text(request.path, lines)
    return ""


LOG = Format(
    suffixes=(".txt", ".log"),
    named="a log",
    help="the log",
    docs="docs/how-to/share.md",
    check=check_log,
    write=_write,
    options=frozenset({"--steps", "--level"}),
    form="text",
)
