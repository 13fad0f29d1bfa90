"""The step list: the unfolded part of the trace. The row of the cursor is highlighted, and hits of the search are
marked.

Rows are made when they become visible, so the length of the trace does not matter. Elsewhere: the text of rows and of
the title (``views/panes/step_rows.py``), rows over several lines (``wrapped_steps.py``), the moves (``views/cursor``).
"""

from __future__ import annotations

from rich.style import Style

from dispatchviz.tui.widgets.rows_view import Goto, RowsView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.panes.step_rows import cells_cut, step_row, steps_title
from dispatchviz.views.panes.wrapped_steps import WrappedSteps, wrapped_steps
from dispatchviz.views.text.styled_line import Line, line

AROUND = 3
"""The steps to keep visible before and after the cursor's step."""

HITS = {"│": "├", "┃": "┣"}
"""The scroll bar's sign for hits."""


class StepList(RowsView):
    """The list of the cursor's rows."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(STEPS, "Steps")
        self._cursor = cursor
        self.short = False
        """True if the names of kernels are left out."""
        self._searched: tuple[str, int] = ("", 0)
        """The query whose hits were painted last, and their number."""
        self._wrapped: WrappedSteps | None = None
        """The lines of the list while some of them are free, so that rows wrap."""
        self.port.count = len(cursor.rows)

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        """Highlight the step of the cursor and bring it into view."""
        self.port.resize(width, height)
        before, self._cursor = self._cursor, cursor
        was, self._wrapped = self._wrapped, self._lines()
        if was is None and self._wrapped is None:
            self._show_rows(before, cursor)
        else:
            self._show_lines(was, before)
        self._show_hits(cursor)

    def _lines(self) -> WrappedSteps | None:
        """The lines of the list while some are free; None while each row is one line."""
        return wrapped_steps(self._cursor, self.port.row_width, self.port.rows, self.short)

    def _show_lines(self, was: WrappedSteps | None, before: Cursor) -> None:
        """Show a list that wraps its rows, or has stopped to do so."""
        now = self._wrapped
        if now is None or was is None or len(now.lines) != len(was.lines):
            self.port.count = len(self._cursor.rows) if now is None else len(now.lines)
            self.refresh()
        else:
            lit = {before.row_number, self._cursor.row_number}
            self.refresh_rows({*now.changed(was), *(at for at, row in enumerate(now.rows) if row in lit)})
        self.reveal(self._first_line, AROUND)

    def _show_rows(self, before: Cursor, cursor: Cursor) -> None:
        if before.rows is not cursor.rows and before.rows != cursor.rows:
            self.port.count = len(cursor.rows)
            self.refresh()
        elif before.trace is not cursor.trace or _signs(before) != _signs(cursor):  # the remaining rows have new texts
            self.refresh()
        self.reveal(cursor.row_number, AROUND)
        if cells_cut(before, self.port.row_width) == cells_cut(cursor, self.port.row_width):
            self.refresh_rows({before.row_number, cursor.row_number})
        else:
            self.refresh()

    @property
    def _first_line(self) -> int:
        """The first line of the cursor's row."""
        row = self._cursor.row_number
        return row if self._wrapped is None else self._wrapped.rows.index(row)

    def _row_of(self, at: int) -> int:
        """The number of the row of a line."""
        return at if self._wrapped is None or at >= len(self._wrapped.rows) else self._wrapped.rows[at]

    def _show_hits(self, cursor: Cursor) -> None:
        """Repaint the title, and the marks of hits if they changed."""
        searched = (cursor.search.query, cursor.search.found) if cursor.search else ("", 0)
        if searched != self._searched:
            self._searched = searched
            self.refresh()
        title = steps_title(cursor)
        if title != self.title:
            self.title = title
            self.refresh_title()

    def row(self, at: int, width: int) -> Line:
        return step_row(self._cursor, at, width, self.short) if self._wrapped is None else self._wrapped.lines[at]

    def bar_cell(self, y: int) -> Line:
        """The scroll bar, with a sign if there are hits in the rows that a cell represents."""
        bar, search, port = self.port.bar_cell(y), self._cursor.search, self.port
        if not bar.spans or search is None or not search.found:
            return bar
        first, last = (y - 1) * port.count // port.rows, y * port.count // port.rows
        rows = self._cursor.rows
        end = rows[last] - 1 if last < len(rows) else self._cursor.last_step
        seen = first < min(last, len(rows))  # not below the rows: a widget may be painted once more in its former size
        hits = seen and search.between(rows[first], end)
        return line((HITS[bar.plain], "hit")) if hits else bar

    def row_base(self, at: int) -> Style:
        here = at < self.port.count and self._row_of(at) == self._cursor.row_number
        return self.palette.base + self.palette.highlight if here else self.palette.base

    def pointed_at(self, at: int) -> None:
        self.post_message(Goto(self._cursor.rows[self._row_of(at)]))

    def fitted(self) -> None:
        self._wrapped = self._lines()
        self.port.count = len(self._cursor.rows) if self._wrapped is None else len(self._wrapped.lines)
        self.reveal(self._first_line, AROUND)


def _signs(cursor: Cursor) -> tuple[object, ...]:
    """The inputs of rows other than their steps."""
    return cursor.ahead, cursor.outline and cursor.outline.level, cursor.opened, cursor.marks, cursor.breakpoints
