"""A text over the stepper, scrolled with the keys that scroll everything: the help, generated code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding

from dispatchviz.tui.palette import Palette
from dispatchviz.tui.text import Line, wrap
from dispatchviz.tui.titled import TitledView


class TextView(TitledView):
    """Subclasses say what the text is."""

    BINDINGS: ClassVar = [
        Binding("down,n,j", "rows(1)", show=False),
        Binding("up,N,k", "rows(-1)", show=False),
        Binding("pagedown,space", "pages(1)", show=False),
        Binding("pageup", "pages(-1)", show=False),
    ]

    def __init__(self, title: str, palette: Palette) -> None:
        super().__init__(0, title)
        self.palette = palette
        self._rows: list[Line] = []

    def text(self) -> Sequence[Line]:
        """Its lines; those that are too long for the view are wrapped."""
        raise NotImplementedError

    def on_resize(self) -> None:
        self.fit(*self.size)

    def fitted(self) -> None:
        self._rows = [part for row in self.text() for part in wrap(row, self.row_width)]
        self.count = len(self._rows)
        self.refresh()

    def row(self, at: int, width: int) -> Line:
        return self._rows[at]

    def action_rows(self, number: int) -> None:
        self.scroll_rows(self.top + number)

    def action_pages(self, number: int) -> None:
        self.scroll_rows(self.top + number * max(self.rows_in_sight - 1, 1))
