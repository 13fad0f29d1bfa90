"""The rows of a pane as a reader sees them: made for a step, with signs for changes, and without hidden outcomes."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import TENSORS
from dispatchviz.views.panes.ahead import looks_ahead, row_end, shown_step, without_here
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.panes.pane_list import Rows
from dispatchviz.views.panes.row_changes import GUTTER, marked
from dispatchviz.views.predictions import spoilers
from dispatchviz.views.text.line_fitting import cut_row
from dispatchviz.views.text.styled_line import Line


class PaneRows:
    """The rows of one pane. The rows of the previous step are stored, so that the next step can be compared with
    them.
    """

    def __init__(self, number: int, make: Rows) -> None:
        self._number, self._make = number, make
        self._made: tuple[Trace | None, int, int] = (None, -1, 0)
        """The trace, step and width of the stored rows."""
        self._kept: list[Line] = []

    def forget(self) -> None:
        """Delete the stored rows, because something other than the step has changed."""
        self._made = (None, -1, 0)

    def said(self, cursor: Cursor) -> Line | None:
        """The text in the title of a pane without rows."""
        said = nothing(self._number, cursor.trace, cursor.at)
        return spoilers.hidden(self._number, cursor) if said is None else spoilers.without_step(said, cursor)

    def at(self, cursor: Cursor, width: int) -> list[Line]:
        """The rows at the step of a cursor. Rows that differ from the previous step get a sign."""
        if (hidden := spoilers.hidden(self._number, cursor)) is not None:
            return [hidden]
        if looks_ahead(self._number, cursor):
            ahead = self._rows(cursor.trace, shown_step(self._number, cursor), width - GUTTER)
            return marked(map(without_here, ahead), ())
        trace, before = cursor.trace, cursor.at if cursor.came_from is None else cursor.came_from
        rows_before = self._rows(trace, before, width - GUTTER)
        now = marked(self._rows(trace, cursor.at, width - GUTTER), rows_before)
        return [*self._results(cursor), *spoilers.without_hidden(now, cursor)]

    def _results(self, cursor: Cursor) -> list[Line]:
        """The rows of what the cursor's row makes, in the pane of the tensors, unless they must be guessed first."""
        end = row_end(cursor) if self._number == TENSORS else cursor.at
        if end == cursor.at or cursor.hides(end):
            return []
        from dispatchviz.views.panes.tensors_pane import result_rows  # needed only with the pane

        return marked(map(cut_row, result_rows(cursor.trace, cursor.at, end)), ())

    def _rows(self, trace: Trace, at: int, width: int) -> list[Line]:
        if self._made != (trace, at, width):
            self._made, self._kept = (trace, at, width), [cut_row(row) for row in self._make(trace, at, width)]
        return self._kept
