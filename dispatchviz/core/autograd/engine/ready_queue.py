"""ReadyQueue: the queue that decides which Node runs next, by reentrant depth and sequence number
(``torch/csrc/autograd/engine.h``).

When several Nodes are ready, the one with the largest sequence number runs first. A deeper reentrant backward comes
before a shallower one.

Rule 1: the heap algorithm of the C++ library decides ties (``node_heap.py``).
Rule 2: priorities are read when tasks are compared, never copied, so ``_set_sequence_nr`` affects a queued Node too.

NB: in PyTorch, each calling thread has a queue for CPU Nodes, and each accelerator a worker thread with a queue of its
own. Here a calling thread runs everything from its queue, so that mixed graphs have a fixed order too. Shutdown tasks
and dummy tasks that wake a sleeping thread do not exist.
"""

from __future__ import annotations

from msgspec import Struct

from dispatchviz.core.autograd.engine import node_heap
from dispatchviz.core.autograd.engine.graph_task import Buffer, GraphTask
from dispatchviz.core.autograd.graph.node import Node


class NodeTask(Struct, eq=False, gc=False):
    """A Node that is ready, with the gradients that arrived for it. It is a Struct, since one is created for every
    Node.
    """

    base: GraphTask
    node: Node
    buffer: Buffer


def lower(a: NodeTask, b: NodeTask) -> bool:
    """Return whether ``b`` goes first (``CompareNodeTaskTime``)."""
    depth_a, depth_b = a.base.reentrant_depth, b.base.reentrant_depth
    if depth_a == depth_b:
        return a.node.sequence_nr < b.node.sequence_nr
    return depth_a < depth_b


class ReadyQueue:
    """A binary max-heap of tasks."""

    __slots__ = ("_heap", "followed")

    followed: int
    """The recording that has noted the whole content of the queue, so that only changes need notes; 0 if none has
    (``recorders/engine_recorder.py``).
    """

    def __init__(self) -> None:
        self._heap: list[NodeTask] = []
        self.followed = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, task: NodeTask) -> None:
        """Count the task as outstanding and queue it."""
        task.base.outstanding += 1
        heap = self._heap
        heap.append(task)
        if len(heap) > 1:
            node_heap.sift_up(heap, len(heap) - 1, task, lower)

    def pop(self) -> NodeTask:
        """Remove and return the task that goes first. Raise IndexError if there is none."""
        return node_heap.pop(self._heap, lower)

    def nodes_in_order(self) -> list[Node]:
        """Return the waiting Nodes in the order in which they would be popped, without leftovers of failed
        backwards.
        """
        if not self._heap:
            return []
        if len(self._heap) == 1:
            return [] if self._heap[0].base.is_gone else [self._heap[0].node]
        copy = ReadyQueue()
        copy._heap = self._heap.copy()
        order = [copy.pop() for _ in range(len(copy))]
        return [task.node for task in order if not task.base.is_gone]
