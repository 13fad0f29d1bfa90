"""Golden logs: the dispatches of a test as text beside the test, to be read in a diff and accepted with one command.

A log has calls, redispatches, kernels, Nodes with their saved values, the Nodes that the engine runs, hooks, written
gradients and errors, nested (``log_lines.py``). It has no numbers of steps and tensors, no addresses and no lines of
the program. A level may leave out the calls of PyTorch's own kernels (``golden_levels.py``); the first line of a file
has its level.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from sys import _getframe

from dispatchviz.core.record.file_replacement import write_whole
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.testing.failures import failed, still, without_log
from dispatchviz.testing.golden_levels import LEVELS, SAME_ON_BOTH, GoldenLevel, OwnEvents
from dispatchviz.testing.log_lines import FORMS, line_of
from dispatchviz.testing.patterns import Pattern
from dispatchviz.testing.trace_part import part

HEAD = "# written by `pytest --dispatchviz-accept` at level {level} on {engine}: {content}"
_HEAD = re.compile(r"# written by `pytest --dispatchviz-accept`(?: at level (?P<level>\w+) on (?P<engine>[\w ]+))?:")
"""The first line. Files of older versions name no level and have everything."""

SHOWN = 8
"""The most lines of the difference that a failure shows."""

FAR = 200
"""The number of lines, from the first difference on, that are compared to show it."""


class Accepting:
    """The state of ``--dispatchviz-accept``: True writes golden logs instead of comparing, and the files that were
    written.
    """

    on = False
    written: list[str] = []  # noqa: RUF012 # one for the process


def assert_golden(trace: Trace, path: str | Path, within: Pattern | None = None, level: GoldenLevel = "all") -> None:
    """Assert that the log equals that of a text file. A relative path starts at the folder of the calling file.

    ``level`` is ``"calls"`` for the program's own calls and its Nodes, ``"keys"`` for these with their redispatches and
    kernels, ``"all"`` for the calls of PyTorch's own kernels, too. ``pytest --dispatchviz-accept`` writes the file
    instead of comparing it.
    """
    __tracebackhide__ = True
    _check_level(level)
    file = Path(_getframe(1).f_code.co_filename).parent / path
    begin, end = part(trace, within)
    rows = list(golden_rows(still(trace), begin, end, level))
    if Accepting.on:
        _accept(trace, file, [row for row, _ in rows], level)
    elif not file.exists():
        raise without_log(failed(trace, f"there is no golden log {file}\n  {_accepts(trace)} writes it"))
    else:
        _check_levels_agree(trace, file, level)
        _compare(trace, file, rows, level)


def _check_level(level: str) -> None:
    __tracebackhide__ = True
    if level not in LEVELS:
        raise without_log(ValueError(f"there is no level {level!r} of a golden log; there are {', '.join(LEVELS)}"))


def _check_levels_agree(trace: Trace, file: Path, level: GoldenLevel) -> None:
    """Raise AssertionError if a file was written at another level."""
    __tracebackhide__ = True
    written = _level_of(_text(trace, file))
    if written not in ("", level):
        raise without_log(
            failed(
                trace,
                f"{file.name} was written at level {written}, and the test compares it at level {level}\n"
                f"  {_accepts(trace)} writes it at level {level}",
            )
        )


def _level_of(text: str) -> str:
    """Return the level that the head of a file names; empty if the head is missing."""
    head = _HEAD.match(text)
    return "" if head is None else head["level"] or "all"


def _engine(trace: Trace) -> str:
    return "PyTorch" if is_live(trace.header) else "the model"


def _other_engine(trace: Trace, file: Path, level: GoldenLevel) -> str:
    """Return the remark that a file is from the other engine; empty if it is not, or if that makes no difference."""
    head = _HEAD.match(_text(trace, file))
    written = "" if head is None else head["engine"] or ""
    if level == SAME_ON_BOTH or written in ("", _engine(trace)):
        return ""
    return f"  the file is from {written}, the test from {_engine(trace)}; level={SAME_ON_BOTH!r} is equal on both\n"


def golden_rows(trace: Trace, begin: int, end: int, level: GoldenLevel = "all") -> Iterator[tuple[str, int]]:
    """Yield the lines of a log, each with its step."""
    ends, open_, own = trace.ends, list[int](), OwnEvents(trace, level)
    for event in trace[begin:end]:
        text = line_of(event)
        if text and own.has(event):
            while open_ and open_[-1] < event.seq:
                open_.pop()
            yield "  " * len(open_) + text, event.seq
            open_.append(ends[event.seq])


def _accept(trace: Trace, file: Path, rows: Sequence[str], level: GoldenLevel) -> None:
    """Write a log if it or its level differs from the file's. Raise AssertionError if the file is not a golden log."""
    __tracebackhide__ = True
    if file.exists():
        kept = [line for _, line in _numbered(trace, file)]
        if kept == list(rows) and _level_of(_text(trace, file)) in ("", level):
            return
        if other := next((line for line in kept if line.split()[0] not in FORMS), None):
            raise without_log(
                failed(trace, f"{file} is not a golden log and was not changed: it has a line {other.strip()!r}")
            )
    file.parent.mkdir(parents=True, exist_ok=True)
    head = HEAD.format(level=level, engine=_engine(trace), content=LEVELS[level])
    write_whole(file, "\n".join([head, *rows, ""]).encode())
    Accepting.written.append(str(file))


def _text(trace: Trace, file: Path) -> str:
    """Return the text of a file. Raise AssertionError if it is not text."""
    __tracebackhide__ = True
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise without_log(failed(trace, f"{file} is not a golden log: it is not text")) from None


def _numbered(trace: Trace, file: Path) -> list[tuple[int, str]]:
    """Return the lines of a file without comments, numbered from 1."""
    __tracebackhide__ = True
    lines = enumerate(_text(trace, file).splitlines(), 1)
    return [(number, line.rstrip()) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]


def _compare(trace: Trace, file: Path, rows: Sequence[tuple[str, int]], level: GoldenLevel) -> None:
    __tracebackhide__ = True
    numbered = _numbered(trace, file)
    for k, (want, got) in enumerate(zip_longest(numbered, rows)):
        if want is None or got is None or want[1] != got[0]:
            place = f"at line {want[0]}" if want else "after its end"
            text = (
                f"{file.name} differs first {place}\n  expected  {want[1].strip() if want else 'nothing more'}\n"
                f"  got       {got[0].strip() if got else 'nothing more'}\n"
            )
            both = [line for _, line in numbered], [line for line, _ in rows]
            step = rows[min(k, len(rows) - 1)][1] if rows else None
            text += _other_engine(trace, file, level)
            raise failed(trace, f"{text}{_diff(*both, k)}\n  {_accepts(trace)} accepts it", step)


def _diff(wanted: Sequence[str], got: Sequence[str], first: int) -> str:
    """Return the difference as ``diff -u`` shows it, from just before the first one."""
    begin = max(first - 3, 0)
    both = wanted[begin : first + FAR], got[begin : first + FAR]
    lines = list(difflib.unified_diff(*both, lineterm="", n=2))[3:]
    more = f"  and {len(lines) - SHOWN} more lines of the difference"
    return "\n".join([*(f"  {line}" for line in lines[:SHOWN]), *[more] * (len(lines) > SHOWN)])


def _accepts(trace: Trace) -> str:
    """Return the command that accepts the log of a trace; it names the test if there is one."""
    test = trace.header.program
    return f"pytest --dispatchviz-accept {test!r}" if "::" in test else "pytest --dispatchviz-accept"
