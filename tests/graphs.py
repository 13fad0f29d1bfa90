"""Traces of backward graphs made by hand: tensors, operators and a small engine that emits the events of PyTorch's."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from tests.explain.founding import Tape

NO_NUMBER = 2**64 - 1
Edge = tuple[int, int] | None


class GraphTape(Tape):
    """A tape whose methods append the events that they are named after."""

    def __init__(self) -> None:
        super().__init__()
        self.grad_fn: dict[int, Edge] = {}
        self.nodes: dict[int, tuple[str, int, list[Edge]]] = {}
        self.saving: set[int] = set()
        self._tensors, self._nodes = itertools.count(), itertools.count()
        self._sequence, self._tasks = itertools.count(), itertools.count()

    def tensor(self, name: str = "", shape: tuple[int, ...] = (2,), device: str = "cpu") -> int:
        number = next(self._tensors)
        fields = ("new", shape, (1,) * len(shape), "torch.float32", device, 0x8001, number, False, False)
        self.add(ev.TensorCreated, number, *fields)
        self.grad_fn[number] = None
        if name:
            self.add(ev.NameBound, name, number)
        return number

    def leaf(self, name: str = "", shape: tuple[int, ...] = (2,), device: str = "cpu") -> int:
        """Add a tensor that requires grad, with its accumulator."""
        number = self.tensor(name, shape, device)
        node = self.node("torch::autograd::AccumulateGrad", NO_NUMBER, [])
        self.add(ev.AccumulatorMade, node, number)
        self.grad_fn[number] = (node, 0)
        return number

    def node(self, name: str, sequence_nr: int, edges: list[Edge]) -> int:
        number = next(self._nodes)
        self.nodes[number] = (name, sequence_nr, edges)
        self.add(ev.NodeCreated, number, name, sequence_nr, 0, 1)
        return number

    def op(
        self,
        name: str,
        *given: int,
        shapes: Iterable[tuple[int, ...]] = ((2,),),
        attributes: dict[str, str] | None = None,
        saved: Iterable[int] = (),
        names: tuple[str, ...] = ("self", "other"),
    ) -> list[int]:
        """Add a Node with an edge for each given tensor; return its outputs."""
        edges = [self.grad_fn[tensor] for tensor in given]
        number = self.node(name, next(self._sequence), edges)
        arguments = tuple((names[place] if place < len(names) else "", t) for place, t in enumerate(given))
        self.add(ev.EdgesCollected, number, tuple(edges), arguments, 1)
        for attribute, value in (attributes or {}).items():
            self.add(ev.AttributeSaved, number, attribute, value)
        for tensor in saved:
            self.add(ev.VariableSaved, number, names[given.index(tensor)], tensor, 0, False)
            self.saving.add(number)
        outputs = [self.tensor(shape=shape) for shape in shapes]
        for place, tensor in enumerate(outputs):
            self.grad_fn[tensor] = (number, place)
            self.add(ev.HistorySet, tensor, number, place)
        return outputs

    def backward(self, *roots: int, raising_in: str = "") -> None:
        """Run the engine; ``raising_in`` names the Node that raises."""
        edges = [edge for tensor in roots if (edge := self.grad_fn[tensor])]
        task = next(self._tasks)
        with self.within(ev.BackwardStarted, task, tuple(edges), (None,) * len(edges), False, False, True, 0):
            start = (
                edges[0][0]
                if len(edges) == 1
                else self.node("torch::autograd::GraphRoot", next(self._sequence), [*edges])
            )
            left = self._count(start)
            self.add(ev.DependenciesCounted, tuple(left.items()))
            ready = [(-self.nodes[start][1], 0, start)]
            self.add(ev.NodeQueued, start, self.nodes[start][1], "cpu", ())
            ticket = itertools.count(1)
            while ready:
                number = heapq.heappop(ready)[2]
                if not self._run(number, self.nodes[number][0] == raising_in):
                    return
                for edge in filter(None, self.nodes[number][2]):
                    left[edge[0]] -= 1
                    self.add(ev.DependencyMet, edge[0], left[edge[0]])
                    if not left[edge[0]]:
                        self.add(ev.NodeQueued, edge[0], self.nodes[edge[0]][1], "cpu", ())
                        heapq.heappush(ready, (-self.nodes[edge[0]][1], next(ticket), edge[0]))
            self.add(ev.BackwardFinished, task)

    def _count(self, start: int) -> Counter[int]:
        left, pending = Counter[int](), [start]
        while pending:
            for edge in filter(None, self.nodes[pending.pop()][2]):
                left[edge[0]] += 1
                if left[edge[0]] == 1:
                    pending.append(edge[0])
        return left

    def _run(self, number: int, raising: bool) -> bool:
        name, sequence_nr, _ = self.nodes[number]
        with self.within(ev.NodeStarted, number, name, sequence_nr, (None,), (), "cpu", "caller", "", 0, 0):
            if raising:
                self.add(ev.ErrorRaised, "RuntimeError", "one of the variables needed has been modified")
                return False
            if number in self.saving:
                self.add(ev.VariablesReleased, number)
            self.add(ev.NodeFinished, number, ())
        return True


def chain(length: int) -> Trace:
    """Return the trace of repeated ``z = z + x`` and its backward pass."""
    tape = GraphTape()
    x = z = tape.leaf("x")
    for _ in range(length):
        [z] = tape.op("AddBackward0", z, x, attributes={"alpha": "1"})
    tape.backward(z)
    return tape.trace(program="chain.py", sources={})
