"""The rows around the panes, which are always on the screen and never scroll; what is in the footer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from dispatchviz.tui.keymap import FOOTER_KEYS, KEYMAP, Key
from dispatchviz.tui.palette import Palette
from dispatchviz.tui.text import Line, Span, line


class Bar(Widget):
    """Rows of text, cut to the size that the layout gives."""

    palette: Palette

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
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


def footer_row(width: int, breakpoints: bool = False) -> Line:
    """The keys of the footer, as many as fit, help and quit always."""
    keys = [key for key in KEYMAP if key.footer][:FOOTER_KEYS]
    parts = [_caps(key, breakpoints) for key in keys]
    while len(parts) > 2 and line(" ", *(span for part in parts for span in part)).width > width:
        del parts[-3]
    return line(" ", *(span for part in parts for span in part))


def _caps(key: Key, breakpoints: bool) -> tuple[Span, ...]:
    label = "next stop" if breakpoints and key.action == "move('resume')" else key.footer
    return (key.first, "keycap"), (f" {label}   ", "")
