"""The data of a page, decoded in the same way as the page decodes it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from dispatchviz.outputs.page.player_page import PLAIN, SPECIAL
from dispatchviz.outputs.page.tracks import LEFT_OUT
from dispatchviz.outputs.page.written_numbers import from_recent, read
from dispatchviz.views.text.styled_line import Span

Row = tuple[tuple[Span, ...], str, str, int | None, int]
"""Spans, key, value, the step to which the line leads, indent."""


def packed(page: bytes) -> dict[str, Any]:
    """Return the content of the packed block of a page."""
    found = re.search(rb'id="packed">([^<>&{}`"]+)<', page)
    assert found is not None
    plain = found[1].translate(bytes.maketrans(PLAIN, SPECIAL))
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b85decode(plain)))
    return data


def sums(differences: Sequence[int], first: int = 0) -> list[int]:
    """Return numbers from their differences."""
    return list(accumulate(differences, initial=first))[1:]


def ordered(text: str) -> list[int]:
    """Return numbers from their differences in written form."""
    return sums([*read(text)])


class Decoded:
    """The lines and lists of one page."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data, table = data, data["lines"]
        self._tracks: dict[int, tuple[list[int], list[int], list[list[int]]]] = {}
        self.texts = texts(table)
        spans = zip(ordered(table["span_texts"]), read(table["span_roles"]), strict=True)
        self.spans: list[Span] = [(self.texts[text], table["roles"][role]) for text, role in spans]
        self._lengths, self._of_rows = [*read(table["rows"])], [*from_recent(read(table["row_spans"]))]
        self._ends = list(accumulate(self._lengths))
        lines, keys = [*from_recent(read(table["lines"]))], ordered(table["keys"])
        self._columns = [lines, keys, *([*read(table[name])] for name in ("values", "gotos", "indents"))]

    def row(self, number: int) -> Row:
        """Return a line by its number."""
        row, key, value, goto, indent = (column[number] for column in self._columns)
        first = self._ends[row] - self._lengths[row]
        spans = tuple(self.spans[each] for each in self._of_rows[first : self._ends[row]])
        return (
            spans,
            self.texts[key].replace("\x01", f"{goto - 1}"),
            self.texts[value],
            goto - 1 if goto else None,
            indent,
        )

    def rows(self, track: Mapping[str, Any], at: int) -> list[Row] | None:
        """Return the lines of a track at a step, or None if they are not in the file."""
        if id(track) not in self._tracks:
            self._tracks[id(track)] = ordered(track["steps"]), ordered(track["shown"]), whole(track["lists"])
        steps, shown, lists = self._tracks[id(track)]
        number = shown[bisect_right(steps, at) - 1]
        return None if number == LEFT_OUT else [self.row(each) for each in lists[number]]


def whole(lists: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return all lists whole."""
    found: list[list[int]] = []
    for begin, *rest in lists:
        if begin < 0:
            found.append(sums(rest))
        else:
            before, (end, *changed) = found[-1], rest
            found.append(
                [
                    *before[:begin],
                    *sums(changed, before[begin] if begin < len(before) else 0),
                    *before[len(before) - end :],
                ]
            )
    return found


def texts(table: Mapping[str, Any]) -> list[str]:
    """Return all texts of a table of lines."""
    numbers, last, found = read(table["numbers"]), dict[int, list[int]](), list[str]()
    for template in from_recent(read(table["texts"])):
        first, *rest = table["templates"][template].split("\0")
        before = last.get(template, [0] * len(rest))
        last[template] = [number + next(numbers) for number in before]
        found.append("".join([first, *(f"{each}{piece}" for each, piece in zip(last[template], rest, strict=True))]))
    return found
