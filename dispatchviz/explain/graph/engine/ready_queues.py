"""The ready queues at a step, one for each device, and the reason why each waiting Node precedes the next.

A queue is a heap. ``ReadyQueue::CompareNodeTaskTime`` compares in this order: a shutdown task, which ends a device's
thread with the process; a task without a Node, which only wakes a thread; the larger reentrant depth; the larger
sequence number. The heap decides between equal ones. The first two never occur in a CPU queue while a program runs, and
no event records them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Literal

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.graph.queued_nodes import Queue, QueuedNode, queue_as_of, queue_device

Decision = Literal["reentrant depth", "sequence_nr", "equal", "last"]
"""The reason why a Node precedes the next one in its queue. ``last`` means that there is no next one."""

RULE = ("a shutdown task", "a task without a Node", "the larger reentrant depth", "the larger sequence_nr")
"""The criteria for the order of a queue, in the order in which they are compared."""


class Turn(Struct, frozen=True):
    """A Node in a queue."""

    queued: QueuedNode
    decided: Decision
    pushed: int | None
    """The step that queued it; None if the trace does not have it."""


class ReadyQueue(Struct, frozen=True):
    """The queue of a device."""

    device: str
    """``cpu``, ``cuda:0``."""
    thread: str
    """The thread that takes Nodes from the queue: ``caller``, ``pt_autograd_0``."""
    turns: tuple[Turn, ...]
    """The first Nodes, in order."""
    number: int
    """The number of waiting Nodes."""


def ready_queues(trace: Trace, at: int, most: int) -> list[ReadyQueue]:
    """Return the queue of the CPU, then those of devices where a Node waits or from which the last Node came."""
    queue = queue_as_of(trace, at)
    running = _last_device(trace, at)
    devices = {"cpu", running, *(each.device for each in islice(queue, most))}
    return [_of(trace, queue, device, most, at) for device in sorted(devices, key=lambda name: (name != "cpu", name))]


def _last_device(trace: Trace, at: int) -> str:
    """Return the device of the Node that runs, or ran last, in the pass around a step."""
    backward = backward_around(trace, at)
    place = 0 if backward is None else bisect_right(backward.starts, at)
    node = trace[backward.starts[place - 1]] if backward is not None and place else None
    return queue_device(node.device) if isinstance(node, ev.NodeStarted) else "cpu"


def _of(trace: Trace, queue: Queue, device: str, most: int, at: int) -> ReadyQueue:
    first = list(islice(queue.of(device), most + 1))
    thread = "caller" if device == "cpu" else f"pt_autograd_{device.partition(':')[2] or 0}"
    return ReadyQueue(device, thread, _turns(trace, first, most, at), queue.number(device))


def _turns(trace: Trace, first: Sequence[QueuedNode], most: int, at: int) -> tuple[Turn, ...]:
    decided: list[Decision] = [_decision(one, other) for one, other in pairwise(first)]
    pairs = zip(first[:most], [*decided, "last"], strict=False)
    return tuple(Turn(each, why, _pushed(trace, each.node, at)) for each, why in pairs)


def _pushed(trace: Trace, node: int, at: int) -> int | None:
    code, kinds = trace.columns.code(ev.NodeQueued), trace.columns.kinds
    return next((step for step in history(trace).events.latest(node, at) if kinds[step] == code), None)


def _decision(one: QueuedNode, other: QueuedNode) -> Decision:
    if one.depth != other.depth:
        return "reentrant depth"
    return "equal" if one.sequence_nr == other.sequence_nr else "sequence_nr"
