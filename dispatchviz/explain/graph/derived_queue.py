"""The ready Nodes in a recording of an installed PyTorch, which does not report its ready queue.

They follow from the edges of the graph and the Nodes that have run, if one queue holds all Nodes of a pass and all of
them run. If PyTorch runs a Node that does not come first in the derived queue, nothing is derived from there on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from heapq import nlargest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward, reached
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.graph.queued_nodes import Listed, Queue, QueuedNode, queue_at, queue_device
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.recorded_engine import is_unseen

FIRST = 4
"""The number of Nodes that are kept of each queue."""


def known_queue(trace: Trace, event: ev.NodeStarted) -> Queue | None:
    """Return the queue that a Node has left to run, or the first Nodes of a derived queue. Return None if a recording
    does not show which Nodes are ready.
    """
    if not is_unseen(trace.header, ev.NodeQueued):
        return queue_at(trace, event)
    backward = backward_around(trace, event.seq)
    others = None if backward is None else derived_queues(trace, backward.event.seq).get(event.seq)
    return None if others is None else Listed(others)


@lru_cache(maxsize=4)
def derived_queues(trace: Trace, started: int) -> Mapping[int, tuple[QueuedNode, ...]]:
    """Return, for each step at which a pass starts a Node, the first of the other ready Nodes in their order."""
    backward = history(trace).backwards[started]
    begun = [event for step in backward.starts if isinstance(event := trace[step], ev.NodeStarted)]
    nodes = [event for event in begun if plain_node(event.name) != "GraphRoot"]
    queued = {
        event.node: QueuedNode(event.node, event.sequence_nr, queue_device(event.device), backward.event.depth)
        for event in nodes
    }
    edges = {node: _targets(trace, backward, node) for node in queued}
    if not _is_whole(trace, backward, nodes, edges):
        return {}
    left = Counter(end for ends in edges.values() for end in ends)
    ready, found = {node for node in queued if not left[node]}, dict[int, tuple[QueuedNode, ...]]()
    for event in nodes:
        others = nlargest(FIRST, (queued[node] for node in ready if node != event.node), key=_number)
        if event.node not in ready or (others and others[0].sequence_nr > event.sequence_nr):
            break
        found[event.seq] = tuple(others)
        ready.remove(event.node)
        for end in edges[event.node]:
            left[end] -= 1
            if not left[end]:
                ready.add(end)
    return found


def _is_whole(
    trace: Trace, backward: Backward, nodes: list[ev.NodeStarted], edges: Mapping[int, Iterable[int]]
) -> bool:
    """Return whether all Nodes that the edges lead to run in one queue, each once."""
    if trace.header.only or backward.event.inputs or not backward.finished or len(edges) < len(nodes):
        return False
    roots = {node for node, _ in backward.event.roots}
    queues = {(queue_device(event.device), event.thread) for event in nodes}
    return len(queues) == 1 and reached(roots, lambda node: edges.get(node, ())) == set(edges)


def _targets(trace: Trace, backward: Backward, node: int) -> tuple[int, ...]:
    return tuple(history(trace).backwards.targets_at(node, backward.end))


def _number(queued: QueuedNode) -> int:
    return queued.sequence_nr
