"""The graph that the compiler captured: its lines below the program's lines or below Nodes, the line that runs, and
the keys that the Python dispatcher picked.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.graph_line import GraphLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.compiled.compiled_names import graph_title
from dispatchviz.explain.graph.compiled.graphs import CALLS
from dispatchviz.explain.graph.compiled.running_graph import ShownGraph, shown_graph
from dispatchviz.explain.trace_index.enclosing_steps import source_lines
from dispatchviz.foundation.english import listed
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.styled_line import Line, Span, line


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of the graph of a step, or the step at which there is one."""
    shown = shown_graph(trace, at)
    if shown is None:
        return [not_yet(trace, at, ev.GraphCaptured, "The step is not in compiled code")]
    graph = shown.graph
    doing = "runs" if shown.runs else "captured"
    head = line(
        (graph_title(graph), "bold"), (f"  {doing}", "dim"), key="graph", value=graph_title(graph), goto=graph.seq
    )
    saved = [line(("saves for the backward graph  ", "dim"), listed(graph.saved))] if graph.saved else []
    return [head, *saved, *_lines(trace, shown)]


def _lines(trace: Trace, shown: ShownGraph) -> Iterator[Line]:
    """Yield the lines, with a heading wherever the program's line or the Node changes."""
    before = ""
    for each in shown.graph.lines:
        if each.kind not in CALLS:
            continue
        heading = _heading(trace, shown.graph, each)
        if heading != before:
            yield line((heading or "no line of the program", "title" if each.node else "dim"), cut=True)
        before = heading
        here = each.name == shown.line
        yield _row(shown.graph, each, here)
        if (here or not shown.runs) and each.keys:
            yield line(("      keys  ", "dim"), (_keys(each), "key"), indent=12)


def _heading(trace: Trace, graph: ev.GraphCaptured, each: GraphLine) -> str:
    """The Node of a line of a backward, or else the line of the program."""
    backward = each.part == "backward" or graph.stage in ("backward", "compiled autograd")
    again = graph.stage == "backward" and each.part == "forward"
    place = ""
    if each.file:
        own = each.file == trace.header.program
        text = dict(enumerate(source_lines(trace, each.file), 1)).get(each.line, "").strip()
        place = f"{'' if own else each.file + ', '}line {each.line}  {text}".rstrip()
    if again:
        return f"of the forward: {place}"
    if not backward or not each.node:
        return place or ("inputs" if backward else "")
    return f"{each.node}{' of ' if place else ''}{place}"


def _row(graph: ev.GraphCaptured, each: GraphLine, here: bool) -> Line:
    node: tuple[Span, ...] = ()
    if each.node and each.part == "forward" and graph.stage in ("joint", "forward"):
        node = ((f"  {each.node}", "forward"),)
    return line(
        ("▶ " if here else "  ", "focus"),
        (each.name, "name"),
        (" = ", "dim"),
        (each.code, "bold" if here else ""),
        (f"  {each.value}" if each.value else "", "tensor"),
        *node,
        key=f"line {each.name}",
        here=here,
        indent=6,
    )


def _keys(each: GraphLine) -> str:
    return ", ".join(key if key == picked else f"{key} → {picked}" for key, picked in each.keys)
