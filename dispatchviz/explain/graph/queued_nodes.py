"""The Nodes in a ready queue at a step, in the order in which they will run, derived from pushes and pops.

NodeQueued puts a Node into a queue; NodeStarted and NodeSkipped remove one. This module replays the queue of an
outermost backward pass, and of all passes nested in it on its thread, on the engine's own heap, so that equal Nodes
come out in the engine's order. Where an event lists its queue, as in traces before format 3, that list is used.

Rule 1: to continue from the last step costs as much as a push or pop. Any other step costs at most about as much as
there are Nodes in the queue, because the heap is stored at intervals.

Rule 2: reading the first Nodes of a queue costs only as much as those Nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from dispatchviz.core.autograd.engine import node_heap
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around

T = TypeVar("T")
Move = ev.NodeQueued | ev.NodeStarted | ev.NodeSkipped

KEPT_EVERY = 256
"""The number of moves between two stored heaps, unless the heap has more Nodes."""


class QueuedNode(NamedTuple):
    """A Node in a ready queue."""

    node: int
    """Its number."""
    sequence_nr: int
    device: str
    """The device of its queue in PyTorch."""
    depth: int
    """The number of backward passes around its own."""


def queue_device(device: str) -> str:
    """Return the device whose queue holds the Nodes of a device. The calling thread also runs Nodes of meta tensors
    (``Engine::ready_queue``).
    """
    return "cpu" if device == "meta" else device


class Queue(ABC):
    """The Nodes that wait at a step."""

    @abstractmethod
    def __iter__(self) -> Iterator[QueuedNode]:
        """Yield the Nodes in the order in which they will run."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of waiting Nodes."""

    @abstractmethod
    def number(self, device: str, depth: int = 0) -> int:
        """Return the number of Nodes that wait for a device, in passes of at least a depth."""

    @abstractmethod
    def has(self, device: str, depth: int, sequence_nr: int) -> bool:
        """Return whether a Node with a sequence number waits for a device, in a pass of at least a depth."""

    def of(self, device: str, depth: int = 0) -> Iterator[QueuedNode]:
        """Yield the Nodes that wait for a device, in passes of at least a depth, in the order in which they will
        run.
        """
        chosen = (each for each in self if each.device == device and each.depth >= depth)
        return islice(chosen, self.number(device, depth))  # so that no caller searches for one more


class Listed(Queue):
    """A queue as a list of its Nodes."""

    def __init__(self, nodes: Iterable[QueuedNode]) -> None:
        self._nodes = tuple(nodes)

    def __iter__(self) -> Iterator[QueuedNode]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def number(self, device: str, depth: int = 0) -> int:
        return sum(each.device == device and each.depth >= depth for each in self._nodes)

    def has(self, device: str, depth: int, sequence_nr: int) -> bool:
        return any(each.sequence_nr == sequence_nr for each in self.of(device, depth))


class _Replayed(Queue):
    """A queue after the pushes and pops so far. It is valid until the next one is requested."""

    def __init__(self) -> None:
        self.heap: list[QueuedNode] = []
        self._counts: Counter[tuple[str, int, int]] = Counter()
        """The numbers of Nodes by device, depth and sequence number."""
        self._depths: Counter[tuple[str, int]] = Counter()
        """The numbers of Nodes by device and depth."""

    def __iter__(self) -> Iterator[QueuedNode]:
        heap = _Overlay(self.heap)
        while len(heap):
            yield node_heap.pop(heap, _lower)

    def __len__(self) -> int:
        return len(self.heap)

    def number(self, device: str, depth: int = 0) -> int:
        return sum(n for (of, around), n in self._depths.items() if of == device and around >= depth)

    def has(self, device: str, depth: int, sequence_nr: int) -> bool:
        depths = [around for of, around in self._depths if of == device and around >= depth]
        return any(self._counts[device, around, sequence_nr] for around in depths)

    def set(self, heap: Iterable[QueuedNode]) -> None:
        """Replace the Nodes. They are in the order of the heap."""
        self.heap = list(heap)
        self._counts = Counter((each.device, each.depth, each.sequence_nr) for each in self.heap)
        self._depths = Counter((each.device, each.depth) for each in self.heap)

    def push(self, queued: QueuedNode) -> None:
        """Add a Node."""
        node_heap.push(self.heap, queued, _lower)
        self._count(queued, 1)

    def take(self, node: int) -> None:
        """Remove a Node that runs: the first one, unless the trace is damaged."""
        if self.heap and self.heap[0].node == node:
            self._count(node_heap.pop(self.heap, _lower), -1)
        elif any(each.node == node for each in self.heap):
            self.set([each for each in self if each.node != node])

    def _count(self, queued: QueuedNode, by: int) -> None:
        self._counts[queued.device, queued.depth, queued.sequence_nr] += by
        self._depths[queued.device, queued.depth] += by


class _Overlay(Generic[T]):
    """A heap that can be emptied while the list below it stays unchanged. Only changes are copied."""

    def __init__(self, below: list[T]) -> None:
        self._below = below
        self._changed: dict[int, T] = {}
        self._length = len(below)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: int) -> T:
        return self._changed[at] if at in self._changed else self._below[at]

    def __setitem__(self, at: int, value: T) -> None:
        self._changed[at] = value

    def append(self, value: T) -> None:
        self._changed[self._length] = value
        self._length += 1

    def pop(self) -> T:
        self._length -= 1
        return self[self._length]


def _lower(a: QueuedNode, b: QueuedNode) -> bool:
    """Return whether ``b`` goes first, as in ``CompareNodeTaskTime``."""
    return (a.depth, a.sequence_nr) < (b.depth, b.sequence_nr)


class _Replay:
    """The moves of an outermost pass's queue, and the queue after some of them. It holds no trace."""

    def __init__(self, trace: Trace, outermost: int) -> None:
        self._steps, self._depths = array("q"), array("q")
        """The step of each move, and the depth of its backward pass."""
        self._done = 0
        """The number of moves that have been applied."""
        self._queue = _Replayed()
        self._kept: list[tuple[int, tuple[QueuedNode, ...]]] = [(0, ())]
        """The stored heaps, by the number of moves."""
        self._empty = array("q", [0])
        """A number of moves after which no Node waits, so that a replay can start there."""
        self._find_moves(trace, outermost)

    def _find_moves(self, trace: Trace, outermost: int) -> None:
        """Find the moves through the columns. Only the starts of backward passes are decoded."""
        depths: dict[int, int] = {}
        """The depth of each backward pass that runs in this queue, by its step."""
        starts = trace.columns.code(ev.BackwardStarted)
        nodes, kinds, waiting = trace.columns.nodes, trace.columns.kinds, Counter[int]()
        pushes = trace.columns.code(ev.NodeQueued)
        for step in _moves(trace, outermost):
            around = _backward(trace, step)
            if kinds[step] == starts:
                event = trace[step]
                if isinstance(event, ev.BackwardStarted) and (step == outermost or (event.depth and around in depths)):
                    depths[step] = event.depth
            elif around in depths:
                self._steps.append(step)
                self._depths.append(depths[around])
                _wait(waiting, nodes[step], kinds[step] == pushes)
                if not waiting:
                    self._empty.append(len(self._steps))

    def after(self, trace: Trace, step: int) -> Queue:
        """Return the queue after everything up to a step."""
        moves = bisect_right(self._steps, step)
        kept, heap = self._kept[self._place(moves) - 1]
        empty = self._empty[bisect_right(self._empty, moves) - 1]
        if empty > kept:
            kept, heap = empty, ()
        if moves < self._done or kept > self._done:
            self._done = kept
            self._queue.set(heap)
        while self._done < moves:
            self._move(trace)
        return self._queue

    def _place(self, moves: int) -> int:
        return bisect_right(self._kept, moves, key=lambda entry: entry[0])

    def _move(self, trace: Trace) -> None:
        event, depth = trace[self._steps[self._done]], self._depths[self._done]
        if isinstance(event, Move):  # false if the file is damaged there
            _follow(self._queue, event, depth)
        self._done += 1
        place = self._place(self._done)
        if self._done - self._kept[place - 1][0] >= max(KEPT_EVERY, len(self._queue.heap)):
            self._kept.insert(place, (self._done, tuple(self._queue.heap)))


def _follow(queue: _Replayed, event: Move, depth: int) -> None:
    """Apply a move to a queue. A listed queue is replayed from the last moment at which it was empty."""
    match event:
        case ev.NodeQueued():
            own = QueuedNode(event.node, event.sequence_nr, queue_device(event.device), depth)
            if event.queue is None:
                queue.push(own)
            else:
                queue.set([own] if len(event.queue) == 1 else [])
        case ev.NodeStarted() if event.waiting is not None:
            queue.set([])
        case ev.NodeStarted() | ev.NodeSkipped():
            queue.take(event.node)


def _wait(waiting: Counter[int], node: int, pushed: bool) -> None:
    """Count a Node in or out. A Node that is a root several times waits several times."""
    if pushed or waiting[node] > 1:
        waiting[node] += 1 if pushed else -1
    else:
        del waiting[node]


def _moves(trace: Trace, outermost: int) -> list[int]:
    """Return the steps within a backward pass, itself included, at which other passes start or Nodes are pushed or
    popped.
    """
    end, found = trace.ends[outermost], list[int]()
    for kind in (ev.BackwardStarted, ev.NodeQueued, ev.NodeStarted, ev.NodeSkipped):
        steps = trace.steps_of(kind)
        found.extend(steps[bisect_left(steps, outermost) : bisect_right(steps, end)])
    return sorted(found)


def _backward(trace: Trace, seq: int) -> int | None:
    """Return the innermost backward pass around a step."""
    kinds, start = trace.columns.kinds, trace.columns.code(ev.BackwardStarted)
    return next((step for step in trace.columns.ancestors(seq) if kinds[step] == start), None)


def _outermost(trace: Trace, seq: int) -> int | None:
    """Return the outermost backward pass around a step, on its thread."""
    found = None
    for event in trace.ancestors(seq):
        if isinstance(event, ev.BackwardStarted):
            found = event.seq
            if not event.depth:
                break
    return found


_replays: WeakKeyDictionary[Trace, dict[int, _Replay]] = WeakKeyDictionary()
REPLAYS = 8
"""The number of replays of a trace that are remembered."""


def queue_at(trace: Trace, event: ev.NodeQueued | ev.NodeStarted) -> Queue:
    """Return the queue that a Node has just joined, itself included, or that it has left to run.

    It is valid until this function is called again.
    """
    listed = event.queue if isinstance(event, ev.NodeQueued) else event.waiting
    if listed is not None:
        return Listed(_known_of(trace, node, number, event.seq) for node, number in listed)
    outermost = _outermost(trace, event.seq)
    if outermost is None:
        return Listed(())
    known = _replays.setdefault(trace, {})
    if outermost not in known:
        known[outermost] = _Replay(trace, outermost)
        if len(known) > REPLAYS:
            del known[next(iter(known))]
    return known[outermost].after(trace, event.seq)


def queue_as_of(trace: Trace, at: int) -> Queue:
    """Return the queue at any step: that of the outermost backward pass around it, or an empty one.

    It is valid until another queue is requested.
    """
    started = at_or_around(trace, at, ev.BackwardStarted)
    last = None if started is None else _last_move(trace, started.seq, at)
    if last is None:
        return Listed(())
    if isinstance(last, ev.NodeSkipped):
        return Listed(tuple(each for each in queue_as_of(trace, last.seq - 1) if each.node != last.node))
    return queue_at(trace, last)


def _last_move(trace: Trace, started: int, at: int) -> Move | None:
    """Return the last push or pop up to a step, within the outermost pass around one that has started."""
    outermost = _outermost(trace, started)
    since = started if outermost is None else outermost
    kinds = (ev.NodeQueued, ev.NodeStarted, ev.NodeSkipped)
    places = ((steps := trace.steps_of(kind), bisect_right(steps, at)) for kind in kinds)
    last = max((steps[place - 1] for steps, place in places if place), default=-1)
    event = trace[last] if last > since else None
    return event if isinstance(event, Move) else None


def _known_of(trace: Trace, node: int, sequence_nr: int, at: int) -> QueuedNode:
    """Return the event that queued a listed Node."""
    past = history(trace).latest_first(node, at)
    queued = next((event for event in past if isinstance(event, ev.NodeQueued)), None)
    if queued is None:
        return QueuedNode(node, sequence_nr, "cpu", 0)
    backward = backward_around(trace, queued.seq)
    return QueuedNode(node, sequence_nr, queue_device(queued.device), 0 if backward is None else backward.event.depth)
