"""The panes beside the steps: title, and the module whose ``rows`` fills them.

The modules are loaded when the first screen has been painted: the reader sees it that much sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.layout import CALLS, CELL, GRAPH, KEYS, SOURCE
from dispatchviz.tui.text import Line

PANES = {
    KEYS: ("Key set", "keys_pane"),
    CELL: ("Table cell", "cell_pane"),
    CALLS: ("Calls", "calls_pane"),
    SOURCE: ("Source", "source_pane"),
    GRAPH: ("Backward graph", "graph_pane"),
}


TO_WIDTH = ("keys_pane", "cell_pane")
"""Modules whose ``rows`` are laid out to the width of the pane; it is their third argument."""


def rows_of(module: str) -> Callable[[Trace, int, int], list[Line]]:
    """The function that makes a pane's rows; loads its module when it is first called."""

    def rows(trace: Trace, at: int, width: int) -> list[Line]:
        make = import_module(f"dispatchviz.tui.{module}").rows
        found: list[Line] = make(trace, at, width) if module in TO_WIDTH else make(trace, at)
        return found

    return rows
