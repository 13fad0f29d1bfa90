"""The callback of a Node's NodeLife when the Node is freed. It runs no Python code, so that no signal is lost in it.

Python runs a signal handler where Python code begins. An exception in the callback of a weak reference, even Ctrl+C, is
printed and lost. So the callback is ``append`` of the list of notes itself. In a program of several threads it is a
chain of C functions, which first appends the thread that frees: ``attrgetter`` reads two properties of the NodeLife,
and reading one is a call.
"""

from __future__ import annotations

import threading
from functools import partial
from operator import attrgetter
from typing import Any

from dispatchviz.core.autograd.graph.node_life import FreedCallback, NodeLife

_THREAD, _LIFE = "thread_noted", "life_noted"


class FreedNodes(partial[Any]):
    """A callback that all living Nodes share. It is called for each Node that is freed; its target can be changed."""

    def note_with_thread(self, notes: list[Any]) -> None:
        """Append the identifier of the thread, then the NodeLife, to ``notes`` for each freed Node.

        There is one list at a time, since at most one recorder listens.
        """
        identifiers = iter(threading.get_ident, None)
        setattr(NodeLife, _THREAD, property(partial(next, map(notes.append, identifiers))))
        setattr(NodeLife, _LIFE, property(notes.append))
        self.call_for_each(attrgetter(_THREAD, _LIFE))

    def not_noted(self) -> None:
        """Ignore freed Nodes."""
        self.call_for_each(id)

    def call_for_each(self, callback: FreedCallback) -> None:
        """Call a function for each freed Node."""
        self.__setstate__((callback, (), {}, None))  # type: ignore[attr-defined]
