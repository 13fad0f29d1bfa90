"""The home screen as rows of text, for any width. It is independent of widgets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.foundation.reader_rights import has_files
from dispatchviz.tui.home.home_keymap import HOME_GROUPS, home_keys
from dispatchviz.tui.home.home_list import LOOK_UP, PROGRAM, QUESTION, TRACES, Entry, Home
from dispatchviz.views import keymap
from dispatchviz.views.layout.least_size import is_too_small, too_small
from dispatchviz.views.layout.pane_layout import Box
from dispatchviz.views.text.line_fitting import paragraphs, wrap
from dispatchviz.views.text.styled_line import Line, Span, line

NAME = 24
"""The maximum width of an entry's name, in cells."""

ABOUT = 4
"""The number of rows above the list, for the description of the chosen entry, the effect of Enter, and a note."""

WIDE = 120
"""The width from which on there are two panes."""

TITLE = "PyTorch's dispatcher and autograd engine, one step at a time"


def boxes(width: int, height: int, label: int = 0) -> dict[str, Box]:
    """The boxes of all widgets, by their ids. A label of ``label`` cells leaves the rest of its row to the prompt."""
    if is_too_small(width, height):
        return {"header": Box(0, 0, width, height)}
    return {
        "header": Box(0, 0, width, 1),
        "why": Box(0, 1, width, ABOUT),
        **_panes(Box(0, 1 + ABOUT, width, height - 2 - ABOUT)),
        "footer": Box(0, height - 1, label or width, 1),
        "prompt": Box(label, height - 1, width - label, 1),
    }


def _panes(body: Box) -> dict[str, Box]:
    """The boxes of the list and, if there is room, of the preview beside it."""
    if body.width < WIDE:
        return {"pane1": body}
    left = body.width * 3 // 5
    return {"pane1": body._replace(width=left), "pane2": body._replace(x=left + 1, width=body.width - left - 1)}


def header(width: int, height: int) -> list[Line]:
    """The top row; on a screen that is too small, a message instead."""
    if is_too_small(width, height):
        return too_small(width, height)
    return [line((" dispatchviz", "bold"), f"  {TITLE}")]


def about(home: Home, width: int) -> list[Line]:
    """The note and the description of the chosen entry, as far as they fit."""
    entry = home.entry
    rows = wrap(home.note, width - 1) if home.note else []
    if entry is not None and len(rows) < ABOUT - 1:
        said = [line(" ", *_marked(entry.shows, "bold"), indent=1)]
        rows += [*paragraphs(said, width - 1, ABOUT - 1 - len(rows)), _enter(entry)]
    return paragraphs(rows, width - 1, ABOUT)


def _enter(entry: Entry) -> Line:
    does = {PROGRAM: "runs it", QUESTION: "asks"}.get(entry.kind, "opens it")
    return line((" Enter", "keycap"), f" {does}:  ", (entry.command, "name"), indent=1)


# -- the list ---------------------------------------------------------------------------------------------------------


def list_places(home: Home) -> list[int | Line]:
    """The rows of the list from the top: the index of an entry, or the title or note of a group."""
    rows: list[int | Line] = []
    for at, entry in enumerate(home.entries):
        if at == 0 or home.entries[at - 1].group != entry.group:
            rows += _titles(home, entry.group)
        rows.append(at)
    return rows or [line((f" No row contains {home.filter}. Esc shows all rows", "hint"))]


def _titles(home: Home, group: str) -> list[Line]:
    """The title of a group. If no trace is stored yet, the last group's title comes after a note on where they will
    appear.
    """
    if group != LOOK_UP or home.traces or home.filter or not has_files():
        return [_title(group)]
    return [
        _title(TRACES),
        line(("   none yet: the programs that you run here leave traces", "dim")),
        _title(LOOK_UP),
    ]


def _title(group: str) -> Line:
    return line((f" {group}", "title"))


def list_title(home: Home) -> str:
    """The title of the list, with the filter if there is one."""
    if not home.filter:
        return "Home"
    return f"Home, filter: {home.filter}  ({len(home.entries)} of {home.size}; Esc shows all)"


def list_row(home: Home, at: int) -> Line:
    """The row of an entry."""
    entry, sign = home.entries[at], " ▶ " if at == home.at else "   "
    name = entry.name if len(entry.name) <= NAME else f"{entry.name[: NAME - 1]}…"
    padded = f"{name:<{_name_width(home, entry.group)}}  "
    return line((sign, "focus"), (padded, "bold"), *_marked(entry.shows, ""), cut=True)


def _name_width(home: Home, group: str) -> int:
    return min(max(len(entry.name) for entry in home.entries if entry.group == group), NAME)


def _marked(text: str, role: str) -> Iterator[Span]:
    """Yield the text with the names in backticks in their own role."""
    for at, part in enumerate(re.split(r"`", text)):
        yield part, "name" if at % 2 else role


# -- keys -------------------------------------------------------------------------------------------------------------


def footer(width: int) -> Line:
    """The most important keys."""
    return keymap.footer(home_keys(), width)


FIRST = "Enter runs a program and opens it in the stepper. q comes back here"
"""The note on the first screen."""

INTRODUCTION = f"""\
Every row is a program, a trace or a question. Enter runs the program, opens the trace or asks the question. A program \
runs in this terminal, on dispatchviz's model of PyTorch {MINOR}, or on the installed PyTorch if it needs that. When \
it ends, the stepper opens on its trace. q in the stepper comes back here, and q here quits. Click a row to choose it, \
and click it again to open it.
"""

KEPT = f"{TRACES} lists the last run of each program that you ran here."


def help_rows() -> list[Line]:
    """The text of the help."""
    return [
        *map(line, INTRODUCTION.splitlines()),
        *([line(KEPT)] if has_files() else []),
        *(row for group in HOME_GROUPS for row in keymap.group_rows(home_keys(), group)),
        line(),
        line(("Esc or q closes this help.", "dim")),
    ]
