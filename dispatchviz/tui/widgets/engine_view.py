"""The pane of the engine: the sections that the step is about, or all, as the reader has chosen."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import ENGINE
from dispatchviz.views.panes.pane_list import PANES
from dispatchviz.views.text.styled_line import Line

TITLE, _ = PANES[ENGINE]


class EngineView(PaneView):
    """Unfolds as many sections as the cursor says."""

    def __init__(self) -> None:
        super().__init__(ENGINE, TITLE, self._sections)
        self._unfolds = False

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        if cursor.unfolds_engine != self._unfolds:
            self._unfolds = cursor.unfolds_engine
            self.rows.forget()  # with other sections
            self.title = f"{TITLE}  unfolded" if self._unfolds else TITLE
            self.refresh_title()
        super().show(cursor, width, height)

    def _sections(self, trace: Trace, at: int, width: int) -> list[Line]:
        from dispatchviz.views.panes.engine_pane import rows_as  # with the pane, not for the first paint

        return rows_as(trace, at, whole=self._unfolds)
