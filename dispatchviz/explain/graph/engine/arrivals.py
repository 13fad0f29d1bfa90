"""The gradients in an input buffer at a step: the Node and edge that each came from, and whether it was stored or
added.

A Node passes its gradients on right after it has run, edge by edge. So an arrival comes from the last Node of the pass
that finished before it, and the number of edges counted off since then identifies the edge. The gradient of a root
comes from the caller.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.engine_state import own_latest
from dispatchviz.explain.graph.graph_history import history

LOOKED_AT = 64
"""The number of latest arrivals at a Node that are read."""


class Arrival(Struct, frozen=True):
    """A gradient that arrived."""

    buffered: ev.GradientBuffered
    source: int | None
    """The Node that sent it. None if the caller of backward did, or if the trace does not say."""
    edge: int | None
    """The edge of that Node."""
    holds: int | None
    """The tensor in the buffer after this arrival: the gradient or a sum. None if the trace does not say."""


def arrivals(trace: Trace, backward: Backward, node: int, at: int) -> dict[int, list[Arrival]]:
    """Return the arrivals at each input of a Node, in order. Only the last of thousands are read."""
    found: dict[int, list[Arrival]] = {}
    latest = islice(own_latest(trace, backward, node, at, ev.GradientBuffered), LOOKED_AT)
    for event in reversed(list(latest)):
        before = found.setdefault(event.input_nr, [])
        before.append(arrival(trace, backward, event, before[-1].holds if before else None))
    return found


def arrival(trace: Trace, backward: Backward, event: ev.GradientBuffered, held: int | None) -> Arrival:
    """Return the arrival of a gradient. ``held`` is the tensor that was in the buffer before."""
    finished = _before(backward.steps(ev.NodeFinished), event.seq)
    done = None if finished is None else trace[finished]
    if not isinstance(done, ev.NodeFinished):
        return Arrival(event, None, None, _holds(trace, event, held))
    met = backward.steps(ev.DependencyMet)
    place = bisect_left(met, event.seq) - bisect_left(met, done.seq) - 1
    return Arrival(event, done.node, _edge(trace, done.node, place, event.seq), _holds(trace, event, held))


def _before(steps: list[int], at: int) -> int | None:
    place = bisect_left(steps, at)
    return steps[place - 1] if place else None


def _edge(trace: Trace, node: int, place: int, at: int) -> int | None:
    """Return the edge that was followed at a place in the order. Empty edges are not followed."""
    made = history(trace).edges(node, at)
    valid = [] if made is None else [number for number, edge in enumerate(made.edges) if edge is not None]
    return valid[place] if 0 <= place < len(valid) else None


def _holds(trace: Trace, event: ev.GradientBuffered, held: int | None) -> int | None:
    """Return the tensor in the buffer. An out-of-place sum is the result of the call that ends just before."""
    if event.how != "added out of place":
        return event.tensor if event.how == "stored" else held
    last = trace[event.seq - 1] if event.seq else None
    return last.tensors[0] if isinstance(last, ev.KernelReturned) and last.tensors else None
