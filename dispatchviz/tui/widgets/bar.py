"""A bar above or below the panes, which never scrolls. Its rows come from ``bars``."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.painted_lines import PaintedLines
from dispatchviz.views.text.styled_line import Line


class Bar(PaintedLines):
    """Rows of text, cut to the size that the layout gives."""

    palette: Palette

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._rows: Sequence[Line] = ()

    def show(self, rows: Sequence[Line]) -> None:
        """Replaces the text."""
        if rows != self._rows:
            self._rows = rows
            self.refresh()

    @property
    def plain(self) -> list[str]:
        """The text, a string per row."""
        return [row.plain for row in self._rows]

    def render_line(self, y: int) -> Strip:
        row = self._rows[y] if y < len(self._rows) else Line()
        style = self.palette.base if self.id == "why" else self.palette.bar
        return self.palette.strip(row, self.size.width, style)
