"""A list of rows under a title: the base of every pane. It scrolls by itself and paints only the rows in sight.

Not here: what is in the rows (``pane.py``, ``event_list.py``), where the pane stands (``layout.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.palette import Palette
from dispatchviz.tui.text import Line, line

WHEEL = 3
"""Rows by which a turn of the mouse wheel scrolls."""


class Goto(Message):
    """The reader pointed at a step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class TitledView(Widget, can_focus=True):
    """Rows under a title that stays. Subclasses say how many rows there are and make them.

    It is no Textual ScrollView, because there every change of the number of rows costs a new layout of the screen and
    with it one more frame between key and picture.
    """

    palette: Palette

    def __init__(self, number: int, title: str) -> None:
        super().__init__(id=f"pane{number}")
        self.number, self.title = number, title
        self.top = self.count = 0
        self.box_width = self.box_height = 0

    # -- for subclasses -----------------------------------------------------------------------------------------------

    def show(self, cursor: Cursor) -> None:
        """Shows the place where the reader stands."""

    def row(self, at: int, width: int) -> Line:
        """A row, ``at`` counted from the top of all ``count`` of them."""
        raise NotImplementedError

    def row_base(self, at: int) -> Style:
        """What the row stands on."""
        return self.palette.base

    def pointed_at(self, at: int) -> None:
        """The reader clicked on a row."""

    # -- size and place -----------------------------------------------------------------------------------------------

    def fit(self, width: int, height: int) -> None:
        """Takes on a size, before the screen is laid out with it."""
        if (width, height) != (self.box_width, self.box_height):
            self.box_width, self.box_height = width, height
            self.fitted()

    def fitted(self) -> None:
        """The size has changed."""

    @property
    def rows_in_sight(self) -> int:
        return max(self.box_height - 1, 1)

    @property
    def row_width(self) -> int:
        """Cells for text; the last column belongs to the scroll bar."""
        return max(self.box_width - 1, 1)

    def scroll_rows(self, top: int) -> None:
        """Scrolls so that a row is the first one in sight, as far as there are rows."""
        top = max(0, min(top, self.count - self.rows_in_sight))
        if top != self.top:
            self.top = top
            self.refresh()

    def reveal(self, at: int, margin: int) -> None:
        """Scrolls as little as it takes to have a row in sight with some rows around it."""
        margin = min(margin, (self.rows_in_sight - 1) // 2)
        self.scroll_rows(min(max(self.top, at + margin - self.rows_in_sight + 1), max(at - margin, 0)))

    def refresh_rows(self, rows: Iterable[int]) -> None:
        """Has some rows painted anew, those of them that are in sight."""
        for at in rows:
            if 0 <= at - self.top < self.rows_in_sight:
                self.refresh(Region(0, at - self.top + 1, self.box_width, 1))

    # -- painting -----------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return self.palette.strip(self._title(), self.box_width, self.palette.base)
        at = self.top + y - 1
        row = self.row(at, self.row_width) if at < self.count else Line()
        bar = self.palette.strip(self._bar(y - 1), 1, self.palette.base)
        return Strip.join([self.palette.strip(row, self.row_width, self.row_base(at)), bar])

    def _title(self) -> Line:
        focused = self.has_focus
        role = "focus" if focused else "title"
        number = f"{self.number} " if self.number else ""
        head = f"{'▌' if focused else '─'} {number}{self.title} "
        return line((head, role), ("─" * max(self.box_width - 1 - len(head), 0), "rule"))

    def _bar(self, y: int) -> Line:
        """The scroll bar beside a row of the screen; nothing if all rows are in sight."""
        seen = self.rows_in_sight
        if self.count <= seen:
            return Line()
        size = max(1, seen * seen // self.count)
        start = self.top * (seen - size) // (self.count - seen)
        return line(("┃", "title") if start <= y < start + size else ("│", "rule"))

    # -- mouse and focus ----------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        if event.y > 0 and (at := self.top + event.y - 1) < self.count:
            self.pointed_at(at)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(self.top + WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(self.top - WHEEL)

    def on_focus(self) -> None:
        self.refresh(Region(0, 0, self.box_width, 1))

    def on_blur(self) -> None:
        self.refresh(Region(0, 0, self.box_width, 1))
