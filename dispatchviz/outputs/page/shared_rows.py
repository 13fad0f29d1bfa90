"""Rows that the iterations of a loop share. They are made once for each input. The steps to which they lead, and the
names of tensors that have only a number, are filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from dispatchviz.outputs.page.interned_lines import Lines
from dispatchviz.views.text.styled_line import Line


class Made(NamedTuple):
    """The rows of a pane at a step."""

    on: Hashable
    """The input of the rows, without steps and names."""
    make: Callable[[], Iterable[Line]]
    """The function that makes them."""
    steps: Sequence[int] = ()
    """The steps to which they may lead, each in its place for this input."""
    names: Sequence[str] = ()
    """The names in them that differ between rows of the same input; each is one word."""


class Rows:
    """The rows that were first made from an input."""

    def __init__(self, lines: Lines, made: Made) -> None:
        rows, steps = list(made.make()), made.steps
        self._lines, self._made, self._first = lines, made, lines.numbers(rows)
        self._places = [steps.index(row.goto) if row.goto in steps else -1 for row in rows] if steps else []
        self._words = re.compile(rf"\b(?:{'|'.join(map(re.escape, made.names))})\b")
        self._named = [row if made.names and self._words.search(_texts(row)) else None for row in rows]

    def numbers(self, made: Made) -> tuple[int, ...]:
        """Return the numbers of the rows for the same input with other steps and names."""
        found = self._first
        if made.names != self._made.names:
            new = dict(zip(self._made.names, made.names, strict=True))
            named = zip(self._named, found, strict=True)
            found = tuple([number if row is None else self._renamed(row, new) for row, number in named])
        if self._places:
            leading, steps, placed = self._lines.leading, made.steps, zip(self._places, found, strict=True)
            found = tuple([number if place < 0 else leading(number, steps[place]) for place, number in placed])
        return found

    def _renamed(self, row: Line, new: Mapping[str, str]) -> int:
        def renamed(text: str) -> str:
            return self._words.sub(lambda word: new[word[0]], text)

        spans = tuple((renamed(text), role) for text, role in row.spans)
        return self._lines.number(replace(row, spans=spans, key=renamed(row.key), value=renamed(row.value)))


def _texts(row: Line) -> str:
    return "\0".join((*(text for text, _ in row.spans), row.key, row.value))
