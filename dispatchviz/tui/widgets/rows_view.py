"""A list of rows under a title: the base of every pane. It scrolls by itself and paints only the rows in sight.

It is no Textual ScrollView: there every change of the number of rows costs a new layout of the screen and with it one
more frame between key and picture.

Not here: what is in the rows (``pane_view.py``, ``step_list.py``), where the pane is on the screen (``layout``).
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
from dispatchviz.views.text.styled_line import Line

WHEEL = 3
"""Rows by which a turn of the mouse wheel scrolls."""


class Goto(Message):
    """The reader pointed at a step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class Ask(Message):
    """The reader pointed at a row that leads nowhere and is about something."""

    def __init__(self, row: Line) -> None:
        super().__init__()
        self.row = row


class RowsView(PaintedLines, can_focus=True):
    """Rows under a title that stays. Subclasses override ``row`` and ``fitted``, and set ``port.count``."""

    palette: Palette
    said: Line | None = None
    """What the title says where there is room for no more than the title."""

    def __init__(self, number: int, title: str) -> None:
        super().__init__(f"pane{number}")
        self.number, self.title, self.key, self.port = number, title, pane_key(number), Viewport()

    def row(self, at: int, width: int) -> Line:
        """A row, ``at`` counted from the top of all of them."""
        raise NotImplementedError

    def bar_cell(self, y: int) -> Line:
        """The scroll bar in a row of the widget."""
        return self.port.bar_cell(y)

    def row_base(self, at: int) -> Style:
        """The style under the text of a row."""
        return self.palette.base

    def pointed_at(self, at: int) -> None:
        """The reader clicked on a row."""

    @property
    def chosen_row(self) -> Line | None:
        """The row that Enter and questions are for; None if none is chosen."""
        return None

    @property
    def shown_title(self) -> str:
        """The title, with what a reader can do here now."""
        return self.title

    def fitted(self) -> None:
        """The size has changed."""

    def fit(self, width: int, height: int) -> None:
        """Take on a size, before the screen is laid out with it."""
        if self.port.resize(width, height):
            self.fitted()

    def scroll_rows(self, top: int) -> bool:
        """Scroll so that a row is the first one in sight, as far as there are rows; return whether it moved."""
        return self._moved(self.port.scroll(top))

    def scroll_sideways(self, by: int) -> bool:
        """Scroll the rows that are cut, as far as one in sight is longer; return whether they moved."""
        widest = max((self.row(at, self.port.row_width).width for at in self.port.in_sight), default=0)
        return self._moved(self.port.sideways(by, widest))

    def reveal(self, at: int, margin: int) -> bool:
        """Scroll as little as it takes to have a row in sight with some rows around it; return whether it moved."""
        return self._moved(self.port.reveal(at, margin))

    def _moved(self, moved: bool) -> bool:
        if moved:
            self.refresh()
        return moved

    def refresh_rows(self, rows: Iterable[int]) -> None:
        """Have those of some rows painted again that are in sight."""
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
        if row.cut or self.number == STEPS:  # those that are wrapped have nothing to scroll to
            row = from_cell(row, port.left)
        text = palette.segments(row, port.row_width, self.row_base(port.top + y - 1))
        return Strip([*text, *palette.segments(self.bar_cell(y), 1, palette.base)], port.row_width + 1)

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
        """Have the title painted again."""
        self.refresh(Region(0, 0, self.port.width, 1))

    def on_focus(self) -> None:
        """The title has a sign of the focus, and so has a chosen row."""
        self.refresh_title() if self.chosen_row is None else self.refresh()

    on_blur = on_focus
