"""The backward graph as DOT text: the texts in the boxes, and the edges between them.

Boxes are record shapes, because one of the layout programs drops HTML-like labels without an error. The same graph
gives the same bytes, because boxes are named by the trace's numbers. ``svg.py`` makes a picture from the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.graph_node import GraphEdge, GraphNode, SavedTensor, State
from dispatchviz.explain.graph.memory.storage_sizes import memories, plain_bytes
from dispatchviz.explain.graph.node_details import (
    Made,
    described,
    hooks,
    made_at,
    made_during,
    made_in,
    saved_bytes,
    state_text,
    view_text,
)
from dispatchviz.explain.graph.node_groups import Group, groups
from dispatchviz.explain.graph.node_outline import GraphChanges
from dispatchviz.explain.trace_index.display_names import node_title
from dispatchviz.explain.trace_index.enclosing_steps import source_line
from dispatchviz.explain.trace_index.lookups import uses_cuda
from dispatchviz.foundation.english import listed, shaped, shortened
from dispatchviz.foundation.shown_text import shown
from dispatchviz.outputs.picture.dot_attributes import attribute_list
from dispatchviz.outputs.picture.picture_options import USUAL, Options

MOST_USES = 6
"""The number of edges to a Node above which each further use gets a small stand-in. With all edges at one point, laying
out a graph in which a leaf is used some hundred times takes minutes.
"""

MOST_PORTS = 8
"""The number of edges above which a Node writes their numbers on the edges and not into the box."""

MOST_INPUTS = 4
"""The number of tensors requested by a backward above which the title only counts them."""

LONGEST = 48
"""The length at which values are cut."""

MANY = 1000
"""The number of boxes from which on the layout program is set to stop improving early."""

FONT = "DejaVu Sans"
"""The widest of the usual fonts. If it is missing, its replacement needs no more room."""

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
"""The look of each state. The line distinguishes states without color, and a text names each state anyway."""


class Drawing(Struct, frozen=True):
    """DOT text, and the texts that its picture must show."""

    source: str
    texts: tuple[str, ...]
    """Each text of each label, as it must be readable in the picture."""
    boxes: int
    edges: int


def drawing(graph: BackwardGraph, options: Options = USUAL) -> Drawing:
    """Draw a graph. Gradients flow along the arrows, from the roots at the top down to the leaves."""
    pen, changes = Pen(), changes_of(graph, options)
    for node in graph:
        _draw_node(pen, graph, node, options, changes)
    drawn_in_full: set[int] = set()
    for number in reversed(graph.wiring.order):
        for index, edge in enumerate(graph[number].edges):
            _draw_edge(pen, graph, graph[number], index, edge, drawn_in_full, options)
    title = [
        f"Backward graph of {graph.header.program}",
        *when(graph, options),
        *legend(graph, of_many_steps=options.of_many_steps),
        *frames_legend(options),
    ]
    if _draw_parents(pen, graph):
        title.append("Dotted arrows: to the Node that was running when a Node was made (parent in anomaly mode)")
    if made := _made_while_running(graph):
        _draw_makers(pen, graph, made)
        title.append("Dashed open arrows: from the Node that was running when a Node was made")
    paths = {f"n{node}": path for node, path in _frames(graph, options, made).items()}
    draw_frames(pen, {name: paths.get(name.partition("e")[0], ()) for name in pen.names})
    return pen.drawing(title)


Frame = tuple[str, str]
"""The identity of a frame, and the lines of its title."""


def _frames(graph: BackwardGraph, options: Options, made: dict[int, int]) -> dict[int, tuple[Frame, ...]]:
    """Return the frames around each Node, from the outermost: the backward during which it was made, then its
    groups.
    """
    paths = groups(graph, options.cluster)
    return {node: (*_backward_frame(graph, node, made), *map(frame_of, paths.get(node, ()))) for node in graph.nodes}


def frame_of(group: Group) -> Frame:
    """Return the frame of a group."""
    return str(group.key), group.title


def _backward_frame(graph: BackwardGraph, node: int, made: dict[int, int]) -> tuple[Frame, ...]:
    backward = made_during(graph.trace, node) if node in made else None
    if backward is None:
        return ()
    line = source_line(graph.trace, backward.seq)
    where = f" of line {line.line}" if line else ""
    how = " with create_graph=True" if backward.create_graph else ""
    return ((f"step {backward.seq}", f"made during the backward{where}{how}"),)


def when(graph: BackwardGraph, options: Options) -> Iterator[str]:
    """Yield the step of the graph, if it is not the last one, and the step that it is compared with."""
    if graph.at < len(graph.trace) - 1:
        yield f"as of step {graph.at}"
    if options.since is not None:
        yield f"Thick line: changed since step {options.since}"


def frames_legend(options: Options) -> Iterator[str]:
    match options.cluster:
        case "module":
            what = "Boxes and frames with a path" if options.boxed else "Frames"
            yield (
                f"{what}: the path of the parameters that a call uses; a call without any is in the frame of the "
                "function call around it"
            )
        case "function":
            yield "Frames: calls of the program's functions"
        case "line":
            yield "Frames: lines of the program"
        case "none":
            return


class Pen(Struct):
    """Lines of DOT, and the texts in them."""

    boxes: list[str] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """The names of all boxes, in order."""

    def box(self, name: str, label: str, **attributes: str) -> None:
        self.names.append(name)
        self.boxes.append(f"  {name}{attribute_list(attributes, label)}")

    def link(self, step: int, tooltip: Iterable[str]) -> dict[str, str]:
        """Make a box a link to a step of the trace, which a player of that trace follows."""
        text = "\n".join(" ".join(shown(line).split()) for line in tooltip)
        escaped = text.replace("&", "&amp;").replace("\\", "\\" * 4)  # Graphviz takes escapes out of tooltips twice
        return {"URL": f"#step={step}", "tooltip": escaped.replace("\n", "\\n")}

    def edge(self, tail: str, head: str, **attributes: str) -> None:
        self.edges.append(f"  {tail} -> {head}{attribute_list(attributes)}")

    def in_order(self, names: Iterable[str]) -> None:
        """Keep boxes that nothing leads to in this order."""
        self.boxes.append("  first [style=invis shape=point width=0 height=0 margin=0]")
        self.edges += [f"  first -> {name} [style=invis]" for name in names]

    def text(self, text: str) -> str:
        """Return a text escaped for any label, including records, and remember it. An empty text would crash the
        layout.
        """
        label = as_drawn(text)
        self.texts.append(label)
        return label.translate(_ESCAPES)

    def lines(self, texts: Iterable[str]) -> str:
        """Return lines that are aligned to the left."""
        return "".join(f"{self.text(text)}\\l" for text in texts)

    def drawing(self, title: Iterable[str], name: str = "backward", **page: str) -> Drawing:
        """Return the drawing under a title. ``page`` has attributes of the whole picture."""
        limits = {"nslimit": "2", "nslimit1": "2"} if len(self.names) > MANY else {}
        label = self.lines(title)
        head = [
            f"digraph {name} {{",
            f"  graph{attribute_list({**_PAGE, **limits, **page}, label)}",
            f"  node{attribute_list(_BOX)}",
            f"  edge{attribute_list(_ARROW)}",
        ]
        source = "".join(f"{text}\n" for text in (*head, *self.boxes, *self.edges, "}"))
        return Drawing(source, tuple(self.texts), len(self.names), len(self.edges))


_ESCAPES = str.maketrans({**{char: f"\\{char}" for char in "{}|<>\\"}, "&": "&amp;"})


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


def legend(graph: BackwardGraph, ordered: bool = True, of_many_steps: bool = False) -> Iterator[str]:
    """Yield the legend: the meaning of the signs, and the tensors that the backward was asked for. ``ordered`` is True
    if boxes show the order of the Nodes. With ``of_many_steps`` it says nothing about one step.
    """
    yield "Arrows: the direction in which gradients flow"
    if ordered and any(node.order for node in graph.outlines()):
        yield "1st, 2nd, ...: the order in which the engine ran the Nodes"
    if graph.inputs:
        requested = listed(graph.inputs) if len(graph.inputs) <= MOST_INPUTS else f"{len(graph.inputs)} tensors"
        by = "backward(inputs=)" if graph.accumulate else "grad()"
        yield f"{by} requested {requested}: Nodes that do not lead there are not needed"
    yield from () if of_many_steps else saved_legend(graph)
    if graph.header.cuda.startswith("emulated") and uses_cuda(graph.trace):
        yield f"cuda: {graph.header.cuda}"


def saved_legend(graph: BackwardGraph) -> Iterator[str]:
    """Yield how much memory the saved tensors keep. A big graph has too many Nodes to look at."""
    count, storages, freed = saved_bytes(graph.trace, graph) if len(graph) <= MANY else (0, 0, False)
    if storages:
        where = "1 storage" if storages == 1 else f"{storages} storages, each counted once"
        yield f"saved tensors: {plain_bytes(count)} in {where}" + ("; freed by now" if freed else "")


def changes_of(graph: BackwardGraph, options: Options) -> GraphChanges | None:
    """Return the changes since the requested step, or None."""
    return None if options.since is None else GraphChanges(graph.trace, options.since)


def _draw_node(pen: Pen, graph: BackwardGraph, node: GraphNode, options: Options, changes: GraphChanges | None) -> None:
    title = f"<t>{pen.text(node.title)}"
    change = changes.text(node.number, node.state) if changes else ""
    if state := ", ".join(filter(None, [state_text(graph, node), change])):
        title = f"{{{title}|{pen.text(state)}}}"
    facts = pen.lines(_facts(graph, node, options)) if options.says("saved") else ""
    rows = [title, facts, _ports(pen, node, options)]
    name, label = f"n{node.number}", f"{{{'|'.join(row for row in rows if row)}}}"
    looks = {**look(node), **(CHANGED if change else {})}
    pen.box(name, label, id=name, **looks, **node_link(pen, graph, node))


CHANGED = {"penwidth": "3"}
"""The look of a Node that has changed since the compared step."""


def node_link(pen: Pen, graph: BackwardGraph, node: GraphNode) -> dict[str, str]:
    """Return a link from a Node's box to the step of the forward call that made it. The tooltip shows the call's
    operator and line.
    """
    made = made_at(graph.trace, node.number)
    return {} if made is None else pen.link(made.step, [node.title, *_made_texts(made)])


def _made_texts(made: Made) -> Iterator[str]:
    """Yield the origin of a Node: ``made by aten::add.Tensor, step 12``; ``forum.py:6``."""
    by = f"by {made.operator}, " if made.operator else "at "
    yield f"made {by}step {made.step}"
    if made.place:
        yield made.place


def look(node: GraphNode) -> dict[str, str]:
    """Return the colors and lines of a Node's box."""
    fill, line, style, width = LOOKS[node.state]
    colors = {"style": f"filled,{style}", "fillcolor": fill, "color": line, "penwidth": width}
    shape = "Mrecord" if node.leaf else "record"
    return {"class": f"n{node.number} {node.state.name.lower()}", **colors, "shape": shape}


def _facts(graph: BackwardGraph, node: GraphNode, options: Options = USUAL) -> Iterator[str]:
    yield f"sequence_nr {node.number_text}" + (f", from line {node.line}" if node.line else "")
    if options.says("all"):
        yield f"topological_nr {node.topological_nr}"
        made = made_at(graph.trace, node.number)
        yield from list(_made_texts(made))[:1] if made else ()
    if node.leaf:
        yield described(node.leaf)
    else:
        yield from gradients(node)
    yield from (shortened(f"{name}={value}", LONGEST) for name, value in node.attributes)
    kept = "freed" if node.released else "saved"
    yield from (shortened(f"{kept} {saved_text(saved)}", LONGEST) for saved in node.variables)
    if options.says("all") and (stored := memories(graph.trace, (s.tensor.number for s in node.variables if s.tensor))):
        yield f"{kept} {plain_bytes(sum(stored.values()))}"
    yield from extras(graph, node)
    if graph.wiring.uses[node.number] > MOST_USES:
        yield f"used {graph.wiring.uses[node.number]} times"


def extras(graph: BackwardGraph, node: GraphNode) -> Iterator[str]:
    """Yield facts that few Nodes have: views and hooks."""
    if view := view_text(graph.trace, node, graph.at):
        yield shortened(view, LONGEST)
    for hook in hooks(graph.trace, node, graph.at):
        of = f" of {hook.tensor}" if hook.tensor else ""
        yield shortened(f"hook {hook.function}: {hook.kind}{of}", LONGEST)


def gradients(node: GraphNode) -> Iterator[str]:
    """Yield the shapes of the gradients that a Node receives: ``gradient [2, 2]``, numbered if there are several."""
    for index, tensor in enumerate(node.inputs):
        number = f" {index}" if len(node.inputs) > 1 else ""
        if tensor and tensor.shape is not None:
            yield f"gradient{number} {shaped(tensor.shape)}"


def saved_text(saved: SavedTensor) -> str:
    """Return the text of a saved tensor: ``self=x [2, 2] version 0``."""
    if saved.tensor is None:
        return f"{saved.name}=undefined"
    shape = "" if saved.tensor.shape is None else f" {shaped(saved.tensor.shape)}"
    return f"{saved.name}={saved.tensor.name}{shape} version {saved.version}"


def edge_text(edge: GraphEdge, index: int) -> str:
    """Return the argument and tensor of an edge in the forward: ``self=x``; its number if they are unknown."""
    if not edge.argument:
        return str(index)
    return f"{edge.argument}={edge.tensor}" if edge.tensor else edge.argument


def has_ports(node: GraphNode) -> bool:
    several = len(node.edges) > 1 or any(edge.target is None for edge in node.edges)
    return several and len(node.edges) <= MOST_PORTS


def _ports(pen: Pen, node: GraphNode, options: Options) -> str:
    """Return a row of the box with a field for each edge, including empty ones."""
    if not options.says("edges") or not has_ports(node):
        return ""
    fields = (
        f"<e{index}>{pen.text(shortened(edge_text(edge, index), LONGEST))}" for index, edge in enumerate(node.edges)
    )
    return f"{{{'|'.join(fields)}}}"


def _draw_edge(
    pen: Pen, graph: BackwardGraph, node: GraphNode, index: int, edge: GraphEdge, full: set[int], options: Options
) -> None:
    ports = options.says("edges")
    tail = f"n{node.number}" + (f":e{index}:s" if ports and has_ports(node) else ":s")
    name = f"n{node.number}e{index}"
    if edge.target is None:
        if ports:
            draw_empty(pen, tail, name)
    elif edge.target in graph.nodes:
        target = graph[edge.target]
        head = f"n{target.number}"
        if target.number in full and graph.wiring.uses[target.number] > MOST_USES:
            head = f"{name}_{head}"
            pen.box(head, pen.text(target.title), **{**look(target), "fontsize": "11", "margin": "0.08,0.03"})
        else:
            head += ":t:n" if ports and has_ports(node) else ":n"
        full.add(target.number)
        line = UNUSED if graph.prunes(edge) else {} if target.leaf else {"weight": "8"}
        label = edge_label(node, index, edge, target) if ports else ""
        texts = {label_place(graph): pen.text(label)} if label else {}
        pen.edge(tail, head, id=name, **line, **texts)


PARENT = {"style": "dotted", "color": "#8A3A69", "class": "parent", "constraint": "false"}
"""The look of an edge to the parent in anomaly mode. No gradient takes it."""


def _draw_parents(pen: Pen, graph: BackwardGraph) -> bool:
    """Draw edges to parents. Return whether there are any. A parent in another graph gets a stand-in with its name."""
    parents = {node.number: node.parent for node in graph if node.parent is not None}
    for number, title in dict(parents.values()).items():
        if number not in graph.nodes:
            pen.box(f"n{number}", pen.text(title), **ELSEWHERE)
    for node, (parent, _) in parents.items():
        pen.edge(f"n{node}", f"n{parent}", id=f"n{node}parent", **PARENT)
    return bool(parents)


ELSEWHERE = {"style": "dotted", "fontsize": "11", "margin": "0.08,0.03", "color": "#555555"}
"""The look of a Node of another graph."""


def _made_while_running(graph: BackwardGraph) -> dict[int, int]:
    """Return the Nodes that were made while another one ran, each with that one. Nodes with a recorded parent are left
    out.
    """
    found = {node.number: made_in(graph.trace, node.number) for node in graph if node.parent is None and not node.leaf}
    return {node: maker for node, maker in found.items() if maker is not None}


MADE = {"style": "dashed", "color": "#2F6B3C", "class": "made", "constraint": "false", "arrowhead": "vee"}
"""The look of an arrow from a Node to one that was made while it ran."""


def _draw_makers(pen: Pen, graph: BackwardGraph, made: dict[int, int]) -> None:
    """Draw arrows from the Nodes that ran to the Nodes that were made meanwhile."""
    for number in dict.fromkeys(made.values()):
        if number not in graph.nodes:
            pen.box(f"n{number}", pen.text(node_title(graph.trace, number, graph.at)), **ELSEWHERE)
    for node, maker in made.items():
        pen.edge(f"n{maker}", f"n{node}", id=f"n{node}made", **MADE)


FRAME = {
    "style": "rounded,filled",
    "fillcolor": "#FAFAF5",
    "color": "#8A8A6A",
    "penwidth": "2",
    "labeljust": "r",
    "margin": "16",
}
"""The look of a frame around boxes that belong together."""


def draw_frames(pen: Pen, paths: Mapping[str, Sequence[Frame]]) -> None:
    """Draw nested frames around boxes, given by the names of the boxes."""
    inside: dict[tuple[Frame, ...], list[str]] = defaultdict(list)
    for name, path in paths.items():
        if path:
            inside[tuple(path)].append(name)
    _draw_within(pen, inside, ())


def _draw_within(pen: Pen, inside: dict[tuple[Frame, ...], list[str]], path: tuple[Frame, ...]) -> None:
    depth = len(path)
    pen.boxes += [f"  {name}" for name in inside.get(path, ())]
    for frame in dict.fromkeys(found[depth] for found in inside if len(found) > depth and found[:depth] == path):
        pen.boxes.append(f"  subgraph cluster{len(pen.boxes)} {{")
        label = pen.lines(shortened(line, LONGEST * 2) for line in frame[1].split("\n"))
        pen.boxes.append(f"  graph{attribute_list(FRAME, label)}")
        _draw_within(pen, inside, (*path, frame))
        pen.boxes.append("  }")


UNUSED = {"style": "dashed", "color": "#888888", "class": "unused"}
"""The look of an edge along which no gradient goes in this backward."""


def draw_empty(pen: Pen, tail: str, name: str) -> None:
    """Draw a short stub, which shows an output that leads nowhere."""
    stub = {"shape": "plain", "fontsize": "11", "fontcolor": "#444444", "class": "empty"}
    pen.box(f"{name}_empty", pen.text("no gradient"), **stub)
    pen.edge(tail, f"{name}_empty", id=name, style="dashed", arrowhead="none")


def edge_label(node: GraphNode, index: int, edge: GraphEdge, target: GraphNode) -> str:
    """Return the number of an edge and the input that it leads to, unless the boxes show them."""
    parts = [] if has_ports(node) or len(node.edges) < 2 else [f"{index}"]
    if edge.input_nr or len(target.inputs) > 1:
        parts.append(f"input_nr {edge.input_nr}")
    return " to ".join(parts)


def label_place(graph: BackwardGraph) -> str:
    """Return the attribute for labels of edges. In a big graph they are placed after the layout.

    A ``label`` takes part in the layout: it doubles the ranks of the whole graph, and with them the time and the length
    of each arrow that passes them.
    """
    return "xlabel" if len(graph) > MANY else "label"


def node_texts(graph: BackwardGraph, node: GraphNode) -> tuple[str, str, list[str]]:
    """Return the texts of a Node's box, as the picture shows them: its title, its state (which may be empty), the lines
    below.
    """
    lines = [as_drawn(text) for text in _facts(graph, node)]
    state = state_text(graph, node)
    return as_drawn(node.title), state and as_drawn(state), lines


def as_drawn(text: str) -> str:
    """Return a text as a label shows it."""
    return " ".join(shown(text).split()) or "(blank)"
