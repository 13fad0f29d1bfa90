"""The trace that users hold: the core's value, with its screen and its pictures one method away.

Not here: the file format and the value itself (``core/trace.py``), how a trace is made (``recording.py``,
``program.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core import trace as core

if TYPE_CHECKING:
    from dispatchviz.render.backward_graph import BackwardGraph

TraceError = core.TraceError


class Trace(core.Trace):
    """An immutable recording; ``trace[i]`` is the event with ``seq == i``."""

    def show(self, step: int | None = None) -> None:
        """Opens the stepper, at the beginning or at ``step``; without a terminal prints the text log."""
        from dispatchviz.screen import show

        show(self, step)

    def backward_graph(self) -> BackwardGraph:
        """The graph of backward Nodes that the program built; ``.render(path)`` draws it, by the name's suffix."""
        from dispatchviz.render.backward_graph import backward_graph

        return backward_graph(self)
