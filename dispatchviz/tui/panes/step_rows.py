"""The rows of the step list: one per event, nested by depth.

Not here: the text of an event (``explain.labels``), the list that scrolls (``widgets/step_list.py``).
"""

from __future__ import annotations

from dispatchviz.core.record.events import AnyEvent
from dispatchviz.explain.sentences.event_groups import group, sign
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.tui.cursor.cursor import Cursor
from dispatchviz.tui.text.styled_line import Line, line

WIDE = 64
"""From this width on a level is indented by two cells instead of one."""


def step_row(cursor: Cursor, at: int, width: int) -> Line:
    """The row of one event: signs, its number, its depth as indentation, its label."""
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
    """The sign of a breakpoint, if one stops at the event."""
    return ("◉", "error") if any(each.hits(event) for each in cursor.breakpoints) else (" ", "")


WEIGHT = {"program": "bold", "error": "error"}
"""Roles of the label of an event, by its group."""


def _indent(cursor: Cursor, at: int, width: int) -> tuple[tuple[str, str], tuple[str, str]]:
    """Blanks for the depth. In the depths of a narrow list the levels that the cursor is far below are cut off."""
    cut = cells_cut(cursor, width)
    left = cursor.trace.depths[at] * _level(width) - cut
    return ("‹" if cut else "", "dim"), (" " * (left - bool(cut)), "")


def cells_cut(cursor: Cursor, width: int) -> int:
    """How many cells of indentation are not shown."""
    return max(0, cursor.depth * _level(width) - width // 3)


def _level(width: int) -> int:
    return 2 if width >= WIDE else 1
