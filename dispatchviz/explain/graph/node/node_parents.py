"""``has_parent_``: whether a Node's topological number has been read, by an edge to it or by the engine."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history

EDGES_LOOKED_AT = 256
"""So many Nodes that got edges after a Node was made are looked at for one that leads to it."""


def has_parent(trace: Trace, node: int, at: int) -> bool | None:
    """None if that would take a look at too many Nodes."""
    return _met_by_engine(trace, node, at) or _has_edge(trace, node, at)


def _met_by_engine(trace: Trace, node: int, at: int) -> bool:
    """It has waited in a queue, or is a root of the pass that runs, whose edges are counted first."""
    columns, steps = trace.columns, history(trace).events.steps(node)
    met = {columns.code(kind) for kind in (ev.NodeQueued, ev.DependencyMet)}
    if any(columns.kinds[step] in met for step in steps[: bisect_right(steps, at)]):
        return True
    backward = backward_around(trace, at)
    if backward is None or backward.counted_at(at) is None:
        return False
    return any(root == node for root, _ in backward.event.roots)


def _has_edge(trace: Trace, node: int, at: int) -> bool | None:
    steps = trace.steps_of(ev.EdgesCollected)
    later = steps[bisect_left(steps, history(trace).events.first(node)) : bisect_right(steps, at)]
    for step in later[:EDGES_LOOKED_AT]:
        event = trace[step]
        if isinstance(event, ev.EdgesCollected) and any(edge and edge[0] == node for edge in event.edges):
            return True
    return None if len(later) > EDGES_LOOKED_AT else False
