"""The report of a failed test: the log around the step that differs, and the command that opens the trace."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.statement import number_of_steps
from dispatchviz.foundation.english import numbered
from dispatchviz.foundation.plain_tracebacks import tracebacks_as_they_are
from dispatchviz.outputs.log.log_filter import ALL_STEPS, LogFilter
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.testing.failures import LOGLESS, STEP, empty_text, still
from dispatchviz.testing.report_reasons import reasons
from dispatchviz.testing.torch_modules import is_installed_pytorch

ROOM = 26
"""The most lines of a report, unless the user asks for more, so that eight failures can be read at once."""

MESSAGE = 2
"""The lines of an error that are shown if a diagnosis follows."""

SOURCE = 8
"""The number of lines of a test that are shown, up to the one that fails, if the report is too long."""

WHOLE_SUMMARY = 2
"""The verbosity, ``-vv``, from which pytest's summary has whole messages."""

CALLS = LogFilter(level="calls")
"""The part of the log that is shown by default: calls, redispatches and Nodes, without details."""


def add_log(
    report: pytest.TestReport, item: pytest.Item, trace: Trace, error: BaseException, compared: int | None
) -> None:
    """Add the sections of the trace and shorten the report. ``compared`` is the step where two compared texts
    differ.
    """
    if getattr(error, LOGLESS, False):
        _shorten(report, item)
        return
    step, asked = getattr(error, STEP, compared), item.config.getoption("dispatchviz_lines")
    why = reasons(trace, error, compared)
    if asked is None:
        _shorten(report, item, MESSAGE if why and not isinstance(error, AssertionError) else None)
    lines, wanted = _size(report, asked)
    command = _command(item, trace, step)
    log = _log(trace, step, lines - len(why), wanted, bool(why)) if lines > len(why) else []
    hint = [_hint(item)] * (not command and len(trace) > 0)
    shown = {
        "dispatchviz why": why,
        "dispatchviz log": [*log, *hint] if log else [],
        "dispatchviz trace": [command, *(() if log else hint)],
    }
    report.sections += [(title, text) for title, lines in shown.items() if (text := "\n".join(filter(None, lines)))]


@contextmanager
def own_frames_hidden(error: BaseException) -> Iterator[None]:
    """Hide frames of this package and of PyTorch from pytest's traceback while the block runs, unless ``--full-trace``
    is given.

    An error of a kernel then shows at the line that called the operator. pytest looks for ``__tracebackhide__`` among a
    function's variables and those of its module.
    """
    modules = {id(module): module for module in _own_modules(error) if "__tracebackhide__" not in module}.values()
    for module in modules:
        module["__tracebackhide__"] = True
    try:
        with tracebacks_as_they_are():
            yield
    finally:
        for module in modules:
            del module["__tracebackhide__"]


def _own_modules(error: BaseException | None) -> Iterator[dict[str, Any]]:
    """Yield the variables of the hidden modules in the tracebacks of an error and of its causes."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        entry = error.__traceback__
        while entry is not None:  # a recording of an installed PyTorch hides frames from ``traceback.walk_tb``
            if is_hidden(entry.tb_frame.f_code.co_filename):
                yield entry.tb_frame.f_globals
            entry = entry.tb_next
        error = error.__cause__ or error.__context__


PACKAGE = os.path.dirname(dispatchviz.__file__) + os.sep


def is_hidden(file: str) -> bool:
    """Return whether a report leaves out the frames of a file: those of this package and of an installed PyTorch."""
    torch = sys.modules.get("torch")
    folder = getattr(torch, "__file__", None) if is_installed_pytorch(torch) else None
    of_torch = folder is not None and file.startswith(os.path.dirname(folder) + os.sep)
    return of_torch or (file.startswith(PACKAGE) and not file.startswith(EXAMPLES))


EXAMPLES = os.path.join(PACKAGE, "examples") + os.sep
"""The examples of an installed package, which are a user's tests."""

FRAME = 5
"""The lines around a log: the section's title, the log's head, two lines about omitted parts, the command."""


def _size(report: pytest.TestReport, asked: int | None) -> tuple[int, LogFilter]:
    """Return the number of log lines and the part of the log: as many as the user asks for, else as many as fit."""
    if asked is not None:
        return asked or sys.maxsize, ALL_STEPS
    return ROOM - len(report.longreprtext.splitlines()) - FRAME, CALLS


def _hint(item: pytest.Item) -> str:
    return f"to open the trace: pytest --dispatchviz-keep {shlex.quote(item.nodeid)}"


def _command(item: pytest.Item, trace: Trace, step: int | None) -> str:
    """Return the command that opens the saved trace; empty if it was not saved."""
    if not item.config.getoption("dispatchviz_keep"):
        return ""
    at = "" if step is None else f"--step {step} "
    return f"dispatchviz open {at}{shlex.quote(str(_keep(trace, item)))}"


def _shorten(report: pytest.TestReport, item: pytest.Item, message: int | None = None) -> None:
    """Shorten a long test to the lines before the one that fails, and its error to the lines of a ``message``, unless
    ``--tb`` asks for something else.
    """
    traceback: Any = getattr(report.longrepr, "reprtraceback", None)  # pytest's own classes
    if item.config.getoption("tbstyle") != "auto" or traceback is None:
        return
    if item.config.get_verbosity() >= WHOLE_SUMMARY:
        message = None
    for entry in traceback.reprentries:
        if getattr(entry, "style", "") == "long":
            entry.lines[:] = _beginning_of_error(_end_of_source(entry.lines), message)
            _leave_out_fixture(entry)
    if item.config.get_verbosity() < WHOLE_SUMMARY:
        _shorten_summary(report)


def _beginning_of_error(lines: list[str], most: int | None) -> list[str]:
    """Return the lines with at most this many of the error. A table of all kernels may follow PyTorch's message."""
    begin = next((k for k, line in enumerate(lines) if line.startswith("E ")), len(lines))
    left = 0 if most is None else len(lines) - begin - most
    return lines if left < 2 else [*lines[: begin + (most or 0)], f"E       ... {left} more lines: -vv shows them"]


def _shorten_summary(report: pytest.TestReport) -> None:
    """Shorten a failure's summary to one line. If CI is set, pytest would repeat the whole message there."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = crash.message.partition("\n")[0]


def _leave_out_fixture(entry: Any) -> None:
    """Remove the fixture from the shown arguments, because the log has the trace."""
    arguments = getattr(entry, "reprfuncargs", None)
    if arguments is not None:
        arguments.args = [(name, value) for name, value in arguments.args if name != "dispatch_trace"]
        entry.reprfuncargs = arguments if arguments.args else None


def _end_of_source(lines: list[str]) -> list[str]:
    """Return the first line, and the last ones up to the line that fails, with the whole error."""
    at = next((k for k, line in enumerate(lines) if line.startswith(">")), 0)
    begin = at - SOURCE + 2
    return lines if begin < 2 else [lines[0], f"    ... {begin - 1} lines ...", *lines[begin:]]


def _log(trace: Trace, step: int | None, most: int, wanted: LogFilter, is_explained: bool) -> list[str]:
    """Return the text log around a step, or why it cannot be shown, because a report must always appear. If the failure
    is explained already, the log's own reasons are left out.
    """
    if not len(trace):
        return [empty_text(trace)]
    try:
        head, *lines = text_log(still(trace), wanted=wanted)
    except Exception as error:
        return [f"the log of {number_of_steps(len(trace))} cannot be shown: {error!r}"]
    rows = [line for line in lines if line and not (is_explained and line.lstrip().startswith("| "))]
    at = _row_of(rows, step)
    return [head, *_around([f"{'>' if k == at else ' '} {row}" for k, row in enumerate(rows)], at, most)]


def _row_of(rows: list[str], step: int | None) -> int:
    """Return the row of a step, or of the last step before it that has a row; without a step the end."""
    if step is None:
        return len(rows)
    before = [k for k, row in enumerate(rows) if row.split()[0].isdecimal() and int(row.split()[0]) <= step]
    return before[-1] if before else 0


def _around(lines: list[str], at: int, most: int) -> list[str]:
    """Return up to ``most`` lines around one, and how many were left out before and after."""
    begin = max(0, min(at - most // 2, len(lines) - most))
    shown = lines[begin : begin + most]
    more = "--dispatchviz-lines=0 shows all"
    before = [f"... {numbered(begin, 'line')} before; {more} ..."] * bool(begin)
    left = len(lines) - begin - len(shown)
    return [*before, *shown, *[f"... {numbered(left, 'line')} after; {more} ..."] * bool(left)]


def _keep(trace: Trace, item: pytest.Item) -> Path:
    """Save the trace in pytest's cache folder and return its path."""
    folder = item.config.rootpath / ".pytest_cache" / "d" / "dispatchviz"
    cache = getattr(item.config, "cache", None)
    if cache is not None:
        folder = cache.mkdir("dispatchviz")
    folder.mkdir(parents=True, exist_ok=True)
    path = Path(folder / f"{_file_name(item.nodeid)}.jsonl.gz")
    trace.save(path)
    return path


LONGEST = 100
"""The most characters of a test's name in the name of its file."""


def _file_name(test: str) -> str:
    """Return a file name for a test. A shortened or changed name gets a hash, so that names differ."""
    plain = re.sub(r"[^\w.-]+", "-", test).strip("-")
    odd = re.sub(r"::|/", "-", test) != plain or len(plain) > LONGEST
    return f"{plain[:LONGEST]}-{hashlib.sha256(test.encode()).hexdigest()[:8]}" if odd else plain
