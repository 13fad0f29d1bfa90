"""The progress of a graph task at a step: outstanding tasks, the gradients that Nodes wait for, captured gradients.

All of it follows from the kinds and Nodes of the task's steps. They are read once, on first use, and no event is
decoded.
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
    """The gradients that a graph task waits for."""

    nodes: int
    """Entries of ``dependencies_``: Nodes with edges that have not delivered a gradient."""
    edges: int
    """The number of edges that have not delivered a gradient."""
    parked: int
    """Entries of ``not_ready_``: Nodes with an input buffer that wait for more gradients."""


class TaskProgress:
    """The progress of a backward pass, for any step within it."""

    def __init__(self, backward: Backward, node_of: Callable[[int], int]) -> None:
        self._backward, self._node_of = backward, node_of

    def outstanding(self, at: int) -> int:
        """Return ``outstanding_tasks_``: Nodes that are queued or running. A Node counts until it has passed its
        gradients on.
        """
        pushed, popped = self._until(ev.NodeQueued, at), self._popped(at)
        return pushed - max(popped - 1, 0) - (popped == pushed and self._is_over(at))

    def _is_over(self, at: int) -> bool:
        """Return whether the last Node has passed its gradients on, so that the callbacks run or all is over."""
        called = self._until(ev.FinalCallbackCalled, at) > 0
        return called or (at >= self._backward.end and bool(self._backward.finished))

    def _popped(self, at: int) -> int:
        return self._until(ev.NodeStarted, at) + self._until(ev.NodeSkipped, at)

    def _until(self, kind: type[ev.Event], at: int) -> int:
        return bisect_right(self._backward.steps(kind), at)

    def captured(self, at: int) -> int:
        """Return the number of gradients that have been captured for the caller."""
        return self._until(ev.GradientCaptured, at)

    def pending(self, at: int) -> Pending:
        """Return the pending Nodes and edges; empty before the edges are counted."""
        if self._backward.counted_at(at) is None:
            return Pending(0, 0, 0)
        return self._after[self._until(ev.DependencyMet, at)]

    @cached_property
    def _after(self) -> list[Pending]:
        """The pending counts after each edge that was counted off."""
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
    """Return the progress of a pass. ``node_of`` returns the Node of a step."""
    if backward not in _known:
        _known[backward] = TaskProgress(backward, node_of)
    return _known[backward]
