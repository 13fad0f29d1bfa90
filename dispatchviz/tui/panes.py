"""The panes beside the steps: number, title, and the function that makes the rows."""

from __future__ import annotations

from dispatchviz.tui import calls_pane, cell_pane, keys_pane, source_pane
from dispatchviz.tui.layout import CALLS, CELL, GRAPH, KEYS, SOURCE
from dispatchviz.tui.pane import Rows
from dispatchviz.tui.text import line

PANES: dict[int, tuple[str, Rows]] = {
    KEYS: ("Key set", keys_pane.rows),
    CELL: ("Table cell", cell_pane.rows),
    CALLS: ("Calls", calls_pane.rows),
    SOURCE: ("Source", source_pane.rows),
    GRAPH: ("Backward graph", lambda trace, at: [line("todo")]),
}
