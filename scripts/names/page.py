"""The text of ``docs/lists/names.md``, written from the places of the names and read by the test that opens them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from dispatchviz.views.panes.pane_list import PANES
from scripts.names.name_list import Name
from scripts.names.places import EVENT, Place

HEAD = """# Names

These are names that people search for: from the question on the forum, the walkthrough of the dispatcher, a backtrace,
and Node's header. Next to each is a command that shows it, in any folder. Written by `python -m scripts.names`; a test
opens every row.

*Event*: the event of the step is the function, or is in the file, with this name. `docs/lists/events.md` lists all
kinds. *Text*: the text about the step contains the name. *Pane*: a pane of the stepper contains it; without `--view`
and its argument, the stepper opens at the step. *File*: the C++ code of PyTorch's generators contains it.
"""

_LISTS = {
    "stack": "all functions of the call",
    "registration": "history of the table",
    "things": "questions",
    "then-and-now": "then and now",
    "because": "why it is so",
    "codegen": "generated code",
    "table": "table",
    "keys": "key",
}
"""The views that are not panes, and commands."""

_PANES = {name.removesuffix("_pane").replace("_", "-"): title for title, name in PANES.values()}

_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| .*? \| `(?P<command>dispatchviz [^`]+)` \|", re.MULTILINE)


def page(found: Mapping[Name, Place]) -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *_lines(found)]) + "\n"


def rows(text: str) -> list[tuple[str, str]]:
    """Return the name and command of each row of a written page."""
    return [(row["name"], row["command"]) for row in _ROW.finditer(text)]


def seen_in(place: Place) -> str:
    """Return the kind of place: event, text, pane, list or file."""
    if place.view == EVENT:
        return f"event `{place.kind}`"
    if place.view == "why":
        return f"text of `{place.kind}`" if place.kind else "table cell"
    if file := place.command.partition(" --file ")[2]:
        return f"file `{file}`"
    if place.kind and place.view in _PANES:
        return f"pane {_PANES[place.view]}"
    return _LISTS[place.view.removeprefix("all of ")]


def _lines(found: Mapping[Name, Place]) -> Iterator[str]:
    for section, names in groupby(found, key=lambda name: name.section):
        yield from (f"## {section}", "", "| name | seen in | type | to know |", "|---|---|---|---|")
        yield from (_row(name, found[name]) for name in names)
        yield ""


def _row(name: Name, place: Place) -> str:
    remark = f"PyTorch 2.14 has it no longer: {name.remark}" if name.gone else name.remark
    return f"| `{name.text}` | {seen_in(place)} | `{place.command}` | {remark} |"
