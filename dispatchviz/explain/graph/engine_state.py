"""The state of the engine at a step: the ready Nodes in order, the waiting Nodes, and the gradients that have arrived.

``queued_nodes.py`` derives the queue. Counts and buffers come from the last events about a Node, so that the cost
depends on the Nodes named and not on the size of the graph.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.graph.queued_nodes import QueuedNode, queue_as_of
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around

E = TypeVar("E", bound=ev.Event)

NAMED = 12
"""The number of Nodes of a list that are named."""

LOOKED_AT = 64
"""The number of latest gradients that are read to find Nodes that still wait."""


class Buffered(Struct, frozen=True):
    """A gradient in an input buffer."""

    input_nr: int
    tensor: int
    how: str
    """``stored``, ``added in place``, ``added out of place``."""
    seq: int


class Waiting(Struct, frozen=True):
    """A Node that some gradients have not reached."""

    node: int
    left: int
    """The number of edges whose gradients have not arrived."""
    count: int
    """The number of edges that lead to it, as the engine counted them."""
    buffer: tuple[Buffered, ...]


class Ready(Struct, frozen=True):
    """A Node in the ready queue."""

    queued: QueuedNode
    buffer: tuple[Buffered, ...]


class EngineState(Struct, frozen=True):
    """The engine during one of its runs."""

    started: ev.BackwardStarted
    running: ev.NodeStarted | None
    ready: tuple[Ready, ...]
    """The first ready Nodes, in the order in which they will run, of all backward passes that use the queue."""
    more_ready: int
    """The number of other Nodes in the queue."""
    waiting: tuple[Waiting, ...]
    """The Nodes that the running Node leads to, and those that got a gradient last."""
    ran: int
    """The number of Nodes that have started."""
    reached: int
    """The number of Nodes that the engine found when it counted."""


@lru_cache(maxsize=4)
def engine_state(trace: Trace, at: int) -> EngineState | None:
    """Return the state of the engine at a step, or None outside its runs."""
    backward = backward_around(trace, at)
    if backward is None:
        return None
    running = at_or_around(trace, at, ev.NodeStarted)
    running = running if running is not None and running.seq > backward.event.seq else None
    queue = queue_as_of(trace, at)
    ready = tuple(Ready(each, buffer_of(trace, backward, each.node, at)) for each in islice(queue, NAMED))
    return EngineState(
        backward.event,
        running,
        ready,
        len(queue) - len(ready),
        tuple(islice(_waiting(trace, backward, running, at), NAMED)),
        bisect_right(backward.starts, at),
        len(backward.nodes) if backward.counted_at(at) else 0,
    )


def _waiting(trace: Trace, backward: Backward, running: ev.NodeStarted | None, at: int) -> Iterator[Waiting]:
    ahead = () if running is None else history(trace).backwards.targets_at(running.node, at)
    for node in dict.fromkeys((*ahead, *_met_last(trace, backward, at))):
        left = left_of(trace, backward, node, at)
        if left:
            yield Waiting(node, left, backward.counts.get(node, left), buffer_of(trace, backward, node, at))


def _met_last(trace: Trace, backward: Backward, at: int) -> Iterator[int]:
    """Yield the Nodes that an edge led to, latest first."""
    steps, nodes = trace.steps_of(ev.DependencyMet), trace.columns.nodes
    first, last = bisect_left(steps, backward.event.seq), bisect_right(steps, at)
    for place in range(last - 1, max(first, last - LOOKED_AT) - 1, -1):
        yield nodes[steps[place]]


def left_of(trace: Trace, backward: Backward, node: int, at: int) -> int:
    """Return the number of edges into a Node that are still to be followed in a backward pass at a step; 0 if it waits
    for none.
    """
    if backward.counted_at(at) is None:
        return 0
    met = next(own_latest(trace, backward, node, at, ev.DependencyMet), None)
    if met is None:
        return backward.counts.get(node, 0)
    return 0 if met.skipped else met.left


def buffer_of(trace: Trace, backward: Backward, node: int, at: int) -> tuple[Buffered, ...]:
    """Return the gradients in a Node's input buffer at a step, by input. The buffer is empty once the Node has been
    popped.
    """
    popped = (next(own_latest(trace, backward, node, at, kind), None) for kind in (ev.NodeStarted, ev.NodeSkipped))
    if any(popped):
        return ()
    found: dict[int, Buffered] = {}
    arrived = own_latest(trace, backward, node, at, ev.GradientBuffered)
    most = 1 if node in history(trace).events.leaf_nodes else None  # a leaf has one input and may wait for thousands
    for event in islice(arrived, most):
        found.setdefault(event.input_nr, Buffered(event.input_nr, event.tensor, event.how, event.seq))
    return tuple(found[number] for number in sorted(found))


def own_latest(trace: Trace, backward: Backward, node: int, at: int, kind: type[E]) -> Iterator[E]:
    """Yield the events of a kind about a Node in one backward pass up to a step, latest first."""
    steps = _about(trace, node, backward.event.seq, at)
    code, kinds = trace.columns.code(kind), trace.columns.kinds
    for step in reversed(steps):
        if kinds[step] == code and _is_own(trace, backward, step):
            event = trace[step]
            if isinstance(event, kind):
                yield event


def _about(trace: Trace, node: int, after: int, until: int) -> Sequence[int]:
    steps = trace.columns.of_node.get(node, ())
    return steps[bisect_right(steps, after) : bisect_right(steps, until)]


def _is_own(trace: Trace, backward: Backward, step: int) -> bool:
    """Return whether a step belongs to a backward pass and to no pass nested in it. A pass may start within a Node of
    another.
    """
    code, kinds = trace.columns.code(ev.BackwardStarted), trace.columns.kinds
    innermost = next(each for each in trace.columns.ancestors(step) if kinds[each] == code)
    return innermost == backward.event.seq
