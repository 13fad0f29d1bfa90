"""Styled text of the stepper: a line is spans of plain text, each with the name of its role.

Every word on the screen goes through ``line``. There is no markup language in it, so text of a program or a library
(``f[N]``, ``[/]``, an escape sequence) can neither vanish, nor raise, nor reach the terminal as a command.

Not here: what colour a role has (``palette.py``), which lines there are (the ``*_pane`` modules).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size

Span = tuple[str, str]
"""Text and the name of its role; an empty role is normal text."""


PATH = "path"
"""The role of a path that ends a row."""

FILE = 8
"""Cells with which the end of a path still says which file it is."""


class Line(Struct, frozen=True, gc=False):
    """One row of a pane."""

    spans: tuple[Span, ...] = ()
    key: str = ""
    """What the row is about. The same key with other text is a change, a key that was not there is new; rows without
    a key are never marked."""
    value: str = ""
    """The value that the row shows; a change says what it was before."""
    goto: int | None = None
    """The step that a click leads to."""
    indent: int = 0
    """Cells by which the rows after the first are indented if it is wrapped."""
    here: bool = False
    """The row that must be in view."""
    cut: bool = False
    """Where it does not fit it is cut, not wrapped."""
    shaded: bool = False
    """It stands on a shade of its own."""

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.spans)

    @property
    def width(self) -> int:
        return sum(cell_len(text) for text, _ in self.spans)


def line(
    *parts: str | Span,
    key: str = "",
    value: str = "",
    goto: int | None = None,
    indent: int = 0,
    here: bool = False,
    cut: bool = False,
    shaded: bool = False,
) -> Line:
    """A row made of plain strings and (string, role) pairs."""
    spans = ((part, "") if isinstance(part, str) else part for part in parts)
    return Line(
        tuple((clean(text), role) for text, role in spans if text), key, clean(value), goto, indent, here, cut, shaded
    )


def clean(text: str) -> str:
    """The text as one row of printable characters: controls become their pictures, ``\\n`` becomes ``␊``."""
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    if char == "\t":
        return "    "
    return chr(0x2400 + ord(char)) if ord(char) < 32 else "\N{REPLACEMENT CHARACTER}"


def fit(row: Line, width: int) -> Line:
    """The row cut to a width, with an ellipsis if something is missing: of a path at its end the folders."""
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


def shorter(text: str, width: int) -> str:
    """The text cut to a width in its middle: names mostly differ at one of their ends."""
    if cell_len(text) <= width:
        return text
    end = text[::-1]
    before, after = set_cell_size(text, width // 2), set_cell_size(end, max(width - 1 - width // 2, 0))
    return f"{before}…{after[::-1]}" if width > 1 else "…"[:width]


def path_end(path: str, width: int) -> str:
    """The end of a path: of its folders as many as have room."""
    if cell_len(path) <= width:
        return path
    end = set_cell_size(path[::-1], max(width - 1, 0))[::-1]
    return f"…{end[end.find('/') :] if '/' in end else end}"


def wrap(row: Line, width: int) -> list[Line]:
    """The row broken between words into as many as it needs; only the first keeps the key."""
    if row.width <= width:
        return [row]
    if row.cut:
        return [fit(row, width)]
    rows: list[list[Span]] = [[]]
    used, indent = 0, min(row.indent, width // 2)
    for word, role in _words(row.spans, max(width - indent, 1)):
        if used + cell_len(word.rstrip()) > width and rows[-1]:
            rows.append([(" " * indent, "")])
            used = indent
        rows[-1].append((word, role))
        used += cell_len(word)
    first, *rest = (_without_end(spans) for spans in rows)
    return [replace(row, spans=first), *(replace(row, spans=spans, key="", value="", here=False) for spans in rest)]


def _without_end(spans: list[Span]) -> tuple[Span, ...]:
    """Spans without the blanks after the last word."""
    *others, (text, role) = spans
    return (*others, (text.rstrip(), role))


def _words(spans: Iterable[Span], longest: int) -> Iterator[Span]:
    """Words with the blanks after them; one that is too long for any row is cut."""
    for text, role in spans:
        start = 0
        while start < len(text):
            end = start
            while end < len(text) and text[end] != " ":
                end += 1
            while end < len(text) and text[end] == " ":
                end += 1
            end = min(end, start + longest)
            yield text[start:end], role
            start = end


def paragraphs(rows: Iterable[Line], width: int, most: int) -> list[Line]:
    """Rows wrapped, at most so many; the last one then ends in an ellipsis."""
    wrapped = [part for row in rows for part in wrap(row, width)]
    if len(wrapped) <= most:
        return wrapped
    last = wrapped[most - 1] if most > 0 else Line()
    more = (" …", "dim") if last.width + 2 <= width else (" " * width, "")
    return [*wrapped[: max(most - 1, 0)], fit(replace(last, spans=(*last.spans, more)), width)]


def columns(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of a table padded to the widths of their columns, the last one left as it is."""
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    return [
        [*(set_cell_size(cell, width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]] for row in table
    ]
