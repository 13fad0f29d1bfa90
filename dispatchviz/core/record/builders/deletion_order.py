"""The order in which PyTorch frees Nodes that are freed together (``Node::release_resources`` and ``gatherFunctions``,
node.cpp).

A freed Node drops its edges one after the other. If an edge was the last reference to its target, the target is not
freed at once but pushed onto a stack. When all edges are dropped, the newest Node of the stack is freed in the same
way. So nothing recurses, even in a long chain. A Node that is a Python object too, such as that of a Function, is kept
by that object. It is freed at once when its last edge is dropped, with a stack of its own.

CPython frees the same Nodes, but in another order if two edges lead to one Node. The set of freed Nodes does not depend
on the order.

NB: in PyTorch, every Node that Python has accessed (``grad_fn``, ``next_functions``) is a Python object. Here only
those of Functions count as Python objects.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

Targets = Sequence[int]
"""The Nodes to which edges lead, in order. One of them may appear twice."""
Deletion = tuple[int, int | None]
"""A Node, and the Node whose edge was the last reference to it."""


class _Goes:
    """A Node that is freed at once, and the Nodes that are freed with it and remain to be done."""

    __slots__ = ("edges", "node", "stack")

    def __init__(self, node: int, edges: Targets) -> None:
        self.node, self.edges = node, iter(edges)
        self.stack: list[Deletion] = []

    def go_on(self, node: int, edges: Targets) -> None:
        """Free the newest Node of the stack."""
        self.node, self.edges = node, iter(edges)


def in_order(freed: Sequence[int], edges: Mapping[int, Targets], at_once: Container[int]) -> Iterator[Deletion]:
    """Yield the Nodes ``freed`` in PyTorch's order. In ``freed``, each Node follows the objects that kept it alive.

    ``edges`` has only the edges of these Nodes. ``at_once`` are the Nodes that are Python objects.
    """
    left = dict.fromkeys(freed, 0)
    """The number of edges to each Node from Nodes that have not dropped theirs."""
    for node in freed:
        for target in edges.get(node, ()):
            if target in left:
                left[target] += 1
    for node in freed:
        if node in left:
            del left[node]
            yield node, None
            yield from _taken_along(_Goes(node, edges.get(node, ())), left, edges, at_once)


def _taken_along(
    first: _Goes, left: dict[int, int], edges: Mapping[int, Targets], at_once: Container[int]
) -> Iterator[Deletion]:
    going = [first]
    while going:
        now = going[-1]
        for target in _dropped(now.edges, left):
            if target in at_once:
                yield target, now.node
                going.append(_Goes(target, edges.get(target, ())))
                break
            now.stack.append((target, now.node))
        else:
            if now.stack:
                node, by = now.stack.pop()
                yield node, by
                now.go_on(node, edges.get(node, ()))
            else:
                going.pop()


def _dropped(targets: Iterator[int], left: dict[int, int]) -> Iterator[int]:
    """Drop edges. Yield each target to which an edge was the last one."""
    for target in targets:
        if target in left:
            left[target] -= 1
            if not left[target]:
                del left[target]
                yield target
