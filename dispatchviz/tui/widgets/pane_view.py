"""A pane beside the steps: the rows that a function of ``panes`` makes of a step, with signs where they changed."""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest

from rich.style import Style
from textual import events

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.widgets.chosen_rows import beginnings, choices, next_choice, pointed, same_choice
from dispatchviz.tui.widgets.rows_view import Ask, Goto, RowsView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import key_of
from dispatchviz.views.panes.nothing_said import nothing
from dispatchviz.views.panes.pane_list import Rows
from dispatchviz.views.panes.row_changes import GUTTER, marked
from dispatchviz.views.predictions import spoilers
from dispatchviz.views.text.line_fitting import cut_row, wrap
from dispatchviz.views.text.styled_line import Line

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
        self._starts: list[int] = []
        """Of each of these where the row begins that it is a part of."""
        self._chosen: int | None = None
        """Where the chosen row begins."""
        self._walked: tuple[Trace | None, int] = (None, -1)
        """The step at which the reader has walked through the rows: there they stay where they are."""

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
        return pointed(self._wrapped[at]) if self.has_focus and at == self._chosen else self._wrapped[at]

    def row_base(self, at: int) -> Style:
        if self.has_focus and self._chosen is not None and at < self.port.count and self._starts[at] == self._chosen:
            return self.palette.base + self.palette.highlight
        shaded = at < self.port.count and self._wrapped[at].shaded
        return self.palette.base + self.palette.shade if shaded else self.palette.base

    # -- the chosen row ------------------------------------------------------------------------------------------------

    @property
    def shown_title(self) -> str:
        row = self.chosen_row if self.has_focus else None
        if row is None:
            return self.title
        enter, ask, leave = (key_of(action).first for action in ("app.enter", "app.ask_thing", "zoom(False)"))
        goes = f"{enter} goes there" if row.goto is not None else f"{enter} asks"
        asks = f", {ask} asks" if row.goto is not None and row.about is not None else ""
        return f"{self.title} ›{goes}{asks}, {leave} leaves"

    @property
    def chosen_row(self) -> Line | None:
        if self._chosen is None:
            return None
        return self._wrapped[self._chosen] if self._wrapped else self.said

    def choose(self, direction: int) -> bool:
        at, self._walked = self._next_choice(direction), self._place
        if at is None:
            before = self.port.top
            self.scroll_rows(before + direction)
            return self.port.top != before
        self._chosen = at
        self.reveal(at, AROUND)
        self.refresh()
        return True

    def let_go(self) -> bool:
        was, self._chosen = self._chosen, None
        if was is not None:
            self.refresh()
        return was is not None

    def _next_choice(self, direction: int) -> int | None:
        """Of a pane that is only a title, which says where there will be something, the title."""
        if not self._wrapped:
            return 0 if (said := self.said) is not None and said.goto is not None else None
        return next_choice(choices(self._wrapped, self._starts), self._chosen, self.port, direction)

    def pointed_at(self, at: int) -> None:
        row = self._wrapped[at]
        if row.goto is not None:
            self.post_message(Goto(row.goto))
        elif row.about is not None:
            self.post_message(Ask(row))

    def fitted(self) -> None:
        rows = self._rows(self._cursor) if self._cursor else []
        before, chosen = self._wrapped, self.chosen_row
        parts = [_parts(row, self.port.row_width) for row in rows]
        self._wrapped = [part for row in parts for part in row]
        self._starts = beginnings(parts)
        self._stay_in_reach()
        self.port.count = len(self._wrapped)
        self._scroll()
        self._chosen = same_choice(self._wrapped, self.port, chosen)
        if len(before) != self.port.count or chosen is not None:
            self.refresh()  # the scroll bar changes with it, or the highlight
        else:
            pairs = enumerate(zip_longest(before, self._wrapped))
            self.refresh_rows(at for at, (old, new) in pairs if old != new)

    def _scroll(self) -> None:
        """Brings the row to look at into sight, unless the reader looks at others already."""
        here = next((at for at, row in enumerate(self._wrapped) if row.here), None)
        if self._place == self._walked:
            self.scroll_rows(self.port.top)
        elif here is None:
            self.scroll_rows(0)
        else:
            self.reveal(here, AROUND)

    @property
    def _place(self) -> tuple[Trace | None, int]:
        return (None, -2) if self._cursor is None else (self._cursor.trace, self._cursor.at)

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
