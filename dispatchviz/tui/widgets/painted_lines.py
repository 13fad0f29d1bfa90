"""Lines painted without Textual's handling of borders, padding, opacity and links, which bars and panes do not have.

That handling makes six strips for each line and takes half the time of a step. Here, a line is made once, and again
only when it or the whole widget is refreshed or resized.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from textual.geometry import NULL_SIZE, Region, Size
from textual.strip import Strip
from textual.widget import Widget

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.views.text.styled_line import Line


class PaintedLines(Widget):
    """A widget whose ``render_line`` returns the whole line. Widgets with padding are left to Textual."""

    def __init__(self, name: str) -> None:
        self._painted, self._painted_size = dict[int, Strip](), NULL_SIZE
        super().__init__(id=name)

    def expect(self, width: int, height: int) -> None:
        """Accept the size of the next layout early. Otherwise Textual would lay out and paint once more for a new
        size.
        """
        self.set_reactive(Widget.virtual_size, Size(width, height))

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Refresh as usual, and discard the stored lines of the refreshed part."""
        if not regions:
            self._painted.clear()
        self._forget(y for region in regions for y in region.line_range)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a part of the widget."""
        if self.gutter:
            return super().render_lines(crop)
        size, painted = self.size, self._painted
        if self._painted_size != size:
            self._painted_size = size
            painted.clear()
        if missing := [y for y in crop.line_range if y not in painted]:
            self._paint(missing, size.width)
        strips = [painted[y] for y in crop.line_range]
        return strips if crop.column_span == (0, size.width) else [strip.crop(*crop.column_span) for strip in strips]

    def _paint(self, lines: Iterable[int], width: int) -> None:
        filters, background = self.get_line_filters(), self.background_colors[1]
        for y in lines:
            strip = self.render_line(y).adjust_cell_length(width)
            for each in filters:
                strip = strip.apply_filter(each, background)
            self._painted[y] = strip

    def _forget(self, lines: Iterable[int]) -> None:
        for y in lines:
            self._painted.pop(y, None)


class Bar(PaintedLines):
    """A bar with rows of text, cut to its size."""

    palette: Palette

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._rows: Sequence[Line] = ()

    def show(self, rows: Sequence[Line]) -> None:
        """Replace the text."""
        if rows != self._rows:
            self._rows = rows
            self.refresh()

    @property
    def plain(self) -> list[str]:
        """The text, one string per row."""
        return [row.plain for row in self._rows]

    def render_line(self, y: int) -> Strip:
        row = self._rows[y] if y < len(self._rows) else Line()
        style = self.palette.base if self.id == "why" else self.palette.bar
        return self.palette.strip(row, self.size.width, style)
