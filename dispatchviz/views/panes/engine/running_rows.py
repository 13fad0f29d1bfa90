"""The running Node: its device and thread, and the formulas that this graph task needs."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.engine.needed_edges import NeededEdge, needed_edges
from dispatchviz.explain.locations.pytorch_locations import apply_function
from dispatchviz.explain.things.thing import NodeThing
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.views.panes.engine.section import MANY, more
from dispatchviz.views.text.styled_line import Line, line

PY_NODE = "torch::autograd::PyNode::apply"


def running_rows(trace: Trace, node: ev.NodeStarted | None, at: int, whole: bool) -> Iterator[Line]:
    """Yield the running Node, or nothing between two Nodes. Unless ``whole`` is true, list only the edges that are not
    needed.
    """
    if node is None:
        return
    title = node_title(trace, node.node, at)
    thread = "the calling thread" if node.thread == "caller" else node.thread
    yield line(("▶ runs     ", "focus"), (title, "bold"), (f"  {node.device}, on {thread}", "dim"), key="runs",
               value=title, goto=node.seq, about=NodeThing(node.node), cut=True)  # fmt: skip
    if is_unseen(trace.header, ev.FormulaSkipped):
        return
    edges = needed_edges(trace, node, at)
    shown = edges if whole else [edge for edge in edges if edge.why == "should_execute() is false"]
    if shown and whole:
        yield line(("  task_should_compute_output:", "dim"))
    for edge in shown[:MANY]:
        yield _edge(trace, edge, node, at)
    yield from more(len(shown) - MANY)
    if shown and apply_function(node.name)[0] == PY_NODE:
        said = "a Python Function does not see this: ctx.needs_input_grad keeps its value from the forward"
        yield line((f"    {said}", "dim"), indent=6)


def _edge(trace: Trace, edge: NeededEdge, node: ev.NodeStarted, at: int) -> Line:
    argument = f" {edge.argument}" if edge.argument else ""
    to = "" if edge.target is None else f"  → {node_title(trace, edge.target, at)}"
    verdict = ("true", "") if edge.computes else ("false", "removed")
    left_out = ", its formula is skipped" if edge.skipped is not None else ""
    return line(f"    edge {edge.edge}", (argument, "name"), "  ", verdict, to, (f"  {edge.why}{left_out}", "dim"),
                goto=node.seq if edge.skipped is None else edge.skipped, indent=6, cut=True,
                about=None if edge.target is None else NodeThing(edge.target))  # fmt: skip
