"""A list of rows under a title: the base of every pane. It scrolls by itself and paints only the visible rows.

It is not a Textual ScrollView. There, every change of the number of rows costs a new layout of the screen, and with it
one more frame between key and picture.

Elsewhere: the contents of rows (``pane_view.py``, ``step_list.py``), the position of the pane (``layout``).
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.tui.widgets.painted_lines import PaintedLines
from dispatchviz.tui.widgets.viewport import Viewport, title_row
from dispatchviz.views.keymap import pane_key
from dispatchviz.views.layout.pane_layout import STEPS
from dispatchviz.views.text.line_fitting import from_cell
from dispatchviz.views.text.styled_line import Line, line

WHEEL = 3
"""The number of rows by which one notch of the mouse wheel scrolls."""

NO_BAR = line(" ")
"""The cell of the scroll bar if all rows are visible."""


class Goto(Message):
    """The message that the reader clicked on a row that leads to a step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class Ask(Message):
    """The message that the reader clicked on a row that leads to no step but is about something."""

    def __init__(self, row: Line) -> None:
        super().__init__()
        self.row = row


class RowsView(PaintedLines, can_focus=True):
    """Rows under a fixed title. Subclasses override ``row`` and ``fitted``, and set ``port.count``."""

    palette: Palette
    said: Line | None = None
    """The text in the title when there is only room for the title."""

    def __init__(self, number: int, title: str) -> None:
        super().__init__(f"pane{number}")
        self.number, self.title, self.key, self.port = number, title, pane_key(number), Viewport()

    def row(self, at: int, width: int) -> Line:
        """The row at an index, counted from the top of all rows."""
        raise NotImplementedError

    def bar_cell(self, y: int) -> Line:
        """The scroll bar in a row of the widget."""
        return self.port.bar_cell(y)

    def row_base(self, at: int) -> Style:
        """The base style of a row."""
        return self.palette.base

    def pointed_at(self, at: int) -> None:
        """Handle a click on a row."""

    @property
    def chosen_row(self) -> Line | None:
        """The row for Enter and questions; None if none is chosen."""
        return None

    @property
    def shown_title(self) -> str:
        """The title, with the actions that are possible now."""
        return self.title

    def fitted(self) -> None:
        """Handle a change of the size."""

    def fit(self, width: int, height: int) -> None:
        """Accept a size before the screen is laid out with it."""
        if self.port.resize(width, height):
            self.fitted()

    def scroll_rows(self, top: int) -> bool:
        """Scroll until a row is the first visible one, as far as there are rows. Return whether anything moved."""
        return self._moved(self.port.scroll(top))

    def scroll_sideways(self, by: int) -> bool:
        """Scroll the rows that are cut sideways, as far as the longest visible one. Return whether anything moved."""
        widest = max((self.row(at, self.port.row_width).width for at in self.port.in_sight), default=0)
        return self._moved(self.port.sideways(by, widest))

    def reveal(self, at: int, margin: int) -> bool:
        """Scroll just enough to show a row with some rows around it. Return whether anything moved."""
        return self._moved(self.port.reveal(at, margin))

    def _moved(self, moved: bool) -> bool:
        if moved:
            self.refresh()
        return moved

    def refresh_rows(self, rows: Iterable[int]) -> None:
        """Repaint those of some rows that are visible."""
        for y in map(self.port.y_of, rows):
            if y is not None:
                self.refresh(Region(0, y, self.port.width, 1))

    def render_line(self, y: int) -> Strip:
        port, palette = self.port, self.palette
        if y == 0:
            title = title_row(self.key, self.shown_title, self.has_focus, port.width, self.said)
            return palette.strip(title, port.width, palette.base)
        at = port.row_at(y)
        row = Line() if at is None else self.row(at, port.row_width)
        if row.cut or self.number == STEPS:  # wrapped rows need no sideways scrolling
            row = from_cell(row, port.left)
        bar = self.bar_cell(y)
        return palette.strip(row, port.row_width, self.row_base(port.top + y - 1), bar if bar.spans else NO_BAR)

    def on_click(self, event: events.Click) -> None:
        if (at := self.port.row_at(event.y)) is not None:
            self.pointed_at(at)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(self.port.top + WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(self.port.top - WHEEL)

    def refresh_title(self) -> None:
        """Repaint the title."""
        self.refresh(Region(0, 0, self.port.width, 1))

    def on_focus(self) -> None:
        """Repaint the title and the chosen row, which show the focus."""
        self.refresh_title() if self.chosen_row is None else self.refresh()

    on_blur = on_focus
