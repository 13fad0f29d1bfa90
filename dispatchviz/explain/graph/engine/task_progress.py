"""How far a graph task is as of a step: what is outstanding, what Nodes still wait for, how much is captured.

All of it follows from the kinds and the Nodes of its steps: one pass over those when it is first asked, and no event is
read for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.backwards import Backward


class Pending(NamedTuple):
    """What a graph task waits for."""

    nodes: int
    """Entries of ``dependencies_``: Nodes with edges that have delivered nothing yet."""
    edges: int
    """Those edges."""
    parked: int
    """Entries of ``not_ready_``: Nodes with a buffer that wait for more."""


class TaskProgress:
    """The progress of one backward pass. It may be asked for any step within it."""

    def __init__(self, backward: Backward, node_of: Callable[[int], int]) -> None:
        self._backward, self._node_of = backward, node_of

    def outstanding(self, at: int) -> int:
        """``outstanding_tasks_``: Nodes that are queued or run; one is counted until its gradients are passed on."""
        pushed, popped = self._until(ev.NodeQueued, at), self._popped(at)
        return pushed - max(popped - 1, 0) - (popped == pushed and self._is_over(at))

    def _is_over(self, at: int) -> bool:
        """The last Node has passed its gradients on: its callbacks run, or all is over."""
        called = self._until(ev.FinalCallbackCalled, at) > 0
        return called or (at >= self._backward.end and bool(self._backward.finished))

    def _popped(self, at: int) -> int:
        return self._until(ev.NodeStarted, at) + self._until(ev.NodeSkipped, at)

    def _until(self, kind: type[ev.Event], at: int) -> int:
        return bisect_right(self._backward.steps(kind), at)

    def captured(self, at: int) -> int:
        """How many gradients have been taken for the caller."""
        return self._until(ev.GradientCaptured, at)

    def pending(self, at: int) -> Pending:
        """Nothing before the edges are counted."""
        if self._backward.counted_at(at) is None:
            return Pending(0, 0, 0)
        return self._after[self._until(ev.DependencyMet, at)]

    @cached_property
    def _after(self) -> list[Pending]:
        """After each edge that was counted off."""
        backward = self._backward
        left = dict(backward.counts)
        nodes, edges, parked = len(left), sum(left.values()), set[int]()
        found = [Pending(nodes, edges, 0)]
        for step in backward.steps(ev.DependencyMet):
            node = self._node_of(step)
            left[node] = left.get(node, 1) - 1
            nodes, edges = nodes - (left[node] == 0), edges - 1
            if left[node] and (backward.needs(node) or backward.captures(node)):
                parked.add(node)
            else:
                parked.discard(node)
            found.append(Pending(nodes, edges, len(parked)))
        return found


_known: WeakKeyDictionary[Backward, TaskProgress] = WeakKeyDictionary()


def progress(backward: Backward, node_of: Callable[[int], int]) -> TaskProgress:
    """That of a pass; ``node_of`` gives the Node of a step."""
    if backward not in _known:
        _known[backward] = TaskProgress(backward, node_of)
    return _known[backward]
