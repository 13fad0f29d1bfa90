"""``task_should_compute_output`` for each edge of the running Node: the formulas that this graph task needs.

From ``torch/csrc/autograd/node.h``. An edge must be valid. If ``exec_info_`` is not empty, ``should_execute()`` of the
next Node must also be true.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.graph.node.node_card import needs_edge

EdgeReason = Literal["empty edge", "exec_info_ is empty", "needed_", "captured", "should_execute() is false"]


class NeededEdge(Struct, frozen=True):
    """An edge of the running Node."""

    edge: int
    target: int | None
    """None for an empty edge."""
    argument: str
    """The forward argument of the edge; empty if unknown."""
    computes: bool
    """``task_should_compute_output(edge)``"""
    why: EdgeReason
    skipped: int | None
    """The step at which its formula was skipped."""


def needed_edges(trace: Trace, node: ev.NodeStarted, at: int) -> list[NeededEdge]:
    """Return the edges of a Node in order, with the formulas that were skipped at a step."""
    made = history(trace).edges(node.node, at)
    if made is None:
        return []
    skipped = _skipped(trace, node, at)
    names = [argument for argument, _ in made.inputs] if len(made.inputs) == len(made.edges) else [""] * len(made.edges)
    return [
        _edge(trace, place, None if edge is None else edge[0], name, skipped.get(place), node.seq)
        for place, (edge, name) in enumerate(zip(made.edges, names, strict=True))
    ]


def _edge(trace: Trace, place: int, target: int | None, name: str, skipped: int | None, at: int) -> NeededEdge:
    computes = bool(needs_edge(trace, target, at))
    return NeededEdge(place, target, name, computes, _why(trace, target, computes, at), skipped)


def _why(trace: Trace, target: int | None, computes: bool, at: int) -> EdgeReason:
    backward = backward_around(trace, at)
    if target is None:
        return "empty edge"
    if backward is None or not backward.exec_info:
        return "exec_info_ is empty"
    if not computes:
        return "should_execute() is false"
    return "needed_" if backward.needs(target) else "captured"


def _skipped(trace: Trace, node: ev.NodeStarted, at: int) -> dict[int, int]:
    """Return the step at which the formula of each skipped edge was skipped in this run of the Node."""
    steps = (step for step in trace.columns.of_node.get(node.node, ()) if node.seq < step <= at)
    events = (trace[step] for step in steps if trace.columns.kinds[step] == trace.columns.code(ev.FormulaSkipped))
    return {event.edge: event.seq for event in events if isinstance(event, ev.FormulaSkipped)}
