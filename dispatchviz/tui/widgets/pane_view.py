"""A pane beside the steps: it shows the rows of the step (``PaneRows``) and the reader's chosen row.

Elsewhere: the contents of rows (``views/panes``), the choice of the next row (``views/panes/chosen_rows.py``).
"""

from __future__ import annotations

from msgspec.structs import replace
from rich.style import Style
from textual import events

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.widgets.rows_view import Ask, Goto, RowsView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.panes.ahead import title_ahead
from dispatchviz.views.panes.chosen_rows import ChosenRows, pointed, title_with_keys
from dispatchviz.views.panes.pane_list import Rows
from dispatchviz.views.panes.pane_rows import PaneRows
from dispatchviz.views.text.styled_line import Line

AROUND = 4
"""The rows to keep visible above and below the row in view."""


class PaneView(RowsView):
    """The view of a pane, with the rows that ``make`` returns for the step of the cursor."""

    def __init__(self, number: int, title: str, make: Rows) -> None:
        super().__init__(number, title)
        self.rows = PaneRows(number, make)
        self.shown = ChosenRows()
        self._cursor: Cursor | None = None
        self._ahead = ""
        """The addition to the title while the pane looks ahead within the row."""
        self._walked: tuple[Trace, int] | None = None
        """The step at which the reader has moved through the rows; there, the scroll position is kept."""

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        """Follow the cursor. Rows that differ from the previous step get a sign."""
        if self.port.resize(width, height) or cursor is not self._cursor:
            self._cursor, before, self._ahead = cursor, self._ahead, title_ahead(self.number, cursor)
            self.fitted()
            if self._ahead != before:
                self.refresh_title()
            if self.port.height == 1:
                self.refresh()

    def show_again(self) -> None:
        """Make the rows again, because something other than the step has changed."""
        self.rows.forget()
        self.fitted()

    def rows_at(self, cursor: Cursor) -> list[Line]:
        """The rows at a step."""
        return self.rows.at(cursor, self.port.row_width)

    @property
    def plain(self) -> list[str]:
        """All rows as text, visible or not."""
        return [row.plain for row in self.shown.lines]

    def row(self, at: int, width: int) -> Line:
        row = self.shown.lines[at]
        return pointed(row) if self.has_focus and at == self.shown.chosen else row

    def row_base(self, at: int) -> Style:
        if self.has_focus and self.shown.is_chosen(at):
            return self.palette.base + self.palette.highlight
        shaded = at < self.port.count and self.shown.lines[at].shaded
        return self.palette.base + self.palette.shade if shaded else self.palette.base

    @property
    def shown_title(self) -> str:
        row = self.chosen_row if self.has_focus else None
        title = f"{self.title}{self._ahead}"
        return title if row is None else title_with_keys(title, row)

    def on_click(self, event: events.Click) -> None:
        """Go to the step in the title of an empty pane when it is clicked."""
        at = self.port.row_at(event.y)
        row = self.said if self.port.height == 1 else None if at is None else self.shown.lines[at]
        if row is not None and row.goto is not None:
            self.post_message(Goto(row.goto))
        elif row is not None and row.about is not None:
            self.post_message(Ask(row))

    @property
    def chosen_row(self) -> Line | None:
        return self.shown.chosen_row

    def choose(self, direction: int) -> bool:
        """Choose the next row that leads somewhere, or else scroll. Return whether there was anything to do."""
        after, self._walked = self.shown.next(direction, self.port.in_sight), self._place
        if after is None or after.chosen is None:
            return self.scroll_rows(self.port.top + direction)
        self.shown = after
        self.reveal(after.chosen, AROUND)
        self.refresh()
        return True

    def let_go(self) -> bool:
        """Clear the chosen row. Return whether there was one."""
        was, self.shown = self.shown.chosen, replace(self.shown, chosen=None)
        if was is not None:
            self.refresh()
        return was is not None

    def fitted(self) -> None:
        before, chosen, port = self.shown, self.chosen_row, self.port
        self.shown = ChosenRows() if self._cursor is None else self._shown_at(self._cursor)
        self.said, port.count = self.shown.said if port.height == 1 else None, len(self.shown.lines)
        stays = self._place == self._walked
        moved = port.scroll(port.top) if stays else port.look(self.shown.here, AROUND)
        moved |= port.sideways(0, self.shown.widest)  # rows may be shorter now
        self.shown = self.shown.same(chosen, port.in_sight)
        if moved or len(before.lines) != port.count or chosen is not None:
            self.refresh()  # the scroll bar changes with the number of rows, the highlight with the chosen one
        else:
            self.refresh_rows(self.shown.changed(before))

    def _shown_at(self, cursor: Cursor) -> ChosenRows:
        rows = self.rows_at(cursor) if self.port.height > 1 else []  # otherwise only the title is visible
        return ChosenRows.of(rows, self.port.row_width, None if rows else self.rows.said(cursor), self.port.rows)

    @property
    def _place(self) -> tuple[Trace, int] | None:
        return None if self._cursor is None else (self._cursor.trace, self._cursor.at)
