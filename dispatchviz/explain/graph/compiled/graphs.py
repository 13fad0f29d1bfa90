"""The captured graphs of a trace, and their lines."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.graph_line import GraphLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.lookups import latest_first

CALLS = "call_function", "call_method", "call_module"
"""The kinds of lines that compute something."""


def calls_of(graph: ev.GraphCaptured) -> tuple[GraphLine, ...]:
    """The lines that compute something: no inputs, no results."""
    return tuple([line for line in graph.lines if line.kind in CALLS])


def nodes_of(graph: ev.GraphCaptured) -> tuple[str, ...]:
    """The names of the Nodes whose work a graph's lines do, in order."""
    lines = [line for line in calls_of(graph) if line.node and line.part != "forward"]
    found = {(line.node, line.sequence_nr): None for line in lines}
    return tuple([name for name, _ in found])


def graph_of(trace: Trace, at: int, region: int, *stages: ev.GraphStage) -> ev.GraphCaptured | None:
    """The graph of a region that was captured last: of the first stage that has one."""
    graphs = [one for one in latest_first(trace, at, ev.GraphCaptured) if one.region == region]
    return next((one for stage in stages for one in graphs if one.stage == stage), None)


def region_of_node(trace: Trace, node: int, at: int) -> int | None:
    """The region whose backward graph a Node runs; None for any other Node."""
    made = latest_first(trace, at, ev.RegionNodeMade)
    return next((one.region for one in made if one.node == node), None)
