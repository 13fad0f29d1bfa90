"""The panes beside the steps, by number, with the title of each and the module whose ``rows`` makes its lines.

The modules are loaded after the first screen has been painted, so that it appears sooner.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    COMPILER,
    ENGINE,
    GRAPH,
    KEYS,
    MEMORY,
    NODE,
    OUTPUT,
    SOURCE,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
)
from dispatchviz.views.text.styled_line import Line

Rows = Callable[[Trace, int, int], list[Line]]
"""The function that makes the lines of a pane from a trace, a step and a width in cells. Longer lines are wrapped or
cut later.
"""

PANES = {
    KEYS: ("Key set", "key_set_pane"),
    CELL: ("Table entry", "cell_pane"),
    CALLS: ("Calls", "calls_pane"),
    SOURCE: ("Source", "source_pane"),
    GRAPH: ("Backward graph", "graph_pane"),
    THREAD: ("Thread state", "thread_pane"),
    TENSORS: ("Tensors", "tensors_pane"),
    ENGINE: ("Engine", "engine_pane"),
    OUTPUT: ("Output", "output_pane"),
    STRUCTURED: ("Structured kernel", "structured_pane"),
    TABLE: ("Operator table", "table_pane"),
    NODE: ("Node", "node_pane"),
    COMPILER: ("What the compiler saw", "compiler_pane"),
    MEMORY: ("Memory for backward", "memory_pane"),
}
"""The title and the module in this folder, by number."""


def rows_of(module: str) -> Rows:
    """Return the function that makes a pane's rows. It loads its module on the first call."""

    def rows(trace: Trace, at: int, width: int) -> list[Line]:
        made: list[Line] = import_module(f"dispatchviz.views.panes.{module}").rows(trace, at, width)
        return made

    return rows
