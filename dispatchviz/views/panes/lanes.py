"""The backward graph in a terminal: one row per Node, with lines between the rows. Gradients flow down.

A line is drawn once even if several edges run along it, so every row lists its edges by number, including empty ones.
The screen adds colors and scrolling.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from msgspec.structs import replace
from renderdag import Ancestor, GraphRowRenderer
from rich.cells import cell_len, set_cell_size

from dispatchviz.explain.graph.backward_graph import BackwardGraph, Wiring
from dispatchviz.explain.graph.graph_node import GraphEdge, GraphNode, State
from dispatchviz.explain.graph.node_details import described, state_text
from dispatchviz.foundation.english import shaped

SIGNS: dict[State, str] = {
    State.CREATED: "○",
    State.WAITING: "◔",
    State.QUEUED: "◑",
    State.PRUNED: "◌",
    State.RUNNING: "◉",
    State.DONE: "●",
    State.RELEASED: "◎",
    State.CAPTURED: "◇",
    State.FAILED: "✗",
}
"""The sign of each state, one cell wide."""

HERE = "▶ "
"""The sign before the row of the current Node."""

_NODE, _LABEL = "\0", "\1"


class LaneRow(Struct, frozen=True):
    """A row of the drawing."""

    lane: str
    """The lines, and the sign of the Node's state."""
    label: str
    """The text on the Node; empty between Nodes."""
    node: int | None
    """Number of the Node; None between Nodes."""
    here: bool
    """True if the step is about this Node."""

    @property
    def text(self) -> str:
        """The complete row."""
        mark = HERE if self.here else " " * len(HERE)
        return f"{mark}{self.lane} {self.label}".rstrip()


def lanes(graph: BackwardGraph, width: int | None = None, tight: bool = False) -> list[LaneRow]:
    """The rows from top to bottom, cut to ``width`` cells.

    ``tight`` leaves out the rows that contain only vertical lines. That halves the height, but it no longer shows
    whether a Node is connected to the one right below it.
    """
    skeleton = _skeleton(graph, tight)
    known = _known_rows(graph, width, tight)
    nodes = {node.number: node for node in graph}
    changed = {number for number, node in nodes.items() if known.nodes.get(number) is not node}
    for number, node in nodes.items():
        if number in changed or any(edge.target in changed for edge in node.edges):
            known.rows.pop(number, None)
    known.nodes = nodes
    return [_row(graph, lane, number, width, known.rows) for lane, number in skeleton]


def _row(graph: BackwardGraph, lane: str, number: int | None, width: int | None, known: dict[int, LaneRow]) -> LaneRow:
    if number is None:
        return LaneRow(_cut(lane, width, len(HERE)), "", None, False)
    row = known.get(number)
    if row is None:
        row = known[number] = _node_row(graph, graph[number], lane, width)
    return replace(row, here=True) if number == graph.highlight else row


def _node_row(graph: BackwardGraph, node: GraphNode, lane: str, width: int | None) -> LaneRow:
    lane = _cut(lane.replace(_NODE, SIGNS[node.state]), width, len(HERE))
    label = _cut("  ".join(_facts(graph, node)), width, len(HERE) + cell_len(lane) + 1)
    return LaneRow(lane, label, node.number, False)


class _KnownRows(Struct):
    """The rows that were drawn last. They are cached because few Nodes change between steps."""

    nodes: dict[int, GraphNode] = field(default_factory=dict)
    rows: dict[int, LaneRow] = field(default_factory=dict)


_Way = tuple[int | None, int | None, bool]
"""The inputs of rows besides the Nodes: the backward pass, the width and ``tight``."""

_drawn_rows: WeakKeyDictionary[Wiring, tuple[_Way, _KnownRows]] = WeakKeyDictionary()


def _known_rows(graph: BackwardGraph, width: int | None, tight: bool) -> _KnownRows:
    way = graph.graph_task, width, tight
    drawn = _drawn_rows.get(graph.wiring)
    if drawn is None or drawn[0] != way:
        drawn = _drawn_rows[graph.wiring] = way, _KnownRows()
    return drawn[1]


def _cut(text: str, width: int | None, used: int) -> str:
    if width is None or cell_len(text) <= width - used:
        return text
    return f"{set_cell_size(text, width - used - 1)}…" if width > used else ""


def _facts(graph: BackwardGraph, node: GraphNode) -> Iterator[str]:
    """Yield the facts about a Node, the most important first, because a narrow screen cuts off the end."""
    yield node.title
    if state := state_text(graph, node):
        yield state
    if node.edges:
        yield "edges " + ", ".join(edge_label(graph, edge, index) for index, edge in enumerate(node.edges))
    if node.leaf:
        yield described(node.leaf)
    elif node.inputs:
        yield " ".join(
            "?" if tensor is None or tensor.shape is None else shaped(tensor.shape) for tensor in node.inputs
        )
    yield f"seq {node.number_text}"
    yield from (f"{name}={value}" for name, value in node.attributes)
    if node.variables:
        kept = "freed" if node.released else "saved"
        yield f"{kept} {', '.join(saved.name for saved in node.variables)}"


def edge_label(graph: BackwardGraph, edge: GraphEdge, index: int) -> str:
    """The text of an edge: ``0 self=x``; ``1 other=y (empty)``; ``0 self=x → input 1`` if it does not lead to input 0
    of its target; ``1 other=y (not needed)`` if its target does not run in this backward pass.
    """
    passed = f"{edge.argument}={edge.tensor}" if edge.argument and edge.tensor else edge.argument
    to = " (empty)" if edge.target is None else f" → input {edge.input_nr}" if edge.input_nr else ""
    return f"{index} {passed}".rstrip() + to + (" (not needed)" if graph.prunes(edge) else "")


_Skeleton = list[tuple[str, int | None]]
_skeletons: WeakKeyDictionary[Wiring, dict[bool, _Skeleton]] = WeakKeyDictionary()


def _skeleton(graph: BackwardGraph, tight: bool) -> _Skeleton:
    """The lines of a graph, which do not change when only the states of Nodes change."""
    drawn = _skeletons.setdefault(graph.wiring, {})
    if tight not in drawn:
        drawn[tight] = list(_drawn(graph, 1 if tight else 2))
    return drawn[tight]


def _drawn(graph: BackwardGraph, height: int) -> Iterator[tuple[str, int | None]]:
    renderer = GraphRowRenderer().output().with_min_row_height(height).build_box_drawing()
    for node in graph:
        targets = dict.fromkeys(edge.target for edge in node.edges if edge.target in graph.nodes)
        below = [Ancestor.parent(target) for target in targets]
        for line in renderer.next_row(node.number, below, _NODE, _LABEL).splitlines():
            lane, is_node, _ = line.partition(_LABEL)
            if is_node or lane.strip():
                yield lane.rstrip(), node.number if is_node else None
