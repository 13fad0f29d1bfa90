"""A pane beside the steps: the rows that a function makes of a place in the trace, with signs where a step changed
them. The functions are in the ``*_pane`` modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest

from msgspec.structs import replace
from rich.style import Style

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.text import Line, Span, wrap
from dispatchviz.tui.titled import Goto, TitledView

Rows = Callable[[Trace, int, int], list[Line]]
"""What a pane shows as of a step, in so many cells."""

GUTTER = 2
"""Cells left of the text, for the sign of a change."""

NOTHING = (-1, 0)
"""No step at no width."""

AROUND = 4
"""Rows kept in sight above and below the one to look at."""


class Pane(TitledView):
    """Shows what ``make`` makes of the place where the reader stands."""

    def __init__(self, number: int, title: str, make: Rows) -> None:
        super().__init__(number, title)
        self._make = make
        self._cursor: Cursor | None = None
        self._made: tuple[tuple[int, int], list[Line]] = (NOTHING, [])
        self._wrapped: list[Line] = []

    def show(self, cursor: Cursor) -> None:
        """Follows the cursor; rows that differ from where it came from get a sign."""
        if cursor is not self._cursor:
            self._cursor = cursor
            self.fitted()

    def show_again(self) -> None:
        """Makes the rows anew, because what they depend on besides the step has changed."""
        self._made = (NOTHING, [])
        self.fitted()

    @property
    def plain(self) -> list[str]:
        """All rows as text, those out of sight too."""
        return [row.plain for row in self._wrapped]

    def row(self, at: int, width: int) -> Line:
        return self._wrapped[at]

    def row_base(self, at: int) -> Style:
        shaded = at < self.count and self._wrapped[at].shaded
        return self.palette.base + self.palette.shade if shaded else self.palette.base

    def pointed_at(self, at: int) -> None:
        if (step := self._wrapped[at].goto) is not None:
            self.post_message(Goto(step))

    def fitted(self) -> None:
        rows = self._rows(self._cursor) if self._cursor else []
        before, self._wrapped = self._wrapped, [part for row in rows for part in wrap(row, self.row_width)]
        self.count = len(self._wrapped)
        here = next((at for at, row in enumerate(self._wrapped) if row.here), None)
        if here is None:
            self.scroll_rows(0)
        else:
            self.reveal(here, AROUND)
        if len(before) != self.count:
            self.refresh()  # the scroll bar changes with it
        else:
            pairs = enumerate(zip_longest(before, self._wrapped))
            self.refresh_rows(at for at, (old, new) in pairs if old != new)

    def _rows(self, cursor: Cursor) -> list[Line]:
        before = self._rows_at(cursor.trace, cursor.at if cursor.came_from is None else cursor.came_from)
        return marked(self._rows_at(cursor.trace, cursor.at), before)

    def _rows_at(self, trace: Trace, at: int) -> list[Line]:
        width = self.row_width - GUTTER
        if self._made[0] != (at, width):
            self._made = (at, width), self._make(trace, at, width)
        return self._made[1]


def marked(now: Iterable[Line], before: Iterable[Line]) -> list[Line]:
    """The rows behind a gutter: ``+`` and bold if new, ``~``, bold and the former value if not what it was."""
    old = {row.key: row for row in before}
    return [_marked(row, old.get(row.key)) for row in now]


def _marked(row: Line, was: Line | None) -> Line:
    if not row.key or (was and _told(was) == _told(row)):
        spans = (("  ", ""), *row.spans)
    elif was is None:
        spans = (("+ ", "new"), *_loud(row))
    else:
        spans = (("~ ", "new"), *_loud(row, f" (was {was.value})" if row.value and was.value != row.value else ""))
    return replace(row, spans=spans, indent=row.indent + GUTTER)


def _told(row: Line) -> str:
    """What a row says apart from being the one to look at."""
    return row.plain.replace("▶", " ")


def _loud(row: Line, former: str = "") -> tuple[Span, ...]:
    """The spans in bold, the former value right after the value."""
    spans = [(text, f"new:{role}") for text, role in row.spans]
    at = next((at for at, (text, _) in enumerate(spans, 1) if text == row.value), len(spans))
    return (*spans[:at], (former, "was"), *spans[at:])
