"""A graph as programs print it: Nodes along the edges, with their sequence numbers."""

from __future__ import annotations

from typing import Any


def walk(tensor: Any) -> None:
    """Print each Node that can be reached once, in preorder. Python's object for a Node is kept: otherwise its ``id``
    would be another Node's."""
    waiting, seen = [(tensor.grad_fn, 0)], {}
    while waiting:
        node, depth = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        print(depth * " ", node.name(), node._sequence_nr(), [n for _, n in node.next_functions], sorted(node.metadata))
        waiting += [(to, depth + 1) for to, _ in reversed(node.next_functions)]
