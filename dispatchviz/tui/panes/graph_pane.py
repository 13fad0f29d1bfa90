"""The backward graph as far as it is built at a step: a row per Node, lines between them, gradients flow down.

Of a big graph the part around the Node that the step is about: nobody reads ten thousand rows, and each step would
have to draw them.
"""

from __future__ import annotations

from dataclasses import replace

from dispatchviz.core.record.events import NodeCreated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, Wiring, backward_graph
from dispatchviz.render.graph.lanes import LaneRow, lanes
from dispatchviz.tui.panes.next_event import next_step
from dispatchviz.tui.text.styled_line import Line, line

MOST = 200
"""A graph with more Nodes than this is shown in part."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The lanes, or at which step the graph starts."""
    graph = backward_graph(trace, at)
    if not len(graph):
        return [_empty(trace, at)]
    above, part, below = _part(graph)
    drawn = [_row(graph, lane) for lane in lanes(part)]
    return [*_more(above, "above"), *drawn, *_more(below, "below")]


def _part(graph: BackwardGraph) -> tuple[int, BackwardGraph, int]:
    """As many Nodes as are shown, with the highlighted one in the middle, and how many are left out at both ends."""
    order = graph.wiring.order
    if len(order) <= MOST:
        return 0, graph, 0
    middle = 0 if graph.highlight is None else order.index(graph.highlight)
    first = max(0, min(middle - MOST // 2, len(order) - MOST))
    shown = order[first : first + MOST]
    wiring = Wiring(shown, {number: graph.wiring.uses[number] for number in shown})
    part = replace(graph, nodes={number: graph[number] for number in shown}, wiring=wiring)
    return first, part, len(order) - MOST - first


def _more(number: int, where: str) -> list[Line]:
    return [line((f"… {number:,} more {'Node' if number == 1 else 'Nodes'} {where}", "dim"))] if number else []


def _row(graph: BackwardGraph, lane: LaneRow) -> Line:
    """A Node's row, which a click leads to the making of, or the lines between two."""
    if lane.node is None:
        return line("  ", (lane.lane, "rule"), cut=True)
    title, _, rest = lane.label.partition("  ")
    return line(
        ("▶ " if lane.here else "  ", "focus"),
        (lane.lane, "forward"),
        (f" {title}", "bold" if lane.here else "name"),
        (f"  {rest}" if rest else "", ""),
        key=f"node {lane.node}",
        goto=graph[lane.node].made,
        here=lane.here,
        shaded=lane.here,
        cut=True,
    )


def _empty(trace: Trace, at: int) -> Line:
    step = next_step(trace, at, NodeCreated)
    if step is None:
        return line(("No backward graph: nothing in this program recorded one.", "dim"))
    return line(("No backward graph yet: it starts at step ", "dim"), (str(step), "keycap"), (".", "dim"), goto=step)
