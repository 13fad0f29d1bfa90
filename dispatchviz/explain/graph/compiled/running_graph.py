"""The graph and its line at a step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.compiled.graphs import CALLS, graph_of, region_of_node
from dispatchviz.explain.trace_index.call_chains import outermost
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around
from dispatchviz.explain.trace_index.lookups import last_event


class ShownGraph(NamedTuple):
    """The graph of a step."""

    graph: ev.GraphCaptured
    runs: bool
    """True if the graph runs at the step; false while the compiler makes it."""
    line: str = ""
    """The name of the line that runs at the step; empty if it is not known, or if none runs."""


def shown_graph(trace: Trace, at: int) -> ShownGraph | None:
    """The graph that runs at a step, or that the compiler has made last. None outside of compiled code."""
    event = trace[at]
    if isinstance(event, ev.RegionNodeMade):
        graph = graph_of(trace, at, event.region, "backward")
        return None if graph is None else ShownGraph(graph, False)
    return _made(trace, at) or _running(trace, at)


def _made(trace: Trace, at: int) -> ShownGraph | None:
    """The graph that was made last in the compilation around a step."""
    compiling = at_or_around(trace, at, ev.CompileStarted) or at_or_around(trace, at, ev.BackwardCompiled)
    last = None if compiling is None else last_event(trace, at, ev.GraphCaptured)
    return None if compiling is None or last is None or last.seq < compiling.seq else ShownGraph(last, False)


def _running(trace: Trace, at: int) -> ShownGraph | None:
    called = at_or_around(trace, at, ev.RegionCalled)
    if called is not None:
        graph = graph_of(trace, at, called.region, "forward", "inference", "Dynamo")
        return None if graph is None else ShownGraph(graph, True, _line(trace, at, called.seq, graph))
    node = at_or_around(trace, at, ev.NodeStarted)
    region = None if node is None else region_of_node(trace, node.node, at)
    if node is None or region is None or (graph := graph_of(trace, at, region, "backward")) is None:
        return None
    return ShownGraph(graph, True, _line(trace, at, node.seq, graph))


def _line(trace: Trace, at: int, begin: int, graph: ev.GraphCaptured) -> str:
    """The name of the line whose call is the step or around it.

    The region makes its calls in the order of the lines. A line without a call, such as a fused one, is passed over.
    """
    lines = [line for line in graph.lines if line.kind in CALLS]
    name, place, over = "", 0, -1
    for call in _calls(trace, begin + 1, at):
        found = next((n for n in range(place, len(lines)) if lines[n].operator == call.operator), None)
        name, over = ("", -1) if found is None else (lines[found].name, trace.ends[call.seq])
        place = place if found is None else found + 1
    return name if at <= over else ""


def _calls(trace: Trace, begin: int, end: int) -> Iterator[ev.Dispatched]:
    """Yield the outermost calls from one step to another."""
    calls = map(trace.__getitem__, outermost(trace, begin, end))
    return (call for call in calls if isinstance(call, ev.Dispatched))
