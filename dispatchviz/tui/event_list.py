"""The steps: every event of the trace, nested by depth; the highlighted one is where the reader stands.

Rows are made when they come into sight, so the length of the trace costs nothing. Not here: the words of an event
(``explain.labels``), moving (``cursor.py``).
"""

from __future__ import annotations

from bisect import bisect_left

from rich.style import Style

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.explain.sentences.event_groups import group, sign
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.tui.cursor import Cursor
from dispatchviz.tui.layout import STEPS
from dispatchviz.tui.text import Line, line
from dispatchviz.tui.titled import Goto, TitledView

WIDE = 64
"""From this width on a level is indented by two cells instead of one."""

AROUND = 3
"""Steps kept in sight before and after the one where the reader stands."""


class EventList(TitledView):
    """One row per event."""

    def __init__(self, cursor: Cursor) -> None:
        super().__init__(STEPS, "Steps")
        self._cursor = cursor
        self.count = len(cursor.trace)

    def show(self, cursor: Cursor) -> None:
        """Highlights where the reader stands and brings it into view."""
        before, self._cursor = self._cursor, cursor
        if before.rows is not cursor.rows and before.rows != cursor.rows:
            self.count = len(cursor.rows)
            self.refresh()
        self.reveal(self._place(cursor.at), AROUND)
        if _cells_cut(before, self.row_width) == _cells_cut(cursor, self.row_width):
            self.refresh_rows({self._place(before.at), self._place(cursor.at)})
        else:
            self.refresh()

    def row(self, at: int, width: int) -> Line:
        return event_row(self._cursor, self._cursor.rows[at], width)

    def row_base(self, at: int) -> Style:
        here = at == self._place(self._cursor.at)
        return self.palette.base + self.palette.highlight if here else self.palette.base

    def pointed_at(self, at: int) -> None:
        self.post_message(Goto(self._cursor.rows[at]))

    def fitted(self) -> None:
        self.reveal(self._place(self._cursor.at), AROUND)

    def _place(self, step: int) -> int:
        """The row of a step."""
        return bisect_left(self._cursor.rows, step)


def event_row(cursor: Cursor, at: int, width: int) -> Line:
    """The row of one event: signs, its number, its depth as indentation, its words."""
    event, here = cursor.trace[at], at == cursor.at
    role = group(event)
    number = f"{at:>{len(str(cursor.last_step))}} "
    return line(
        ("▶" if here else " ", "focus"),
        ("●", "warning") if at in cursor.marks else _stop(cursor, event),
        (number, "" if here else "dim"),
        *_indent(cursor, at, width),
        (f"{sign(event)} ", role),
        (label(cursor.trace, at), "bold" if here else WEIGHT.get(role, "")),
    )


def _stop(cursor: Cursor, event: AnyEvent) -> tuple[str, str]:
    """The sign of a breakpoint, if the event is one's."""
    return ("◉", "error") if any(each.hits(event) for each in cursor.breakpoints) else (" ", "")


WEIGHT = {"program": "bold", "error": "error"}
"""Roles of the words of an event, by its group."""


def _indent(cursor: Cursor, at: int, width: int) -> tuple[tuple[str, str], tuple[str, str]]:
    """Blanks for the depth. In the depths of a narrow list the levels that the cursor is far below are cut off."""
    cut = _cells_cut(cursor, width)
    left = cursor.trace.depths[at] * _level(width) - cut
    return ("‹" if cut else "", "dim"), (" " * (left - bool(cut)), "")


def _cells_cut(cursor: Cursor, width: int) -> int:
    """How many cells of indentation are not shown."""
    return max(0, cursor.depth * _level(width) - width // 3)


def _level(width: int) -> int:
    return 2 if width >= WIDE else 1
