"""The facts from the events up to a step, counted again: readers compare with them, not with the code of the
sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.explain.graph.queued_nodes import queue_device
from dispatchviz.trace import Trace


class Queued(NamedTuple):
    """A Node in a ready queue."""

    backward: int
    """The step at which its backward pass started."""
    depth: int
    node: int
    sequence_nr: int
    device: str


class SoFar:
    """The facts up to an event. They change with each event, so read them before the next one."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.queue: list[Queued] = []
        self.edges: dict[int, ev.EdgesCollected] = {}
        """The edges of each Node."""
        self.arrived: Counter[tuple[int, int, int]] = Counter()
        """The number of gradients that arrived at an input of a Node in a backward pass."""
        self.layers: list[tuple[int, str]] = []
        """functorch's stack: level and transform, the top last."""
        self.first_keys: dict[int, int] = {}
        """The key set of each tensor at its creation."""
        self.views: dict[int, int] = {}
        """The base of each view."""
        self.requires_grad: dict[int, bool] = {}
        """True for each tensor that requires grad itself, apart from its base."""
        self.variables = {each.name for each in map(trace.__getitem__, trace.steps_of(ev.NameBound))}
        """The names that the program has for tensors at any step."""

    def goes_on(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.NodeQueued():
                started = self.backward(event.seq)
                self.queue.append(
                    Queued(started.seq, started.depth, event.node, event.sequence_nr, queue_device(event.device))
                )
            case ev.NodeStarted() | ev.NodeSkipped():
                self._popped(event.node, self.backward(event.seq).seq)
            case ev.EdgesCollected():
                self.edges[event.node] = event
            case ev.GradientBuffered():
                self.arrived[self.backward(event.seq).seq, event.node, event.input_nr] += 1
            case ev.DynamicLayerPushed():
                self.layers.append((event.level, event.transform))
            case ev.DynamicLayerPopped():
                self.layers.pop()
            case ev.TensorCreated():
                self.first_keys.setdefault(event.tensor, event.key_set)
                self.requires_grad[event.tensor] = event.requires_grad
            case ev.RequiresGradSet():
                self.requires_grad[event.tensor] = event.requires_grad
            case ev.HistorySet() | ev.HistoryRebased():
                self.requires_grad[event.tensor] = True
            case ev.ViewMade():
                self.views[event.tensor] = event.base
            case _:
                pass

    def _popped(self, node: int, backward: int) -> None:
        self.queue = [each for each in self.queue if (each.node, each.backward) != (node, backward)]

    def reached(self, roots: Iterable[int]) -> set[int]:
        """Return the Nodes that can be reached from some Nodes, with these."""
        found, ahead = set[int](), list(roots)
        while ahead:
            node = ahead.pop()
            if node not in found:
                found.add(node)
                edges = self.edges[node].edges if node in self.edges else ()
                ahead += [edge[0] for edge in edges if edge is not None]
        return found

    def backward(self, seq: int) -> ev.BackwardStarted:
        """Return the innermost backward pass around a step."""
        return next(each for each in self._trace.ancestors(seq) if isinstance(each, ev.BackwardStarted))

    def ready(self, seq: int, name: str) -> Iterator[Queued]:
        """Yield the Nodes that wait in the queue of a device, of the backward passes that are open at a step."""
        is_open = {each.seq for each in self._trace.ancestors(seq)}
        return (each for each in self.queue if each.device == queue_device(name) and each.backward in is_open)
