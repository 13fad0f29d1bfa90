"""A pane beside the steps: the rows that a function of ``panes`` makes of a step, with signs where they changed."""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest

from rich.style import Style
from textual import events

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.panes.nothing_said import nothing
from dispatchviz.tui.panes.pane_list import Rows
from dispatchviz.tui.panes.row_changes import GUTTER, marked
from dispatchviz.tui.predictions import spoilers
from dispatchviz.tui.text.line_fitting import wrap
from dispatchviz.tui.text.long_text import cut_row
from dispatchviz.tui.text.styled_line import Line
from dispatchviz.tui.widgets.rows_view import Goto, RowsView

Place = tuple[Trace | None, int, int]
"""Trace, step, width."""

NOTHING: Place = (None, -1, 0)

AROUND = 4
"""Rows kept in sight above and below the one to look at."""


class PaneView(RowsView):
    """Shows the rows that ``make`` returns for the step of the cursor."""

    def __init__(self, number: int, title: str, make: Rows) -> None:
        super().__init__(number, title)
        self._make = make
        self._cursor: Cursor | None = None
        self._made: tuple[Place, list[Line]] = (NOTHING, [])
        self._wrapped: list[Line] = []

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        """Follows the cursor; rows that differ from where it came from get a sign."""
        if self.port.resize(width, height) or cursor is not self._cursor:
            self._cursor = cursor
            self.fitted()
            if self.port.height == 1:
                self.refresh()

    @property
    def said(self) -> Line | None:
        cursor = self._cursor
        said = None if cursor is None else nothing(self.number, cursor.trace, cursor.at)
        return said if cursor is None or said is None else spoilers.without_step(said, cursor)

    def on_click(self, event: events.Click) -> None:
        """A title that says when there will be something leads there."""
        said = self.said if self.port.height == 1 else None
        if said is None or said.goto is None:
            super().on_click(event)
        else:
            self.post_message(Goto(said.goto))

    def show_again(self) -> None:
        """Makes the rows again, because what they depend on besides the step has changed."""
        self._made = (NOTHING, [])
        self.fitted()

    @property
    def plain(self) -> list[str]:
        """All rows as text, with what is out of sight."""
        return [row.plain for row in self._wrapped]

    def row(self, at: int, width: int) -> Line:
        return self._wrapped[at]

    def row_base(self, at: int) -> Style:
        shaded = at < self.port.count and self._wrapped[at].shaded
        return self.palette.base + self.palette.shade if shaded else self.palette.base

    def pointed_at(self, at: int) -> None:
        if (step := self._wrapped[at].goto) is not None:
            self.post_message(Goto(step))

    def fitted(self) -> None:
        rows = self._rows(self._cursor) if self._cursor else []
        before, self._wrapped = self._wrapped, [part for row in rows for part in _parts(row, self.port.row_width)]
        self._stay_in_reach()
        self.port.count = len(self._wrapped)
        here = next((at for at, row in enumerate(self._wrapped) if row.here), None)
        if here is None:
            self.scroll_rows(0)
        else:
            self.reveal(here, AROUND)
        if len(before) != self.port.count:
            self.refresh()  # the scroll bar changes with it
        else:
            pairs = enumerate(zip_longest(before, self._wrapped))
            self.refresh_rows(at for at, (old, new) in pairs if old != new)

    def _stay_in_reach(self) -> None:
        """Scrolls back as far as rows are shorter now."""
        widest = max((row.width for row in self._wrapped if row.cut), default=0)
        if self.port.left > max(widest - self.port.row_width, 0):
            self.port.left = max(widest - self.port.row_width, 0)
            self.refresh()

    def _rows(self, cursor: Cursor) -> list[Line]:
        if self.port.height <= 1:
            return []  # only the title is in sight
        if (hidden := spoilers.hidden(self.number, cursor)) is not None:
            return [hidden]
        before = self._rows_at(cursor.trace, cursor.at if cursor.came_from is None else cursor.came_from)
        return spoilers.without_hidden(marked(self._rows_at(cursor.trace, cursor.at), before), cursor)

    def _rows_at(self, trace: Trace, at: int) -> list[Line]:
        width = self.port.row_width - GUTTER
        if self._made[0] != (trace, at, width):
            self._made = (trace, at, width), [cut_row(row) for row in self._make(trace, at, width)]
        return self._made[1]


@lru_cache(maxsize=4096)
def _parts(row: Line, width: int) -> list[Line]:
    """A row that is cut stays whole here: it may be scrolled sideways. Most rows are those of the step before."""
    return [row] if row.cut else wrap(row, width)
