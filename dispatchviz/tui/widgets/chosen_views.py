"""Panes with several views: a sub-step of the key-set card, a form of the call stack, sections of the engine."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.cursor_state import ShownStack
from dispatchviz.views.layout.pane_layout import CALLS, ENGINE, KEYS
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.panes.row_changes import GUTTER, marked
from dispatchviz.views.text.line_fitting import cut_row
from dispatchviz.views.text.styled_line import Line

ENGINE_TITLE, _ = PANES[ENGINE]


class EngineView(PaneView):
    """The engine pane, which unfolds the sections that the cursor asks for."""

    def __init__(self) -> None:
        super().__init__(ENGINE, ENGINE_TITLE, self._sections)
        self._unfolds = False

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        if cursor.unfolds_engine != self._unfolds:
            self._unfolds = cursor.unfolds_engine
            self.rows.forget()  # other sections are open
            self.title = f"{ENGINE_TITLE}  unfolded" if self._unfolds else ENGINE_TITLE
            self.refresh_title()
        super().show(cursor, width, height)

    def _sections(self, trace: Trace, at: int, width: int) -> list[Line]:
        from dispatchviz.views.panes.engine_pane import rows_as  # needed only with the pane

        return rows_as(trace, at, whole=self._unfolds)


CALLS_TITLE, _ = PANES[CALLS]


class CallsView(PaneView):
    """The Calls pane, which shows the stack in the cursor's form."""

    def __init__(self) -> None:
        super().__init__(CALLS, CALLS_TITLE, self._frames)
        self._how: ShownStack = "short"

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        if cursor.frames != self._how:
            from dispatchviz.views.panes.calls_pane import TITLES  # needed only with the pane

            self._how = cursor.frames
            self.rows.forget()  # the other stack has other rows
            self.title = f"{CALLS_TITLE}  {TITLES[self._how]}".rstrip()
            self.refresh_title()
        super().show(cursor, width, height)

    def _frames(self, trace: Trace, at: int, width: int) -> list[Line]:
        from dispatchviz.views.panes.calls_pane import rows_as

        return rows_as(self._how, trace, at, width)


TITLE, MODULE = PANES[KEYS]


class KeySetView(PaneView):
    """The key-set pane, which shows the card at the cursor and its sub-step."""

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
        from dispatchviz.views.panes.key_set_pane import title_at  # needed only with the pane

        return title_at(cursor.trace, cursor.at, cursor.stage)

    def rows_at(self, cursor: Cursor) -> list[Line]:
        if cursor.stage is None:
            return super().rows_at(cursor)
        from dispatchviz.views.panes.key_set_pane import rows_at

        shown = rows_at(cursor.trace, cursor.at, self.port.row_width - GUTTER, cursor.stage)
        return marked(map(cut_row, shown), ())
