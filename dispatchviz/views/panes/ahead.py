"""Panes that have nothing to show at a step, but something within its row: they look ahead, up to the row's end.

A row whose outcome the reader must guess first is left alone.
"""

from __future__ import annotations

from msgspec.structs import replace

from dispatchviz.core.record.events import BackwardStarted
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.lookups import neighbor
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import ENGINE, GRAPH, KEYS, OUTPUT, TENSORS
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.predictions.spoilers import hidden
from dispatchviz.views.text.styled_line import Line

WHERE = {KEYS: "inside this row", ENGINE: "inside this row", TENSORS: "after this row", GRAPH: "after this row",
         OUTPUT: "after this row"}  # fmt: skip
"""The panes that look ahead, most important first, and what their titles say."""


def shown_step(pane: int, cursor: Cursor) -> int:
    """The step that a pane shows: that of the cursor or, if the pane is empty there, one within the row of the cursor.

    It is the first one with contents, or for a state that grows, the end of the row; before a backward pass, which
    uses up the graph.
    """
    trace, at = cursor.trace, cursor.at
    said = nothing(pane, trace, at) if pane in WHERE and hidden(pane, cursor) is None else None
    end = at if said is None or said.goto is None else row_end(cursor)
    if said is None or said.goto is None or said.goto > end or cursor.hides(end):
        return at
    if WHERE[pane] == WHERE[KEYS]:
        return said.goto
    return _before_backward(trace, said.goto, end)


def row_end(cursor: Cursor) -> int:
    """The last step of the cursor's row, folded or not."""
    return cursor.trace.ends[cursor.at] if cursor.tree is None else cursor.tree.end(cursor.row.item)


def _before_backward(trace: Trace, at: int, end: int) -> int:
    run = neighbor(trace.steps_of(BackwardStarted), at)
    return end if run is None else min(run, end)


def says_nothing(pane: int, cursor: Cursor) -> bool:
    """Return whether a pane is empty at the step of the cursor, or hidden until a question is answered."""
    return hidden(pane, cursor) is not None or nothing(pane, cursor.trace, cursor.at) is not None


def looks_ahead(pane: int, cursor: Cursor) -> bool:
    """Return whether a pane shows a later step of the row."""
    return shown_step(pane, cursor) != cursor.at


def is_empty_for_good(pane: int, cursor: Cursor) -> bool:
    """Return whether an empty pane stays empty until the end of the trace."""
    said = nothing(pane, cursor.trace, cursor.at)
    return said is not None and said.goto is None


def title_ahead(pane: int, cursor: Cursor) -> str:
    """The addition to the title of a pane that looks ahead."""
    return f" {WHERE[pane]}" if looks_ahead(pane, cursor) else ""


def without_here(row: Line) -> Line:
    """A row of a later step, where the cursor is not yet."""
    spans = tuple((text.replace("▶", " "), role) for text, role in row.spans)
    return replace(row, spans=spans, here=False, shaded=False)
