"""The parts of the screen that would show the answer of a question before it is asked.

``panes/step_rows.py`` hides the rows of the step list from the answer on. Most other panes show the state at the step
of the cursor. The panes here look ahead within the current call or backward pass.
"""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.predictions.prediction import Kind
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around, within
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import CELL, ENGINE, TABLE
from dispatchviz.views.text.styled_line import Line, line

ASKED_FIRST = line(("? ", "hint"), ("Hidden until you guess.", "dim"))


def hidden(pane: int, cursor: Cursor) -> Line | None:
    """The text in place of a pane's contents; None if they may be shown."""
    if cursor.ahead is None:
        return None
    if pane in (CELL, TABLE):
        return ASKED_FIRST if _shows_cell(cursor, cursor.ahead.reveals) else None
    return ASKED_FIRST if pane == ENGINE and cursor.ahead.kind is Kind.NEXT else None


def without_hidden(rows: list[Line], cursor: Cursor) -> list[Line]:
    """The rows of a pane, with a placeholder for those that lead to a hidden step."""
    if cursor.ahead is None:
        return rows
    return [ASKED_FIRST if row.goto is not None and cursor.hides(row.goto) else row for row in rows]


def without_step(said: Line, cursor: Cursor) -> Line:
    """The text in the title of an empty pane, without the number of a hidden step."""
    if said.goto is None or not cursor.hides(said.goto):
        return said
    return line((said.spans[0][0].partition(",")[0], "dim"))


def hides_sentence(cursor: Cursor) -> bool:
    """Return whether the sentence of the step would reveal the next Node."""
    queued = isinstance(cursor.trace[cursor.at], ev.NodeQueued)
    return cursor.ahead is not None and cursor.ahead.kind is Kind.NEXT and queued


def _shows_cell(cursor: Cursor, reveals: int) -> bool:
    call = at_or_around(cursor.trace, cursor.at, ev.Dispatched)
    selected = None if call is None else within(cursor.trace, call.seq, ev.KernelSelected)
    return selected is not None and selected.seq >= reveals
