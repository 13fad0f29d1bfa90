"""Which backward graph is drawn at which step: a scene is a graph as it is in the end, and the steps that show it.

Within a backward pass it is the graph of that pass. Between two it is the one of the next pass from its first new Node
on, so that a reader sees what is not made yet; where the next pass does not go through all that is made meanwhile, it
is what is made. What was drawn last stays until something new is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backward_graph import BackwardGraph, backward_graph
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import history


@dataclass(frozen=True)
class Scene:
    """A graph, as of the last of the steps at which it is built or run."""

    begin: int
    """The first step that shows it."""
    end: int
    """The last one."""
    task: int | None
    """The number of the backward; None of a graph that none goes through."""
    started: int
    """The step at which its backward starts; the end of what is built if none does."""

    def graph_at(self, trace: Trace, at: int) -> BackwardGraph:
        """The graph as of a step."""
        return backward_graph(trace, at, self.task) if self.task is not None else backward_graph(trace, at)


def scenes(trace: Trace) -> list[Scene]:
    """All of a trace, in order; each is shown until the next one begins."""
    found = list(_found(trace))
    ends = (*(scene.begin - 1 for scene in found[1:]), len(trace) - 1)
    return [replace(scene, end=end) for scene, end in zip(found, ends, strict=False)]  # without a graph there is none


def _found(trace: Trace) -> Iterator[Scene]:
    """Each with the end of what happens in it."""
    known = history(trace)
    after = -1
    for backward in (
        each for each in known.backwards if not _is_within(known.backwards.under_way(each.event.seq), each)
    ):
        yield from _until(trace, after, backward)
        after = max(after, backward.end)
    yield from _left(trace, after, len(trace) - 1)


def _is_within(under_way: Iterator[Backward], backward: Backward) -> bool:
    """Return whether a pass is started by a Node of another one, whose graph is shown meanwhile."""
    return any(each is not backward for each in under_way)


def _until(trace: Trace, after: int, backward: Backward) -> Iterator[Scene]:
    """What is built since the last pass, and the next pass."""
    start, task = backward.event.seq, backward.event.graph_task
    made = _first_made(trace, after, start)
    there = {*backward_graph(trace, start - 1).nodes} if start and made < start else set()
    goes_through = {*backward_graph(trace, backward.end, task).nodes}
    if there <= goes_through:
        yield Scene(min(made, start), backward.end, task, start)
    else:
        yield from _left(trace, after, start - 1)
        yield Scene(start, backward.end, task, start)


def _left(trace: Trace, after: int, end: int) -> Iterator[Scene]:
    """What is built between two steps, and no pass goes through."""
    made = _first_made(trace, after, end)
    if made <= end and len(backward_graph(trace, end)):
        yield Scene(made, end, None, end)


def _first_made(trace: Trace, after: int, end: int) -> int:
    """The step behind one at which the first Node is met; behind ``end`` if none is."""
    known = history(trace)
    seen = known.seen_between(after, end)
    return min((known.events.first(node) for node in seen), default=end + 1)
