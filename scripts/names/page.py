"""``docs/names.md`` as text: written from the places of the names, read by the test that opens them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from scripts.names.name_list import Name
from scripts.names.places import Place

HEAD = """# Names

The names that people come with, from the question on the forum, the walkthrough of the dispatcher, a backtrace, Node's
header, and what to type to see each. Written by `python -m scripts.names`; a test opens every row.
"""

_ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| .*? \| `(?P<command>dispatchviz [^`]+)` \|", re.MULTILINE)


def page(found: Mapping[Name, Place]) -> str:
    """The whole page."""
    return "\n".join([HEAD, *_lines(found)]) + "\n"


def rows(text: str) -> list[tuple[str, str]]:
    """Name and command of each row of a written page."""
    return [(row["name"], row["command"]) for row in _ROW.finditer(text)]


def _lines(found: Mapping[Name, Place]) -> Iterator[str]:
    for section, names in groupby(found, key=lambda name: name.section):
        yield from (f"## {section}", "", "| name | seen in | type |  |", "|---|---|---|---|")
        yield from (_row(name, found[name]) for name in names)
        yield ""


def _row(name: Name, place: Place) -> str:
    remark = f"PyTorch 2.13 has it no longer: {name.remark}" if name.gone else name.remark
    return f"| `{name.text}` | {place.view} | `{place.command}` | {remark} |"
