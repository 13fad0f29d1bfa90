"""The key-set pane: while the reader walks through the card its rows and its title are those of one sub-step."""

from __future__ import annotations

from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import KEYS
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.panes.row_changes import GUTTER, marked
from dispatchviz.views.text.long_text import cut_row
from dispatchviz.views.text.styled_line import Line

TITLE, MODULE = PANES[KEYS]


class KeySetView(PaneView):
    """Shows the card that the cursor is at, and which sub-step of it."""

    def __init__(self) -> None:
        super().__init__(KEYS, TITLE, rows_of(MODULE))

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        title = f"{TITLE}  {self._stage_of(cursor)}".rstrip()
        if title != self.title:
            self.title = title
            self.refresh_title()
        super().show(cursor, width, height)

    def _stage_of(self, cursor: Cursor) -> str:
        if cursor.stage is None:
            return ""
        from dispatchviz.views.panes.key_set_pane import title_at  # with the pane, not for the first paint

        return title_at(cursor.trace, cursor.at, cursor.stage)

    def rows_at(self, cursor: Cursor) -> list[Line]:
        if cursor.stage is None:
            return super().rows_at(cursor)
        from dispatchviz.views.panes.key_set_pane import rows_at

        shown = rows_at(cursor.trace, cursor.at, self.port.row_width - GUTTER, cursor.stage)
        return marked(map(cut_row, shown), ())
