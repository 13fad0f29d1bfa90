"""The choice of the backward graph for each step. A scene is a graph in its final form, and the steps that show it.

Within a backward pass the scene is the graph of that pass. Between two passes it is the graph of the next one, from its
first new Node on, so that a reader sees which Nodes are still missing. If the next pass does not go through all Nodes
that are made meanwhile, the scene is a graph of these Nodes. The last scene stays until something new is made.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import history


class Scene(Struct, frozen=True):
    """A graph, as of the last step at which it is built or run."""

    begin: int
    """The first step that shows the graph."""
    end: int
    """The last step that shows the graph."""
    task: int | None
    """The number of the backward; None for a graph that no backward goes through."""
    started: int
    """The step at which its backward starts; the last step of its construction if none does."""

    def graph_at(self, trace: Trace, at: int) -> BackwardGraph:
        """Return the graph as of a step."""
        return backward_graph(trace, at, self.task) if self.task is not None else backward_graph(trace, at)


def scenes(trace: Trace) -> list[Scene]:
    """Return all scenes of a trace, in order. Each is shown until the next one begins."""
    found = list(_found(trace))
    ends = (*(scene.begin - 1 for scene in found[1:]), len(trace) - 1)
    return [replace(scene, end=end) for scene, end in zip(found, ends, strict=False)]  # both are empty without a graph


def _found(trace: Trace) -> Iterator[Scene]:
    """Yield the scenes, each with its last event as its end."""
    known = history(trace)
    after = -1
    for backward in (
        each for each in known.backwards if not _is_within(known.backwards.under_way(each.event.seq), each)
    ):
        yield from _scenes_of_pass(trace, after, backward)
        after = max(after, backward.end)
    yield from _scenes_without_pass(trace, after, len(trace) - 1)


def _is_within(under_way: Iterator[Backward], backward: Backward) -> bool:
    """Return whether a pass is started by a Node of another one, whose graph is shown meanwhile."""
    return any(each is not backward for each in under_way)


def _scenes_of_pass(trace: Trace, after: int, backward: Backward) -> Iterator[Scene]:
    """Yield the scene of the Nodes that were built since the last pass, if it needs one, and that of the next pass."""
    start, task = backward.event.seq, backward.event.graph_task
    made = _first_made(trace, after, start)
    there = {*backward_graph(trace, start - 1).nodes} if start and made < start else set()
    goes_through = {*backward_graph(trace, backward.end, task).nodes}
    if there <= goes_through:
        yield Scene(min(made, start), backward.end, task, start)
    else:
        yield from _scenes_without_pass(trace, after, start - 1)
        yield Scene(start, backward.end, task, start)


def _scenes_without_pass(trace: Trace, after: int, end: int) -> Iterator[Scene]:
    """Yield the scene of Nodes that are built between two steps and that no pass goes through."""
    made = _first_made(trace, after, end)
    if made <= end and len(backward_graph(trace, end)):
        yield Scene(made, end, None, end)


def _first_made(trace: Trace, after: int, end: int) -> int:
    """Return the step after a given one at which the first Node is met; a step after ``end`` if none is."""
    known = history(trace)
    seen = known.seen_between(after, end)
    return min((known.events.first(node) for node in seen), default=end + 1)
