"""What has become of each Node of a graph since an earlier step."""

from __future__ import annotations

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.graph.graph_node import State
from dispatchviz.explain.graph.node_outline import Outlines


class GraphChanges:
    """Compares with one step."""

    def __init__(self, trace: Trace, since: int) -> None:
        self._known, self.since = history(trace), since
        self._outlines = Outlines(self._known)

    def text(self, node: int, now: State) -> str:
        """``new``, ``was waiting``; empty if a Node was there in the same state."""
        if self._known.events.first(node) > self.since:
            return "new"
        before = self._outlines.outline(node, self.since).state
        return "" if before is now else f"was {before.value}"
