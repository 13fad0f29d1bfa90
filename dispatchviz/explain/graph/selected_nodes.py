"""The Nodes of a graph that a user names: ``580-589``, ``585``, ``AddBackward0``, ``x``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dispatchviz.explain.graph.backward_graph import BackwardGraph
from dispatchviz.explain.graph.graph_node import NO_NUMBER, GraphNode
from dispatchviz.explain.graph.node_outline import NodeOutline
from dispatchviz.foundation.errors import DispatchvizError

RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def selected_nodes(graph: BackwardGraph, asked: Iterable[str]) -> set[int]:
    """Return the numbers of the Nodes, and of the leaves that only one of them leads to.

    Each text is a sequence number, a range of them, or the name of a Node or leaf. Raise DispatchvizError for a text
    that matches no Node.
    """
    found: set[int] = set()
    for text in asked:
        nodes = list(_selected(graph, text))
        if not nodes:
            raise DispatchvizError(f"no Node of this graph fits {text!r}: {_choices(graph)}")
        found.update(node.number for node in nodes)
        targets = {edge[0] for node in nodes for edge in node.edges if edge and edge[0] in graph.nodes}
        found.update(one for one in targets if graph.wiring.uses[one] == 1 and graph.outline(one).has_leaf)
    return found


def selector(node: GraphNode) -> str:
    """Return the text that selects this Node."""
    return node.title if node.sequence_nr == NO_NUMBER else str(node.sequence_nr)


def _selected(graph: BackwardGraph, text: str) -> Iterator[NodeOutline]:
    if match := RANGE.fullmatch(text.strip()):
        ends = int(match[1]), int(match[2] or match[1])
        yield from (node for node in graph.outlines() if min(ends) <= node.sequence_nr <= max(ends))
    else:
        yield from (node for node in graph.outlines() if text in _names(graph, node))


def _names(graph: BackwardGraph, node: NodeOutline) -> Iterator[str]:
    yield node.name
    if node.has_leaf and (leaf := graph[node.number].leaf):
        yield from (leaf.name, graph[node.number].title)


def _choices(graph: BackwardGraph) -> str:
    numbers = [node.sequence_nr for node in graph.outlines() if node.sequence_nr != NO_NUMBER]
    there = f"; sequence numbers here are {min(numbers)} to {max(numbers)}" if numbers else ""
    return f"give a sequence number, a range such as 3-7, or the name of a Node or a leaf{there}"
