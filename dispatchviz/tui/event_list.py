"""The steps: every event of the trace, nested by depth; the highlighted one is where the reader stands.

Rows are made when they come into sight, so the length of the trace costs nothing. Not here: the words of an event
(``explain.labels``), moving (``cursor.py``).
"""

from __future__ import annotations

from rich.style import Style
from textual import events
from textual.strip import Strip

from dispatchviz.explain.groups import group, sign
from dispatchviz.explain.labels import label
from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.layout import STEPS
from dispatchviz.tui.pane import Goto, TitledView
from dispatchviz.tui.text import Line, line

WIDE = 64
"""From this width on a level is indented by two cells instead of one."""


class EventList(TitledView):
    """One row per event."""

    DEFAULT_CSS = "EventList { background: $background; }"

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(STEPS, "Steps")
        self._cursor = cursor
        self.set_rows(len(cursor.trace))

    def show(self, cursor: Cursor) -> None:
        """Highlights where the reader stands and brings it into view."""
        before, self._cursor = self._cursor, cursor
        self.reveal(cursor.at, margin=3)
        if _levels_cut(before, self._row_width) == _levels_cut(cursor, self._row_width):
            self.refresh_rows({before.at, cursor.at})
        else:
            self.refresh()

    def row(self, at: int, width: int, base: Style) -> Strip:
        cursor = self._cursor
        if at >= len(cursor.trace):
            return Strip.blank(width, base)
        here = at == cursor.at
        if here:
            base += self.palette.highlight
        return self.palette.strip(event_row(cursor, at, width), width, base)

    def on_resize(self) -> None:
        self.reveal(self._cursor.at, margin=3)

    def on_click(self, event: events.Click) -> None:
        at = self.scroll_offset.y + event.y - 1
        if event.y > 0 and at < len(self._cursor.trace):
            self.post_message(Goto(at))


def event_row(cursor: Cursor, at: int, width: int) -> Line:
    """The row of one event: signs, its number, its depth as indentation, its words."""
    event = cursor.trace[at]
    here = at == cursor.at
    role = group(event)
    number = f"{at:>{len(str(cursor.last_step))}} "
    mark = ("●", "warning") if at in cursor.marks else (" ", "")
    indent, cut = _indent(cursor, at, width)
    return line(
        ("▶" if here else " ", "focus"),
        mark,
        (number, "" if here else "dim"),
        (cut, "dim"),
        (indent, ""),
        (f"{sign(event)} ", role),
        (label(cursor.trace, at), "bold" if here else _weight(role)),
    )


def _indent(cursor: Cursor, at: int, width: int) -> tuple[str, str]:
    """Blanks for the depth. In the depths of a narrow list the levels that the cursor is far below are cut off."""
    hidden = _levels_cut(cursor, width)
    left = cursor.trace.depths[at] * _level(width) - hidden
    return (" " * left, "") if not hidden else (" " * max(left - 1, 0), "‹")


def _levels_cut(cursor: Cursor, width: int) -> int:
    """How many cells of indentation are not shown."""
    return max(0, cursor.depth * _level(width) - width // 3)


def _level(width: int) -> int:
    return 2 if width >= WIDE else 1


def _weight(role: str) -> str:
    return {"program": "bold", "error": "error"}.get(role, "")
