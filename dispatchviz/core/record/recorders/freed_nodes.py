"""What a Node's NodeLife calls when the Node is freed: nothing that is Python code, so that no signal gets lost in it.

Python runs the handler of a signal where Python code begins. An exception that comes up in the callback of a weak
reference, be it Ctrl+C, is printed and forgotten. So the callback is the list of notes itself, and in a program of
several threads a chain of C functions, which puts in front of it whose thread frees: ``attrgetter`` reads two
properties of the NodeLife, and reading one is a call.
"""

from __future__ import annotations

import threading
from functools import partial
from operator import attrgetter
from typing import Any

from dispatchviz.core.autograd.graph.node_life import NodeLife, Told

_THREAD, _LIFE = "thread_noted", "life_noted"


class FreedNodes(partial[Any]):
    """Told of each Node that is freed: all Nodes that live call the same one, and what it calls is changed here."""

    def note_with_thread(self, notes: list[Any]) -> None:
        """From now on ``notes`` get the identifier of the thread, then the NodeLife.

        One list at a time: at most one recorder listens.
        """
        identifiers = iter(threading.get_ident, None)
        setattr(NodeLife, _THREAD, property(partial(next, map(notes.append, identifiers))))
        setattr(NodeLife, _LIFE, property(notes.append))
        self.tell(attrgetter(_THREAD, _LIFE))

    def not_noted(self) -> None:
        """Nobody is told any more."""
        self.tell(id)

    def tell(self, told: Told) -> None:
        """From now on ``told`` is called."""
        self.__setstate__((told, (), {}, None))  # type: ignore[attr-defined]
