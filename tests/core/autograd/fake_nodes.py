"""Nodes without formulas, for tests of the engine alone. Their gradients are undefined, which engines must handle."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.engine.engine import execute
from dispatchviz.core.autograd.graph.edge import EMPTY_EDGE, Edge
from dispatchviz.core.autograd.graph.node import Gradients, Node


class FakeNode(Node):
    """A Node that writes its label into a log when it runs."""

    __slots__ = ("label", "log", "returns")

    def __init__(self, label: str, log: list[str], targets: Sequence[Node | None] = (), number: int | None = None):
        super().__init__(number)
        self.label = label
        self.log = log
        self.add_input_metadata(None)
        self.set_next_edges([EMPTY_EDGE if target is None else Edge(target, 0) for target in targets])
        self.returns: int = len(targets)

    def apply(self, grads: Gradients) -> Gradients:
        self.log.append(self.label)
        return [None] * self.returns


def run(*roots: Node, inputs: Sequence[Node] = (), accumulate: bool = True) -> Gradients:
    """Run a backward from the roots with undefined gradients."""
    edges = [Edge(root, 0) for root in roots]
    wanted = [Edge(node, 0) for node in inputs]
    return execute(edges, [None] * len(edges), False, False, accumulate, wanted)
