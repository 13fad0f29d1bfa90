"""The source at a step: the program with its current line, the Python code that runs below it, and the operator's yaml
entries.
"""

from __future__ import annotations

from functools import lru_cache

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.codegen.codegen_card import Entry, entries_of
from dispatchviz.explain.codegen.operator_at_step import running_operator
from dispatchviz.explain.locations.source_view import SourceView, source_at
from dispatchviz.explain.trace_index.recorded_engine import recorded_release
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.views.text.code_colors import highlighted
from dispatchviz.views.text.line_fitting import cut_text
from dispatchviz.views.text.styled_line import Line, Span, line

AROUND = 2
"""The number of lines to show above and below the current one if the code below it needs room."""

FAR = 100
"""The number of lines if there is no code below. It is limited because the pane is drawn at each step."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of both sources. The line in view is the innermost one that is known."""
    return view_rows(source_at(trace, at), running_operator(trace, at), bool(recorded_release(trace.header)))


def view_rows(view: SourceView, operator: str, elsewhere: bool) -> list[Line]:
    """The rows of a source view, with the entries of an operator below it. ``elsewhere`` means that another release was
    recorded than the one that these entries are from.
    """
    below = _running(view)
    program = _program(view, narrow=bool(below))
    return [*program, *_callers(view), *below, *_entries(operator, elsewhere)] or [
        line(("The trace has no source text for this step.", "dim"))
    ]


def _program(view: SourceView, narrow: bool) -> list[Line]:
    if not view.lines:
        return [_head(view.file, view.line)] if view.file else []
    around = AROUND if narrow else FAR
    first, last = max(_first_written(view.lines), view.line - around), min(len(view.lines), view.line + around)
    code = highlighted(_cut(view.lines))[first - 1 : last]
    return [_head(view.file, view.line), *_numbered(code, first, view.line, 0 if narrow else view.line)]


def _first_written(lines: tuple[str, ...]) -> int:
    """Return the number of the first line that is not blank. A lesson begins with blank lines in place of its prose."""
    return next((number for number, text in enumerate(lines, 1) if text.strip()), 1)


@lru_cache(maxsize=16)
def _cut(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Cut lines before they are colored. A table of numbers in one line would take half a second."""
    return tuple(map(cut_text, lines))


def _callers(view: SourceView) -> list[Line]:
    """The rows of the callers of the function. A click goes to the call."""
    return [
        line(
            ("called from ", "dim"),
            (_location(caller), "name"),
            (f"  line {caller.line}", "dim"),
            goto=caller.seq,
            cut=True,
        )
        for caller in view.called_from
    ]


def _location(caller: ev.SourceLine) -> str:
    return f"{caller.function} in {caller.file}" if caller.function else caller.file


def _running(view: SourceView) -> list[Line]:
    if not view.running_lines:
        return []
    code = highlighted(_cut(view.running_lines))
    here = view.running_line or view.running_first
    head = _head(view.running, view.running_line, view.kernel)
    return [head, *_numbered(code, view.running_first, view.running_line, here)]


@lru_cache(maxsize=256)
def _entries(operator: str, elsewhere: bool = False) -> tuple[Line, ...]:
    """The rows of an operator's yaml entries: its kernels and its derivative. All steps of the operator show them."""
    if not operator.startswith("aten::"):
        return ()
    release = f" of PyTorch {MINOR}" if elsewhere else ""
    return tuple(row for entry in entries_of(operator.removeprefix("aten::")) for row in _entry(entry, release))


def _entry(entry: Entry, release: str) -> list[Line]:
    head = line((entry.here.file, "name"), (f"{release}  line {entry.here.line}  {entry.role}", "dim"), cut=True)
    return [head, *(line("  ", (cut_text(text), ""), indent=6) for text in entry.here.text.splitlines())]


def load() -> None:
    """Read the yaml files beforehand, since that takes longer than a step may."""
    _entries("aten::add.Tensor")


def _head(file: str, number: int, kernel: str = "") -> Line:
    return line((file, "name"), (f"  line {number}" if number else "", "dim"), (f"  {kernel}", "dim"))


def _numbered(code: list[tuple[Span, ...]], first: int, current: int, here: int) -> list[Line]:
    """The lines with their numbers. ``current`` is the line that runs, ``here`` must be in view."""
    width = len(str(first + len(code) - 1))
    return [_code(spans, number, width, number == current, number == here) for number, spans in enumerate(code, first)]


@lru_cache(maxsize=4096)
def _code(spans: tuple[Span, ...], number: int, width: int, current: bool, here: bool) -> Line:
    margin = ("▶ " if current else "  ", "focus"), (f"{number:>{width}} ", "" if current else "dim")
    text = tuple((part, f"new:{role}" if current else role) for part, role in spans)
    return line(*margin, *text, indent=width + 7, here=here, shaded=current)
