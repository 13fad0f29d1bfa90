"""In which order PyTorch frees Nodes that go in one go (``Node::release_resources`` and ``gatherFunctions``, node.cpp).

A Node that goes drops its edges one after the other. A target to which that was the last reference does not go at once
but onto a stack; when all edges are dropped the newest of the stack goes, in the same way. So nothing recurses, however
long the chain is. A Node that is a Python object too, as that of a Function is, is kept by that as well: it goes at
once when its last edge does, with a stack of its own.

CPython frees the same Nodes, in another order where two edges lead to one Node. Which Nodes they are does not depend on
the order.

NB: in PyTorch every Node that Python has looked at (``grad_fn``, ``next_functions``) is a Python object; here none but
those of Functions count as such.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

Targets = Sequence[int]
"""Nodes that edges lead to, in order; one of them may be there twice."""
Deletion = tuple[int, int | None]
"""A Node, and the one whose edge was the last reference to it."""


class _Goes:
    """A Node that goes at once, and what is left to do until all that it takes along is gone."""

    __slots__ = ("edges", "node", "stack")

    def __init__(self, node: int, edges: Targets) -> None:
        self.node, self.edges = node, iter(edges)
        self.stack: list[Deletion] = []

    def go_on(self, node: int, edges: Targets) -> None:
        """The newest of the stack goes."""
        self.node, self.edges = node, iter(edges)


def in_order(freed: Sequence[int], edges: Mapping[int, Targets], at_once: Container[int]) -> Iterator[Deletion]:
    """The Nodes ``freed`` in PyTorch's order. They are given so that each follows whatever kept it.

    ``edges`` of those that are not in it are not known; ``at_once`` are those that are Python objects.
    """
    left = dict.fromkeys(freed, 0)
    """How many edges of Nodes that have not dropped theirs lead to each."""
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
    """Drop edges, and give the targets of which each was the last."""
    for target in targets:
        if target in left:
            left[target] -= 1
            if not left[target]:
                del left[target]
                yield target
