"""The last step at which each Node of a recording of an installed PyTorch certainly exists.

Recordings of an installed PyTorch have no event for the end of a Node. A Node exists as long as a variable holds a
tensor whose history leads to it, and while the engine runs it. After that it may exist or not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.stored_events import some_events
from dispatchviz.explain.graph.memory.variable_spans import spans_of_tensor
from dispatchviz.explain.trace_index.trace_index import index


def proven_ends(trace: Trace, since: int) -> Mapping[int, int]:
    """Return the first step at which each Node that was made since a step is no longer certain to exist."""
    columns, found = trace.columns, defaultdict[int, int](int)
    for step in (step for kind in (ev.HistorySet, ev.HistoryRebased) for step in _from(trace, kind, since)):
        node = columns.nodes[step]
        found[node] = max(found[node], _held_until(trace, columns.tensors[step], step))
    for step in _from(trace, ev.NodeStarted, since):
        node = columns.nodes[step]
        found[node] = max(found[node], columns.ends[step] + 1)
    _follow_edges(trace, found, since)
    return found


def _from(trace: Trace, kind: type[ev.Event], since: int) -> Sequence[int]:
    steps = trace.steps_of(kind)
    return steps[bisect_left(steps, since) :]


def _held_until(trace: Trace, tensor: int, since: int) -> int:
    """Return the step up to which a variable holds a tensor with the history that it got at a step."""
    steps = index(trace).histories.get(tensor)
    place = 0 if steps is None else bisect_right(steps.steps, since)
    until = len(trace) if steps is None or place >= len(steps.steps) else steps.steps[place]
    spans = (span for span in spans_of_tensor(trace, tensor) if span.begin < until and span.end > since)
    return max((min(span.end, until) for span in spans), default=since + 1)


def _follow_edges(trace: Trace, found: dict[int, int], since: int) -> None:
    """Let a Node exist as long as each Node with an edge to it. Edges lead to Nodes with smaller numbers, or to
    leaves, which save nothing.
    """
    events = some_events(trace.events, _from(trace, ev.EdgesCollected, since))
    edges = [event for event in events if isinstance(event, ev.EdgesCollected)]
    for event in sorted(edges, key=lambda event: -event.node):
        end = found.get(event.node, 0)
        for edge in event.edges:
            if edge is not None and found.get(edge[0], 0) < end:
                found[edge[0]] = end
