"""A step in the words of the stepper's panes, as plain text: for pipes, for screen readers, and where there is no
stepper.

Every pane of ``views/panes/pane_list.py`` is a view of the same name. The other views: ``why`` is the sentence and the
rule, ``stack`` the whole call chain, ``things`` the answers of ``i`` about the tensors and Nodes of the step,
``registration`` how the table of its operator was filled, ``then-and-now`` older articles' statements compared with
PyTorch 2.14, ``because`` the reasons.
"""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import Frame
from dispatchviz.explain.calls.folded_frames import GROUPS, OUTSIDE, folded
from dispatchviz.explain.kinds.all_kinds import label, sign
from dispatchviz.explain.sentences.statement import place_of
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.things.tensor_questions import description, questions, title
from dispatchviz.explain.things.uses import uses
from dispatchviz.explain.trace_index.recorded_engine import engine_text
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import print_paged, print_painted
from dispatchviz.outputs.log.printed_log import is_paged, print_log
from dispatchviz.views.details.thing_rows import question_rows
from dispatchviz.views.panes.calls_pane import listed_rows, whole_rows
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.screen_bars import why_lines
from dispatchviz.views.session import Session
from dispatchviz.views.text.console import STYLES, painted, shows_colors
from dispatchviz.views.text.line_fitting import cut_row, wrap
from dispatchviz.views.text.styled_line import Line, Span, line

WHY, STACK, THINGS, REGISTRATION, LOG = "why", "stack", "things", "registration", "log"
THEN_AND_NOW, BECAUSE = "then-and-now", "because"
"""The views that are not panes: the sentence and the rule of a step, all of PyTorch's functions around it, the
questions about its tensors and Nodes, the history of its operator's table, the log from the step on, older articles'
statements, and reasons.
"""

WIDTH = 100
"""The width in columns if there is no terminal and COLUMNS is not set."""

NARROWEST = 20


def view_names() -> tuple[str, ...]:
    """Return the names of all views of a step."""
    panes = map(_name, (module for _, module in PANES.values()))
    return (WHY, *panes, STACK, THINGS, REGISTRATION, THEN_AND_NOW, BECAUSE, LOG)


def _name(module: str) -> str:
    """Return the view's name, such as ``key-set`` for ``key_set_pane``."""
    return module.removesuffix("_pane").replace("_", "-")


def check_view(name: str) -> None:
    """Raise DispatchvizError, with the names of all views, if there is no view with this name."""
    names = view_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, 1)
        meant = f", did you mean {close[0]}?" if close else "."
        raise DispatchvizError(f"there is no view {name!r}{meant} The views are {', '.join(names)}")


def print_view(trace: Trace, step: int | None, name: str, pager: bool = True) -> None:
    """Print one view of a step. The default step is the one at which the stepper opens."""
    at = step_shown(trace, step)
    if name == LOG:
        print_log(trace, at, pager=pager)
    else:
        _print(_rows(trace, at, name, text_width()), pager)


def view_text(trace: Trace, step: int, name: str, width: int = WIDTH) -> str:
    """Return one view of a step as text of a given width, without colors. Raise DispatchvizError for an unknown
    view.
    """
    check_view(name)
    return "\n".join("".join(text for text, _ in spans) for _, spans in view_rows(trace, step, name, width))


def view_rows(trace: Trace, step: int, name: str, width: int = WIDTH) -> Iterator[tuple[Line, list[Span]]]:
    """Yield the lines of a view, except those of the log, each with the part of it that is printed."""
    return ((row, _without_end(row)) for row in _rows(trace, step, name, width))


def print_stack(trace: Trace, step: int, fold: bool, pager: bool = True) -> None:
    """Print the whole call chain of a step, folded by role or not."""
    width = text_width()
    _print((part for row in whole_rows(trace, step, width, fold) for part in wrap(row, width)), pager)


def print_backtrace(frames: Sequence[Frame], heading: str, shown: ShownFrames, pager: bool = True) -> None:
    """Print the stack of a real process, outermost first, below a heading if there is one."""
    width = text_width()
    above = [line((heading, "title"))] if heading else []
    groups = {"all": {}, "fewer": OUTSIDE, "folded": GROUPS | OUTSIDE}[shown]
    rows = [*above, *listed_rows(folded(frames, groups), (), width)]
    _print((part for row in rows for part in wrap(row, width)), pager)


ShownFrames = Literal["all", "fewer", "folded"]
"""The frames of a real stack that are shown: all; with those outside PyTorch as one row; also with those that are the
same in every call as one row.
"""


def step_shown(trace: Trace, step: int | None) -> int:
    """Return the step of a view. The default is the one at which the stepper opens. Raise DispatchvizError if there is
    no such step.
    """
    if len(trace) == 0:
        raise DispatchvizError(f"{trace.header.program}: nothing was recorded, so there are no steps to show")
    return Session(trace, step).cursor.at


def print_step(trace: Trace, at: int, pager: bool = True) -> None:
    """Print the whole step: its place, the sentence and all panes."""
    _print(_step(trace, at, text_width()), pager)


def _step(trace: Trace, at: int, width: int) -> Iterator[Line]:
    event = trace[at]
    place = f"{place_of(at, len(trace))} in {trace.header.program} on {engine_text(trace.header)}"
    yield from wrap(line(place), width)
    yield from wrap(line((f"{sign(event)} {label(trace, at)}", "bold"), indent=2), width)
    titles = {WHY: "Why", **{_name(module): pane for pane, module in PANES.values()}}
    for name, above in titles.items():
        yield line()
        yield line((above, "title"))
        for row in _rows(trace, at, name, width - 2):
            yield line("  ", *row.spans)


def _rows(trace: Trace, at: int, name: str, width: int) -> Iterator[Line]:
    """Yield the lines of a view of a step, none wider than ``width``."""
    own: dict[str, Callable[[], Iterable[Line]]] = {
        WHY: lambda: why_lines(trace, at),
        STACK: lambda: whole_rows(trace, at, width),
        THINGS: lambda: _things(trace, at, width),
        REGISTRATION: lambda: _registration(trace, at, width),
        THEN_AND_NOW: lambda: _then_and_now(trace, at, width),
        BECAUSE: lambda: _because(trace, at, width),
    }
    if name in own:
        return (part for row in own[name]() for part in wrap(row, width))
    panes: dict[str, Callable[[Trace, int, int], list[Line]]] = {
        _name(module): rows_of(module) for _, module in PANES.values()
    }
    return (part for row in panes[name](trace, at, width) for part in wrap(cut_row(row), width))


def _registration(trace: Trace, at: int, width: int) -> Iterable[Line]:
    from dispatchviz.views.details.registration_rows import history_rows

    return history_rows(trace, at, width)


def _then_and_now(trace: Trace, at: int, width: int) -> Iterable[Line]:
    from dispatchviz.views.details.then_and_now_rows import statement_rows

    return statement_rows(trace, at, width)


def _because(trace: Trace, at: int, width: int) -> Iterable[Line]:
    from dispatchviz.views.details.then_and_now_rows import reason_rows

    return reason_rows(trace, at, width)


def _things(trace: Trace, at: int, width: int) -> Iterator[Line]:
    """Yield the tensors and Nodes of the step with their questions. It looks through all calls of the trace."""
    things = things_of(trace, at)
    if not things:
        yield line("Step ", str(at), " is about no tensor and no Node.")
        return
    uses(trace).finish()
    for place, thing in enumerate(things):
        yield from [line()] if place else []
        yield line((title(trace, thing, at), "bold"), ("  " + description(trace, thing, at), "dim"))
        for row in question_rows(trace, questions(trace, thing, at), width - 2):
            yield line("  ", *row.spans, indent=4)


def text_width() -> int:
    """Return the width for printed text, in columns."""
    return max(shutil.get_terminal_size((WIDTH, 24)).columns, NARROWEST)


# -- colors ----------------------------------------------------------------------------------------------------------

COLORS = {
    "text-primary": "cyan",
    "primary": "cyan",
    "text-accent": "blue",
    "text-success": "green",
    "text-warning": "yellow",
    "text-error": "red",
}
"""The terminal's own colors for those of the stepper's themes."""


def _print(rows: Iterator[Line], pager: bool) -> None:
    looks = _looks() if shows_colors() else {}
    lines = (painted(*((text, looks.get(role, ())) for text, role in _without_end(row))) for row in rows)
    (print_paged if is_paged(pager) else print_painted)(lines)


def _without_end(row: Line) -> list[Span]:
    """Return the spans without trailing blanks, which fill a column."""
    spans = list(row.spans)
    while spans and not spans[-1][0].strip():
        spans.pop()
    return [*spans[:-1], *((text.rstrip(), role) for text, role in spans[-1:])]


def _looks() -> dict[str, tuple[str, ...]]:
    """Return the styles of each role in the stepper's palette."""
    from dispatchviz.views.text import code_colors
    from dispatchviz.views.text.roles import ROLES  # imports Textual, which only colors need

    code_colors.load()
    looks: dict[str, tuple[str, ...]] = {}
    for role, (color, weight) in ROLES.items():
        styles = tuple(style for style in (COLORS.get(color, ""), *weight.split()) if style in STYLES)
        looks |= {role: styles, f"new:{role}": ("bold", *(style for style in styles if style not in ("bold", "dim")))}
    return looks
