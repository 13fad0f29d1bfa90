"""The widget of every pane but the steps: a title, rows of text, and signs beside the rows that a step changed.

A pane shows what a function makes of a place in the trace; the functions are in the ``*_pane`` modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest

from msgspec.structs import replace
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from dispatchviz.core.trace import Trace
from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.palette import Palette
from dispatchviz.tui.text import Line, Span, line, wrap

Rows = Callable[[Trace, int], list[Line]]
"""What a pane shows as of a step."""

GUTTER = 2
"""Cells left of the text, for the sign of a change."""


class Goto(Message):
    """The reader pointed at a step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class TitledView(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows under a title that does not scroll. Subclasses say how many rows there are and paint them."""

    DEFAULT_CSS = "TitledView { overflow-x: hidden; scrollbar-size: 1 1; }"

    palette: Palette

    def __init__(self, number: int, title: str) -> None:
        super().__init__(id=f"pane{number}")
        self.number, self.title = number, title
        self._row_width = 0

    def row(self, at: int, width: int, base: Style) -> Strip:
        """One row, ``at`` counted from the top of all of them."""
        raise NotImplementedError

    def render_lines(self, crop: Region) -> list[Strip]:
        self._row_width = self.scrollable_content_region.width  # once, not once per row
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        base, width = self.palette.base, self._row_width
        if y == 0:
            return self.palette.strip(self._title(width), width, base)
        return self.row(self.scroll_offset.y + y - 1, width, base)

    def refresh_rows(self, rows: Iterable[int]) -> None:
        """Has some rows painted anew, those of them that are in sight."""
        for at in rows:
            y = at - self.scroll_offset.y + 1
            if 0 < y < self.size.height:
                self.refresh(Region(0, y, self.size.width, 1))

    def _title(self, width: int) -> Line:
        role = "focus" if self.has_focus else "title"
        mark = "▌" if self.has_focus else "─"
        head = line((mark, role), (f" {self.number} ", role), (self.title, role), (" ", role))
        return replace(head, spans=(*head.spans, ("─" * max(width - head.width, 0), "rule")))

    def set_rows(self, count: int) -> None:
        """Tells the scroll bar how much there is."""
        self.virtual_size = Size(0, count + 1)

    @property
    def page_rows(self) -> int:
        """How many rows a page has, one of them kept when paging."""
        return max(self.size.height - 2, 1)

    def reveal(self, at: int, margin: int = 2) -> None:
        """Scrolls as little as it takes to have a row on the screen with some rows around it."""
        rows = max(self.size.height - 1, 1)
        margin = min(margin, (rows - 1) // 2)
        top = min(max(self.scroll_offset.y, at + margin - rows + 1), max(at - margin, 0))
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False)

    def on_focus(self) -> None:
        self.refresh(Region(0, 0, self.size.width, 1))

    def on_blur(self) -> None:
        self.refresh(Region(0, 0, self.size.width, 1))


class Pane(TitledView):
    """Shows what ``make`` makes of the place where the reader stands."""

    def __init__(self, number: int, title: str, make: Rows) -> None:
        super().__init__(number, title)
        self._make = make
        self._cursor: Cursor | None = None
        self._made: tuple[int, list[Line]] = (-1, [])
        self._rows: list[Line] = []
        self._wrapped: list[Line] = []

    def show(self, cursor: Cursor) -> None:
        """Follows the cursor; rows that differ from where it came from get a sign."""
        if cursor is not self._cursor:
            before = self._rows_at(cursor.trace, cursor.at if cursor.came_from is None else cursor.came_from)
            self._rows = marked(self._rows_at(cursor.trace, cursor.at), before)
            self._cursor = cursor
            self._lay_out()

    def show_again(self) -> None:
        """Makes the rows anew, because what they depend on besides the step has changed."""
        self._made, cursor, self._cursor = (-1, []), self._cursor, None
        if cursor:
            self.show(cursor)

    @property
    def plain(self) -> list[str]:
        """All rows as text, those out of sight too."""
        return [row.plain for row in self._wrapped]

    def row(self, at: int, width: int, base: Style) -> Strip:
        return self.palette.strip(self._wrapped[at] if at < len(self._wrapped) else Line(), width, base)

    def on_resize(self) -> None:
        self._lay_out()

    def on_click(self, event: events.Click) -> None:
        at = self.scroll_offset.y + event.y - 1
        if event.y > 0 and at < len(self._wrapped) and (step := self._wrapped[at].goto) is not None:
            self.post_message(Goto(step))

    def _rows_at(self, trace: Trace, at: int) -> list[Line]:
        if self._made[0] != at:
            self._made = (at, self._make(trace, at))
        return self._made[1]

    def _lay_out(self) -> None:
        width = self.size.width - 1
        if width < 1:
            return  # not on the screen yet: the resize that puts it there lays it out
        before, self._wrapped = self._wrapped, [part for row in self._rows for part in wrap(row, width)]
        self.set_rows(len(self._wrapped))
        here = next((at for at, row in enumerate(self._wrapped) if row.here), None)
        if here is None:
            self.scroll_to(y=0, animate=False)
        else:
            self.reveal(here, margin=4)
        pairs = enumerate(zip_longest(before, self._wrapped))
        self.refresh_rows(at for at, (old, new) in pairs if old != new)


def marked(now: Iterable[Line], before: Iterable[Line]) -> list[Line]:
    """The rows behind a gutter: ``+`` and bold if new, ``~``, bold and the former value if not what it was."""
    old = {row.key: row for row in before}
    return [_marked(row, old.get(row.key)) for row in now]


def _marked(row: Line, was: Line | None) -> Line:
    if not row.key or (was and was.plain == row.plain):
        spans = (("  ", ""), *row.spans)
    elif was is None:
        spans = (("+ ", "new"), *_loud(row))
    else:
        spans = (("~ ", "new"), *_loud(row, f" (was {was.value})" if row.value and was.value != row.value else ""))
    return replace(row, spans=spans, indent=row.indent + GUTTER)


def _loud(row: Line, former: str = "") -> tuple[Span, ...]:
    """The spans in bold, the former value right after the value."""
    spans = [(text, f"new:{role}") for text, role in row.spans]
    at = next((at for at, (text, _) in enumerate(spans, 1) if text == row.value), len(spans))
    return (*spans[:at], (former, "was"), *spans[at:])
