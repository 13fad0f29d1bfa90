"""NodeLife: a report to a recorder that a Node is freed, without any effect on when it is freed.

A Node is freed when its last reference is gone, as in PyTorch (``c10::intrusive_ptr<Node>``). The report comes from a
weak reference with a callback that is not Python code. A ``__del__`` would lose a Ctrl+C that arrives while it runs,
raise at the end of a deep stack, and keep the Node alive in one more way.

Rule 1: the Node keeps its own NodeLife. So Nodes that the garbage collector frees are not reported: the time of a
collection is not part of the program.
Rule 2: a long chain is freed at once, in one operation that no other thread interrupts. ``deletion_order.py`` computes
the order in which PyTorch would have freed it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dispatchviz.core.autograd.graph.node import Node

FreedCallback = Callable[["NodeLife"], object]


class NodeLife(weakref.ref["Node"]):
    """A Node's own weak reference. ``freed`` is called with it when the Node is freed."""

    __slots__ = ("number",)

    __hash__ = object.__hash__  # a dead one needs a hash too, since the notes that contain it are looked up

    number: int
    """Serial number of the Node."""


def follow(node: Node, number: int, freed: FreedCallback) -> None:
    """Call ``freed`` when the Node is destroyed."""
    life = node._life = NodeLife(node, freed)
    life.number = number
