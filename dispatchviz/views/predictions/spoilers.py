"""The parts of the screen that would show the answer of a question before it is asked.

``panes/step_rows.py`` hides the rows of the step list from the answer on. Most other panes show the state at the step
of the cursor. The panes here look ahead within the current call or backward pass.
"""

from __future__ import annotations

from functools import lru_cache

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.explain.locations.event_lines import BESIDE
from dispatchviz.explain.predictions.prediction import Kind, Prediction
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around, within
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import CELL, ENGINE, SOURCE, TABLE
from dispatchviz.views.panes.empty_titles import NONE_LATER, NONE_LATER_HERE
from dispatchviz.views.text.styled_line import Line, line

ASKED_FIRST = line(("? ", "hint"), ("Hidden until you guess.", "dim"))


def hidden(pane: int, cursor: Cursor) -> Line | None:
    """The text in place of a pane's contents; None if they may be shown."""
    if cursor.ahead is None:
        return None
    if pane in (CELL, TABLE):
        return ASKED_FIRST if _shows_cell(cursor, cursor.ahead.first_hidden) else None
    if pane == SOURCE:
        return ASKED_FIRST if cursor.at >= first_on_line(cursor.trace, cursor.ahead) else None
    return ASKED_FIRST if pane == ENGINE and asks_for_next(cursor.trace, cursor.ahead) else None


def first_on_line(trace: Trace, asked: Prediction) -> int:
    """The first step whose line in the source is that of the answer, because some events belong to the next one."""
    first, around = asked.reveals, trace[asked.reveals].parent
    while first and isinstance(trace[first - 1], BESIDE) and trace[first - 1].parent == around:
        first -= 1
    return first


def asks_for_next(trace: Trace, asked: Prediction) -> bool:
    """Return whether the ready queue would answer a question, because its answer is the Node that runs next."""
    return isinstance(trace[asked.reveals], ev.NodeStarted)


def without_hidden(rows: list[Line], cursor: Cursor) -> list[Line]:
    """The rows of a pane, with a placeholder for those that lead to a hidden step, or say that there is none."""
    if cursor.ahead is None:
        return rows
    return [ASKED_FIRST if _reveals(row, cursor) else row for row in rows]


def _reveals(row: Line, cursor: Cursor) -> bool:
    return row.plain.endswith(NONE_LATER) if row.goto is None else cursor.hides(row.goto)


def without_step(said: Line, cursor: Cursor) -> Line:
    """The text in the title of an empty pane, without the number of a hidden step, and without the hint that there is
    none.
    """
    tells = said.plain.endswith(NONE_LATER_HERE) if said.goto is None else cursor.hides(said.goto)
    if cursor.ahead is None or not tells:
        return said
    return line((said.spans[0][0].partition(",")[0], "dim"))


def hides_sentence(cursor: Cursor) -> bool:
    """Return whether the sentence of the step would reveal the next Node, or the key of the next call."""
    if cursor.ahead is None:
        return False
    queued = isinstance(cursor.trace[cursor.at], ev.NodeQueued)
    if queued and asks_for_next(cursor.trace, cursor.ahead):
        return True
    return cursor.at in telling_kernels(cursor.trace, cursor.ahead)


@lru_cache(maxsize=16)
def telling_kernels(trace: Trace, asked: Prediction) -> tuple[int, ...]:
    """The kernels around the answer whose sentences name the call that it is about, with the work that it does."""
    call = trace[asked.reveals]
    if asked.kind not in (Kind.KEY, Kind.OWN) or not isinstance(call, ev.Dispatched):
        return ()
    kernels = (each for each in trace.ancestors(call.seq) if isinstance(each, ev.KernelEntered))
    return tuple(each.seq for each in kernels if call.operator in why_here(trace, each.seq))


def _shows_cell(cursor: Cursor, reveals: int) -> bool:
    call = at_or_around(cursor.trace, cursor.at, ev.Dispatched)
    selected = None if call is None else within(cursor.trace, call.seq, ev.KernelSelected)
    return selected is not None and selected.seq >= reveals
