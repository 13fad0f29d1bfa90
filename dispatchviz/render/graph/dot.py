"""The backward graph as DOT text: what is written in each box and drawn between them.

Boxes are record shapes, because one of the layout programs drops HTML-like labels without an error. The same graph
gives the same bytes: boxes are called by the trace's numbers. Turning the text into a picture is ``svg.py``'s work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from graphviz import nohtml
from graphviz.quoting import attr_list

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.graph_node import GraphEdge, GraphNode, GraphTensor, SavedTensor, State
from dispatchviz.explain.sentences.english import listed, nth, plain_dtype, shaped, shortened
from dispatchviz.shown_text import shown

MOST_USES = 6
"""A Node that more edges lead to gets a small stand-in per further use: with all edges in one point, laying out a graph
in which a leaf is used some hundred times takes minutes."""

MOST_PORTS = 8
"""A Node with more edges writes their numbers on the edges, not into the box."""

MOST_INPUTS = 4
"""Of more tensors than this that a backward requests, the title only says how many."""

LONGEST = 48
"""Values are cut at this length."""

MANY = 1000
"""From so many boxes on, the layout program is set to stop improving early."""

FONT = "DejaVu Sans"
"""The widest of the usual fonts: its replacement where it is missing needs no more room."""

Look = tuple[str, str, str, str]
"""Fill, line, style and width of the line."""

LOOKS: dict[State, Look] = {
    State.CREATED: ("#FFFFFF", "#555555", "solid", "1"),
    State.WAITING: ("#FDF6C9", "#6E6200", "dashed", "1"),
    State.QUEUED: ("#FBE0A8", "#8A5A00", "solid", "2"),
    State.PRUNED: ("#F4F4F4", "#777777", "dotted", "1"),
    State.RUNNING: ("#F9C4A0", "#B34700", "solid", "4"),
    State.DONE: ("#D3E7F5", "#005B8F", "solid", "1"),
    State.RELEASED: ("#E9F1F7", "#005B8F", "solid", "1"),
    State.CAPTURED: ("#F3DDEB", "#8A3A69", "dotted", "2"),
    State.FAILED: ("#FFFFFF", "#000000", "dashed", "4"),
}
"""Of each state; distinguished without colour by the line, and by text in any case."""


@dataclass(frozen=True)
class Drawing:
    """DOT text, and what the picture made from it must show."""

    source: str
    texts: tuple[str, ...]
    """Every text of every label, as it must be readable in the picture."""
    boxes: int
    edges: int


def drawing(graph: BackwardGraph) -> Drawing:
    """Draws a graph; gradients flow along the arrows, from the roots on top down to the leaves."""
    pen = Pen()
    for node in graph:
        _draw_node(pen, graph, node)
    drawn_in_full: set[int] = set()
    for number in reversed(graph.wiring.order):
        for index, edge in enumerate(graph[number].edges):
            _draw_edge(pen, graph, graph[number], index, edge, drawn_in_full)
    title = [f"Backward graph of {graph.header.program}", *legend(graph)]
    if _draw_parents(pen, graph):
        title.append("Dotted arrows: to the Node during whose run a Node was made (parent in anomaly mode)")
    return pen.drawing(title)


@dataclass
class Pen:
    """Lines of DOT, and the texts in them."""

    boxes: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def box(self, name: str, label: str, **attributes: str) -> None:
        self.boxes.append(f"  {name}{attr_list(nohtml(label), kwargs=attributes)}")

    def edge(self, tail: str, head: str, **attributes: str) -> None:
        self.edges.append(f"  {tail} -> {head}{attr_list(kwargs=attributes)}")

    def text(self, text: str) -> str:
        """A text escaped for any label, records too, and remembered; an empty one would crash the layout."""
        label = as_drawn(text)
        self.texts.append(label)
        return "".join(_ESCAPES.get(char, char) for char in label)

    def lines(self, texts: Iterable[str]) -> str:
        """Lines that begin at the left."""
        return "".join(f"{self.text(text)}\\l" for text in texts)

    def drawing(self, title: Iterable[str], name: str = "backward", **page: str) -> Drawing:
        """All that was drawn, under a title; ``page`` has attributes of the whole."""
        limits = {"nslimit": "2", "nslimit1": "2"} if len(self.boxes) > MANY else {}
        label = nohtml(self.lines(title))
        head = [
            f"digraph {name} {{",
            f"  graph{attr_list(label, kwargs={**_PAGE, **limits, **page})}",
            f"  node{attr_list(kwargs=_BOX)}",
            f"  edge{attr_list(kwargs=_ARROW)}",
        ]
        source = "".join(f"{text}\n" for text in (*head, *self.boxes, *self.edges, "}"))
        return Drawing(source, tuple(self.texts), len(self.boxes), len(self.edges))


_ESCAPES = {**{char: f"\\{char}" for char in "{}|<>\\"}, "&": "&amp;"}


_PAGE = {
    "fontname": FONT,
    "fontsize": "12",
    "labelloc": "t",
    "labeljust": "l",
    "bgcolor": "#FFFFFF",
    "nodesep": "0.35",
    "ranksep": "0.4",
    "pad": "0.2",
}
_BOX = {"fontname": FONT, "fontsize": "12", "shape": "record", "margin": "0.14,0.06"}
_ARROW = {"fontname": FONT, "fontsize": "10", "color": "#333333", "arrowsize": "0.8"}


def legend(graph: BackwardGraph) -> Iterator[str]:
    """What the signs mean, and what the backward was asked for."""
    yield "Arrows: where the gradients go"
    if any(node.order for node in graph.outlines()):
        yield "1st, 2nd, ...: the order in which the engine ran the Nodes"
    if graph.inputs:
        requested = listed(graph.inputs) if len(graph.inputs) <= MOST_INPUTS else f"{len(graph.inputs)} tensors"
        by = "backward(inputs=)" if graph.accumulate else "grad()"
        yield f"{by} requested {requested}: what does not lead there is not needed"
    if graph.header.cuda.startswith("emulated"):
        yield f"cuda: {graph.header.cuda}"


def _draw_node(pen: Pen, graph: BackwardGraph, node: GraphNode) -> None:
    title = f"<t>{pen.text(node.title)}"
    if state := state_text(graph, node):
        title = f"{{{title}|{pen.text(state)}}}"
    rows = [title, pen.lines(_facts(graph, node)), _ports(pen, node)]
    pen.box(f"n{node.number}", f"{{{'|'.join(row for row in rows if row)}}}", id=f"n{node.number}", **look(node))


def look(node: GraphNode) -> dict[str, str]:
    """The colours and lines of a Node's box."""
    fill, line, style, width = LOOKS[node.state]
    colours = {"style": f"filled,{style}", "fillcolor": fill, "color": line, "penwidth": width}
    shape = "Mrecord" if node.leaf else "record"
    return {"class": f"n{node.number} {node.state.name.lower()}", **colours, "shape": shape}


def state_text(graph: BackwardGraph, node: GraphNode) -> str:
    """``2nd: done``, ``waits for 2``; empty while no backward has started on the graph."""
    order = f"{nth(node.order)}: " if node.order else ""
    if node.state is State.WAITING:
        return f"waits for {node.left}" if node.left else "has all it waits for"
    if node.state is State.CREATED and graph.graph_task is None:
        return ""
    return f"{order}{node.state.value}"


def _facts(graph: BackwardGraph, node: GraphNode) -> Iterator[str]:
    yield f"sequence_nr {node.number_text}" + (f", from line {node.line}" if node.line else "")
    if node.leaf:
        yield described(node.leaf)
    else:
        yield from gradients(node)
    yield from (shortened(f"{name}={value}", LONGEST) for name, value in node.attributes)
    kept = "freed" if node.released else "saved"
    yield from (shortened(f"{kept} {saved_text(saved)}", LONGEST) for saved in node.variables)
    if graph.wiring.uses[node.number] > MOST_USES:
        yield f"used {graph.wiring.uses[node.number]} times"


def described(tensor: GraphTensor) -> str:
    """``[2, 2] float32 cuda:0``."""
    shape = "" if tensor.shape is None else shaped(tensor.shape)
    return " ".join(part for part in (shape, plain_dtype(tensor.dtype), tensor.device) if part)


def gradients(node: GraphNode) -> Iterator[str]:
    """The shapes of the gradients that a Node receives: ``gradient [2, 2]``, numbered if there are several."""
    for index, tensor in enumerate(node.inputs):
        number = f" {index}" if len(node.inputs) > 1 else ""
        if tensor and tensor.shape is not None:
            yield f"gradient{number} {shaped(tensor.shape)}"


def saved_text(saved: SavedTensor) -> str:
    """``self=x [2, 2] version 0``."""
    if saved.tensor is None:
        return f"{saved.name}=undefined"
    shape = "" if saved.tensor.shape is None else f" {shaped(saved.tensor.shape)}"
    return f"{saved.name}={saved.tensor.name}{shape} version {saved.version}"


def edge_text(edge: GraphEdge, index: int) -> str:
    """What an edge belongs to in the forward: ``self=x``; its number if that is unknown."""
    if not edge.argument:
        return str(index)
    return f"{edge.argument}={edge.tensor}" if edge.tensor else edge.argument


def has_ports(node: GraphNode) -> bool:
    several = len(node.edges) > 1 or any(edge.target is None for edge in node.edges)
    return several and len(node.edges) <= MOST_PORTS


def _ports(pen: Pen, node: GraphNode) -> str:
    """A row of the box with a field for each edge, the empty ones too."""
    if not has_ports(node):
        return ""
    fields = (
        f"<e{index}>{pen.text(shortened(edge_text(edge, index), LONGEST))}" for index, edge in enumerate(node.edges)
    )
    return f"{{{'|'.join(fields)}}}"


def _draw_edge(pen: Pen, graph: BackwardGraph, node: GraphNode, index: int, edge: GraphEdge, full: set[int]) -> None:
    tail = f"n{node.number}" + (f":e{index}:s" if has_ports(node) else ":s")
    name = f"n{node.number}e{index}"
    if edge.target is None:
        draw_empty(pen, tail, name)
    elif edge.target in graph.nodes:
        target = graph[edge.target]
        head = f"n{target.number}"
        if target.number in full and graph.wiring.uses[target.number] > MOST_USES:
            head = f"{name}_{head}"
            pen.box(head, pen.text(target.title), **{**look(target), "fontsize": "11", "margin": "0.08,0.03"})
        else:
            head += ":t:n" if has_ports(node) else ":n"
        full.add(target.number)
        line = UNUSED if graph.prunes(edge) else {} if target.leaf else {"weight": "8"}
        pen.edge(tail, head, id=name, **line, **edge_label(pen, node, index, edge, target))


PARENT = {"style": "dotted", "color": "#8A3A69", "class": "parent", "constraint": "false"}
"""Of an edge to the parent in anomaly mode: no gradient takes it."""


def _draw_parents(pen: Pen, graph: BackwardGraph) -> bool:
    """Whether there are any. A parent that is in another graph gets a stand-in with its name."""
    parents = {node.number: node.parent for node in graph if node.parent is not None}
    for number, title in dict(parents.values()).items():
        if number not in graph.nodes:
            pen.box(f"n{number}", pen.text(title), style="dotted", fontsize="11", margin="0.08,0.03")
    for node, (parent, _) in parents.items():
        pen.edge(f"n{node}", f"n{parent}", id=f"n{node}parent", **PARENT)
    return bool(parents)


UNUSED = {"style": "dashed", "color": "#888888", "class": "unused"}
"""Of an edge along which nothing goes in this backward."""


def draw_empty(pen: Pen, tail: str, name: str) -> None:
    """A short stub, so that one sees which output goes nowhere."""
    stub = {"shape": "plain", "fontsize": "11", "fontcolor": "#444444", "class": "empty"}
    pen.box(f"{name}_empty", pen.text("no gradient"), **stub)
    pen.edge(tail, f"{name}_empty", id=name, style="dashed", arrowhead="none")


def edge_label(pen: Pen, node: GraphNode, index: int, edge: GraphEdge, target: GraphNode) -> dict[str, str]:
    parts = [] if has_ports(node) or len(node.edges) < 2 else [f"{index}"]
    if edge.input_nr or len(target.inputs) > 1:
        parts.append(f"input_nr {edge.input_nr}")
    return {"label": nohtml(pen.text(" to ".join(parts)))} if parts else {}


def node_texts(graph: BackwardGraph, node: GraphNode) -> tuple[str, str, list[str]]:
    """What is written in a Node's box, as the picture has it: its title, its state (maybe empty), the lines below."""
    lines = [as_drawn(text) for text in _facts(graph, node)]
    state = state_text(graph, node)
    return as_drawn(node.title), state and as_drawn(state), lines


def as_drawn(text: str) -> str:
    """A text as a label shows it."""
    return " ".join(shown(text).split()) or "(blank)"
