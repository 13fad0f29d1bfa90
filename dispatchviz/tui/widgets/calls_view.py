"""The pane of the call stack: short, or whole, as the reader has chosen."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.cursor_state import ShownStack
from dispatchviz.views.layout.pane_layout import CALLS
from dispatchviz.views.panes.pane_list import PANES
from dispatchviz.views.text.styled_line import Line

TITLE, _ = PANES[CALLS]


class CallsView(PaneView):
    """Shows as much of the stack as the cursor says."""

    def __init__(self) -> None:
        super().__init__(CALLS, TITLE, self._frames)
        self._how: ShownStack = "short"

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        if cursor.frames != self._how:
            from dispatchviz.views.panes.calls_pane import TITLES  # with the pane, not for the first paint

            self._how = cursor.frames
            self.rows.forget()  # of the other stack
            self.title = f"{TITLE}  {TITLES[self._how]}".rstrip()
            self.refresh_title()
        super().show(cursor, width, height)

    def _frames(self, trace: Trace, at: int, width: int) -> list[Line]:
        from dispatchviz.views.panes.calls_pane import rows_as

        return rows_as(self._how, trace, at, width)
