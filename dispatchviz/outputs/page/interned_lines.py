"""Lines of the stepper's panes as data: each text, span and line once, by its number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import sub
from typing import Any

from dispatchviz.outputs.page.tracks import differences
from dispatchviz.outputs.page.written_numbers import as_recent, written
from dispatchviz.views.text.line_fitting import cut_row
from dispatchviz.views.text.styled_line import Line, Span

HERE, CUT, SHADED = 1, 2, 4
"""Flags of a line."""

Facts = tuple[int, int, int, int, int, int]
"""A line as it is in the columns (``COLUMNS_OF_LINES``)."""


class Lines:
    """The table of the lines of a page. Number 0 is the empty text and the empty line."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {"": 0}
        self._roles: dict[str, int] = {"": 0}
        self._spans: dict[Span, int] = {}
        self._rows: dict[tuple[int, ...], int] = {}
        self._span_texts: list[int] = []
        self._span_roles: list[int] = []
        self._lines: dict[Line, int] = {}
        self._leading: dict[tuple[int, int], int] = {}
        self._facts: list[Facts] = []
        self.number(Line())

    def text(self, text: str) -> int:
        """Return the number of a text."""
        return self._texts.setdefault(text, len(self._texts))

    def span(self, text: str, role: str = "") -> int:
        """Return the number of a text in a role."""
        known = self._spans.get((text, role))
        if known is None:
            known = self._spans[text, role] = len(self._spans)
            self._span_texts.append(self.text(text))
            self._span_roles.append(self._roles.setdefault(role, len(self._roles)))
        return known

    def number(self, row: Line) -> int:
        """Return the number of a line."""
        known = self._lines.get(row)
        if known is None:
            known = self._lines[row] = len(self._facts)
            self._facts.append(self._facts_of(cut_row(row)))
        return known

    def leading(self, number: int, goto: int) -> int:
        """Return the number of a line that differs from another one only in the step to which it leads."""
        known = self._leading.get((number, goto))
        if known is None:
            row, key, value, before, indent, flags = self._facts[number]
            if before == goto + 1:
                return number
            known = self._leading[number, goto] = len(self._facts)
            self._facts.append((row, key, value, goto + 1, indent, flags))
        return known

    def numbers(self, rows: Iterable[Line]) -> tuple[int, ...]:
        """Return the numbers of some lines."""
        return tuple(map(self.number, rows))

    def _facts_of(self, row: Line) -> Facts:
        known = map(self._spans.get, row.spans)
        spans = tuple(self.span(*span) if seen is None else seen for span, seen in zip(row.spans, known, strict=True))
        goto = 0 if row.goto is None else row.goto + 1
        flags = HERE * row.here + CUT * row.cut + SHADED * row.shaded
        key = self.text(_without_step(row.key, row.goto))
        number = self._rows.setdefault(spans, len(self._rows))
        return number, key, self.text(row.value), goto, row.indent, flags

    def data(self) -> dict[str, object]:
        """Return the table as the file contains it: in columns, each encoded as ``COLUMNS`` says."""
        columns = {
            **templates(self._texts),
            "span_texts": self._span_texts,
            "span_roles": self._span_roles,
            "rows": [len(row) for row in self._rows],
            "row_spans": [span for row in self._rows for span in row],
            **dict(zip(COLUMNS_OF_LINES, map(list, zip(*self._facts, strict=True)), strict=True)),
        }
        return {"roles": list(self._roles), **{name: how(columns[name]) for name, how in COLUMNS.items()}}


def _without_step(key: str, goto: int | None) -> str:
    """Return a key with a placeholder for the step to which its row leads, because many keys differ only in that
    step.
    """
    step = f"{goto}"
    return f"{STEP}{key.removeprefix(step)}" if goto is not None and key.split(" ")[0] == step else key


STEP = "\x01"

NUMBER = re.compile(r"(?<!\d)(?:0|[1-9]\d{0,8})(?!\d)")


def templates(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Return texts as templates, with ``HOLE`` for each number, and the numbers.

    Each template is kept once. The numbers are differences from the last text of the same template, because the texts
    of a loop differ only in numbers.
    """
    known: dict[str, int] = {}
    of_texts, numbers, last = list[int](), list[int](), dict[int, list[int]]()
    for text in texts:
        plain = text.replace(HOLE, "\ufffd")
        template, found = known.setdefault(NUMBER.sub(HOLE, plain), len(known)), [*map(int, NUMBER.findall(plain))]
        numbers += map(sub, found, last.get(template, [0] * len(found)))
        of_texts.append(template)
        last[template] = found
    return {"templates": list(known), "texts": of_texts, "numbers": numbers}


HOLE = "\x00"

COLUMNS_OF_LINES = ("lines", "keys", "values", "gotos", "indents", "flags")
"""The columns of lines: the number of the spans, key and value, the step to which the line leads plus one, indent,
flags.
"""


def _as_they_are(column: list[Any]) -> list[Any]:
    return column


def _in_order(column: list[int]) -> str:
    return written(differences(column))


def _again_and_again(column: list[int]) -> str:
    return written(as_recent(column))


COLUMNS: dict[str, Callable[[list[Any]], object]] = {
    "templates": _as_they_are,
    "texts": _again_and_again,
    "numbers": written,
    "span_texts": _in_order,
    "span_roles": written,
    "rows": written,
    "row_spans": _again_and_again,
    "lines": _again_and_again,
    "keys": _in_order,
    "values": written,
    "gotos": written,
    "indents": written,
    "flags": written,
}
"""The encoding of each column that takes the least room: numbers as they are, as differences from the ones before, or
by how recent they are.
"""
