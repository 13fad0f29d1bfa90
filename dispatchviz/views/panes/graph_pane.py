"""The backward graph at a step: one row per Node with lines between them. Gradients flow down.

Of a large graph, only the part around the current Node is shown: ten thousand rows are too many to read, and each step
would have to draw them.
"""

from __future__ import annotations

from dispatchviz.core.record.events import NodeCreated
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, part_around
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.views.panes.empty_titles import next_step
from dispatchviz.views.panes.lanes import LaneRow, lanes
from dispatchviz.views.text.styled_line import Line, line

MOST = 200
"""A graph with more Nodes than this is shown in part."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the graph, or the step at which it starts."""
    part = part_around(trace, at, MOST)
    if not len(part.graph):
        return [_empty(trace, at)]
    drawn = [_row(part.graph, lane) for lane in lanes(part.graph)]
    return [*_more(part.above, "above"), *drawn, *_more(part.below, "below")]


def _more(number: int, where: str) -> list[Line]:
    return [line((f"… {number:,} more {'Node' if number == 1 else 'Nodes'} {where}", "dim"))] if number else []


def _row(graph: BackwardGraph, lane: LaneRow) -> Line:
    """The row of a Node, which leads to the step that created it, or the lines between two Nodes."""
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
        about=NodeThing(lane.node),
        here=lane.here,
        shaded=lane.here,
        cut=True,
    )


def _empty(trace: Trace, at: int) -> Line:
    step = next_step(trace, at, NodeCreated)
    if step is None:
        return line(("No backward graph: this program records no Node.", "dim"))
    return line(("No backward graph yet: it starts at step ", "dim"), (str(step), "keycap"), (".", "dim"), goto=step)
