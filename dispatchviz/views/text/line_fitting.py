"""Lines fitted to a width: cut with an ellipsis, wrapped between words, padded into columns. Very long lines are
shortened first.

Widths are in terminal cells; a wide character takes two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size

from dispatchviz.views.text.styled_line import PATH, Line, Span

FILE = 8
"""The minimum width at which the end of a path still identifies the file."""


def fit(row: Line, width: int) -> Line:
    """The row cut to a width, with an ellipsis if something is missing. A path at its end loses its folders first."""
    if row.width <= width:
        return row
    if row.spans[-1][1].endswith(PATH) and (room := width - sum(cell_len(text) for text, _ in row.spans[:-1])) >= FILE:
        path, role = row.spans[-1]
        return replace(row, spans=(*row.spans[:-1], (path_end(path.strip(), room), role)))
    spans, left = list[Span](), max(width - 1, 0)
    for text, role in row.spans:
        taken = text if cell_len(text) <= left else set_cell_size(text, left)
        left -= cell_len(taken)
        spans.append((taken, role))
        if left == 0:
            break
    return replace(row, spans=(*spans, ("…", "dim")) if width > 0 else ())


def from_cell(row: Line, left: int) -> Line:
    """The part of a row from a cell on, after a sign that something is missing."""
    if left <= 0:
        return row
    spans, skip = list[Span](), left + 1
    for text, role in row.spans:
        width = cell_len(text)
        if width > skip:
            spans.append((text if not skip else set_cell_size(text[::-1], width - skip)[::-1], role))
        skip = max(skip - width, 0)
    return replace(row, spans=(("…", "dim"), *spans))


def shorter(text: str, width: int) -> str:
    """The text cut to a width in its middle, since names mostly differ at their ends."""
    if cell_len(text) <= width:
        return text
    end = text[::-1]
    before, after = set_cell_size(text, width // 2), set_cell_size(end, max(width - 1 - width // 2, 0))
    return f"{before}…{after[::-1]}" if width > 1 else "…"[:width]


def path_end(path: str, width: int) -> str:
    """The end of a path with as many folders as fit."""
    if cell_len(path) <= width:
        return path
    end = set_cell_size(path[::-1], max(width - 1, 0))[::-1]
    return f"…{end[end.find('/') :] if '/' in end else end}"


def wrap(row: Line, width: int) -> list[Line]:
    """Wrap the row between words. Only the first line keeps the key."""
    if row.width <= width:
        return [row]
    if row.cut:
        return [fit(row, width)]
    rows: list[list[Span]] = [[]]
    used, indent = 0, min(row.indent, width // 2)
    for word in _words(row.spans, max(width - indent, 1)):
        text = "".join(part for part, _ in word)
        if used + cell_len(text.rstrip()) > width and rows[-1]:
            rows.append([(" " * indent, "")])
            used = indent
        rows[-1].extend(word)
        used += cell_len(text)
    first, *rest = (_without_end(spans) for spans in rows)
    return [replace(row, spans=first), *(replace(row, spans=spans, key="", value="", here=False) for spans in rest)]


def _without_end(spans: list[Span]) -> tuple[Span, ...]:
    """The spans without the blanks after the last word."""
    *others, (text, role) = spans
    return (*others, (text.rstrip(), role))


def _words(spans: Iterable[Span], longest: int) -> Iterator[list[Span]]:
    """Yield words with the blanks after them. A word may go on in the next span, unless it is then too long for any
    row.
    """
    word, used = list[Span](), 0
    for text, role in _pieces(spans, longest):
        if word and (word[-1][0].endswith(" ") or used + cell_len(text.rstrip()) > longest):
            yield word
            word, used = [], 0
        word.append((text, role))
        used += cell_len(text)
    yield word


def _pieces(spans: Iterable[Span], longest: int) -> Iterator[Span]:
    """Yield the words of each span with the blanks after them. A word that is too long for any row is cut."""
    for text, role in spans:
        for word in _WORD.findall(text):
            yield from ((word[start : start + longest], role) for start in range(0, len(word), longest))


_WORD = re.compile(r"[^ ]+ *| +")
"""A word with the blanks after it, or blanks at the beginning."""


def paragraphs(rows: Iterable[Line], width: int, most: int) -> list[Line]:
    """Wrap rows to at most ``most`` lines. If there are more, the last one ends in an ellipsis."""
    wrapped = [part for row in rows for part in wrap(row, width)]
    if len(wrapped) <= most:
        return wrapped
    return [*wrapped[: max(most - 1, 0)], unfinished(wrapped[most - 1] if most > 0 else Line(), width)]


def unfinished(row: Line, width: int) -> Line:
    """The row with one ellipsis at its end, because others follow that are not shown."""
    more = (" …", "dim") if row.width + 2 <= width else (" " * width, "")
    return fit(replace(row, spans=(*row.spans, more)), width)


def columns(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """Pad the cells of a table to the widths of their columns, except in the last column."""
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    return [
        [*(set_cell_size(cell, width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]] for row in table
    ]


LONGEST = 2_000
"""The maximum number of characters of one row, which is more than the largest pane shows."""


def cut_text(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text, and the number of omitted characters."""
    return text if len(text) <= longest else f"{text[:longest]}{_more(len(text) - longest)}"


def cut_row(row: Line, longest: int = LONGEST) -> Line:
    """The beginning of a row of spans, and the number of omitted characters."""
    missing = sum(len(text) for text, _ in row.spans) - longest
    if missing <= 0:
        return row
    spans, left = list[Span](), longest
    for text, role in row.spans:
        spans.append((text[:left], role))
        left -= len(text)
        if left <= 0:
            break
    return replace(row, spans=(*spans, (_more(missing), "dim")))


def _more(number: int) -> str:
    return f"… ({number:,} more characters)"
