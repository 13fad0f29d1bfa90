"""A text over the stepper, such as the help or generated code. The usual keys scroll it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.rows_view import RowsView
from dispatchviz.views.text.line_fitting import wrap
from dispatchviz.views.text.styled_line import Line


class TextView(RowsView):
    """The base class of texts over the stepper. Subclasses override ``text``."""

    BINDINGS: ClassVar = [
        Binding("down,n,j", "rows(1)", show=False),
        Binding("up,N,k", "rows(-1)", show=False),
        Binding("pagedown,space", "pages(1)", show=False),
        Binding("pageup", "pages(-1)", show=False),
        Binding("home,g", "rows(-1000000)", show=False),
        Binding("end,G", "rows(1000000)", show=False),
    ]

    def __init__(self, title: str, palette: Palette) -> None:
        super().__init__(0, title)
        self.palette = palette
        self._rows: list[Line] = []

    def text(self) -> Sequence[Line]:
        """The lines of the text; long ones are wrapped later."""
        raise NotImplementedError

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self._rows = [part for row in self.text() for part in wrap(row, self.port.row_width)]
        self.port.count = len(self._rows)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        return self._rows[at]

    def action_rows(self, number: int) -> None:
        self.scroll_rows(self.port.top + number)

    def action_pages(self, number: int) -> None:
        self.scroll_rows(self.port.top + number * self.port.page)
