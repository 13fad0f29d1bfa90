"""A list of rows under a title: the base of every pane. It scrolls by itself and paints only the rows in sight.

Not here: what is in the rows (``pane_view.py``, ``step_list.py``), where the pane is on the screen (``layout``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from dispatchviz.views.cursor.cursor import Cursor

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
    """Rows under a title that stays. Subclasses override ``row`` and ``fitted``, and set ``port.count``.

    It is no Textual ScrollView, because there every change of the number of rows costs a new layout of the screen and
    with it one more frame between key and picture.
    """

    palette: Palette

    def __init__(self, number: int, title: str) -> None:
        super().__init__(f"pane{number}")
        self.number, self.title, self.key = number, title, pane_key(number)
        self.port = Viewport()

    def show(self, cursor: Cursor, width: int, height: int) -> None:
        """Shows the step of a cursor in a size, which the next layout gives."""

    def row(self, at: int, width: int) -> Line:
        """A row, ``at`` counted from the top of all of them."""
        raise NotImplementedError

    @property
    def said(self) -> Line | None:
        """What stands in the title where the title is all that there is room for."""
        return None

    def row_from_left(self, at: int) -> Line:
        """A row as far as it is scrolled sideways: those that are wrapped have nothing to scroll to."""
        row = self.row(at, self.port.row_width)
        return from_cell(row, self.port.left) if row.cut or self.number == STEPS else row

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

    def choose(self, direction: int) -> bool:
        """Chooses the next row that leads somewhere, else scrolls; returns whether there was anything to do."""
        return False

    def let_go(self) -> bool:
        """Chooses no row; returns whether one was chosen."""
        return False

    @property
    def shown_title(self) -> str:
        """The title, with what a reader can do here now."""
        return self.title

    def fitted(self) -> None:
        """The size has changed."""

    def fit(self, width: int, height: int) -> None:
        """Takes on a size, before the screen is laid out with it."""
        if self.port.resize(width, height):
            self.fitted()

    def scroll_rows(self, top: int) -> None:
        """Scrolls so that a row is the first one in sight, as far as there are rows."""
        if self.port.scroll(top):
            self.refresh()

    def scroll_sideways(self, by: int) -> bool:
        """Scrolls the rows that are cut, as far as one in sight is longer; returns whether that was possible."""
        port = self.port
        last = min(port.top + port.rows, port.count)
        widest = max((self.row(at, port.row_width).width for at in range(port.top, last)), default=0)
        before, port.left = port.left, max(0, min(port.left + by, widest - port.row_width))
        if port.left != before:
            self.refresh()
        return port.left != before

    def reveal(self, at: int, margin: int) -> None:
        """Scrolls as little as it takes to have a row in sight with some rows around it."""
        if self.port.reveal(at, margin):
            self.refresh()

    def refresh_rows(self, rows: Iterable[int]) -> None:
        """Has those of some rows painted again that are in sight."""
        for y in map(self.port.y_of, rows):
            if y is not None:
                self.refresh(Region(0, y, self.port.width, 1))

    def render_line(self, y: int) -> Strip:
        port, palette = self.port, self.palette
        if y == 0:
            said = self.said if port.height == 1 else None
            title = title_row(self.key, self.shown_title, self.has_focus, port.width, said)
            return palette.strip(title, port.width, palette.base)
        at = port.row_at(y)
        row = Line() if at is None else self.row_from_left(at)
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
        """Has the title painted again."""
        self.refresh(Region(0, 0, self.port.width, 1))

    def on_focus(self) -> None:
        self._show_focus()

    def on_blur(self) -> None:
        self._show_focus()

    def _show_focus(self) -> None:
        """The title has a sign of it, and so has a chosen row."""
        if self.chosen_row is None:
            self.refresh_title()
        else:
            self.refresh()
