"""NodeLife: tells a recorder that a Node is freed, without touching how it is.

A Node is freed when the last reference to it goes, as in PyTorch (``c10::intrusive_ptr<Node>``). What says so is a weak
reference with a callback that is no Python code: a ``__del__`` would lose the Ctrl+C that arrives while it runs, raise
at the end of a deep stack, and be one more thing that a Node waits for.

Rule 1: the Node keeps its own NodeLife, so it is quiet about what the garbage collector frees: when that runs is no
part of the program.
Rule 2: a long chain is freed at once, in one go that no other thread interrupts; ``deletion_order.py`` knows the order
in which PyTorch would have freed it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node

Told = Callable[["NodeLife"], object]


class NodeLife(weakref.ref["Node"]):
    """A Node's own weak reference; ``freed`` is called with it when the Node is."""

    __slots__ = ("number",)

    __hash__ = object.__hash__  # a dead one has one too: it lies among the notes, which are looked up

    number: int
    """Serial number of the Node."""


def follow(node: Node, number: int, freed: Told) -> None:
    """From now on ``freed`` is told of the Node's end."""
    life = node._life = NodeLife(node, freed)
    life.number = number
