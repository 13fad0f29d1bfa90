"""Questions about the engine: edge counts, ready Nodes, and the Node that runs next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.derived_queue import known_queue
from dispatchviz.explain.graph.engine_state import Waiting, engine_state, left_of
from dispatchviz.explain.graph.graph_history import backward_around, history
from dispatchviz.explain.graph.queued_nodes import Queue, QueuedNode, queue_device
from dispatchviz.explain.kinds.all_kinds import statements, why_here
from dispatchviz.explain.kinds.ready_queue import why_before_others
from dispatchviz.explain.predictions.prediction import LONGEST, MOST, Kind, Prediction, prediction
from dispatchviz.explain.sentences.node_sentences import NO_NUMBER
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title, plain_node
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital, counted, listed, shortened

FEW = 6
"""The largest number of Nodes of a graph whose edges are listed one by one."""

PRUNED = "none: this pass does not need it and prunes it"
"""The choice that the Node does not run."""

READY, WAITING = 3, 2
"""The largest numbers of ready and of waiting Nodes among the choices."""


# -- counts ------------------------------------------------------------------------------------------------------------


def what_count(trace: Trace, event: ev.DependenciesCounted) -> Prediction | None:
    """The question before the engine counts edges, about the Node with the most edges into it."""
    backward = backward_around(trace, event.seq)
    if backward is None or not event.counts or len(backward.nodes) > FEW:
        return None
    node, count = max(event.counts, key=lambda pair: pair[1])
    title = node_title(trace, node, event.seq)
    edges = dict(_edges(trace, backward, event.seq))
    by = [other for other, ends in edges.items() for end in ends if end == title]
    lead = f"{capital(counted(count, 'edge'))} {'leads' if count == 1 else 'lead'} to {title}"
    if len(by) != count:
        return None  # some edges are not counted, so the graph does not show the answer
    why, first = f"{lead}, {_leading(by)}.", max(1, count - 1)
    awaited = backward.needs(node) or bool(backward.captures(node))
    if not awaited:
        counts = "It is counted" if count == 1 else "They are counted"
        why += f" {counts}, but this pass does not need the Node, so it is never queued."
    choices = [(counted(number, "gradient"), why) for number in range(first, first + 3)]
    return prediction(
        Kind.COUNT,
        f"The engine counts edges. How many gradients will {title} wait for?",
        [(PRUNED, f"This pass needs it. {why}" if awaited else why), *choices],
        counted(count, "gradient") if awaited else PRUNED,
        event.seq,
        (count, awaited),
        [f"{name} leads to {listed(ends) or 'nothing'}" for name, ends in edges.items()],
    )


def _leading(nodes: list[str]) -> str:
    """The Nodes that the edges come from: ``both from Mul``, ``from Add``, ``from Add and Mul``."""
    if len(nodes) == 2 and nodes[0] == nodes[1]:
        return f"both from {nodes[0]}"
    return f"from {listed(list(dict.fromkeys(nodes)))}"


def _edges(trace: Trace, backward: Backward, at: int) -> Iterator[tuple[str, list[str]]]:
    """Yield each Node of a pass with the Nodes that its edges lead to."""
    for node in _by_age(trace, backward.nodes):
        ends = history(trace).backwards.targets_at(node, at)
        yield node_title(trace, node, at), [node_title(trace, end, at) for end in ends]


# -- ready -------------------------------------------------------------------------------------------------------------


def is_ready(trace: Trace, event: ev.DependencyMet) -> Prediction | None:
    """The question before a gradient arrives at a Node that waits for several."""
    backward = backward_around(trace, event.seq)
    edges = 0 if backward is None else backward.counts.get(event.node, 0)
    if backward is None or edges < 2 or not (event.skipped or backward.needs(event.node)):
        return None
    before = edges - 1 - event.left if event.skipped else edges - left_of(trace, backward, event.node, event.seq - 1)
    title, why = node_title(trace, event.node, event.seq), why_here(trace, event.seq)
    choices = [("yes: it goes into the ready queue", why)]
    choices += [(f"no: it waits for {counted(left, 'more gradient')}", why) for left in range(1, min(edges, 4))]
    choices.append((NEVER, why if event.skipped else f"This pass needs it. {why}"))
    right = NEVER if event.skipped else choices[event.left][0] if event.left < len(choices) - 1 else ""
    return prediction(
        Kind.READY,
        f"One more edge into {title} is followed. Is it ready now?",
        choices,
        right,
        event.seq,
        (event.left == 0, event.skipped),
        [f"{counted(edges, 'edge')} lead to it, {_so_far(before)} followed so far"],
    )


NEVER = "no: this pass does not need it, so it is never queued"
"""The choice that the Node does not wait at all."""


def _so_far(number: int) -> str:
    return counted(number, "of them", "of them") if number else "none of them"


# -- next --------------------------------------------------------------------------------------------------------------


def which_node(trace: Trace, event: ev.NodeStarted) -> Prediction | None:
    """The question before the engine takes a Node out of the ready queue."""
    backward = backward_around(trace, event.seq)
    if backward is None or plain_node(event.name) == "GraphRoot":
        return None
    queue = known_queue(trace, event)
    if queue is None or queue.has(queue_device(event.device), 0, event.sequence_nr):
        return None  # the order in the heap decides among equal numbers, and a reader cannot know it
    said = _why_it_runs(trace, event, queue)
    ready = list(islice(queue.of(queue_device(event.device), backward.event.depth), READY))
    state = engine_state(trace, event.seq - 1)
    waiting = () if state is None else state.waiting[:WAITING]
    behind = list(islice(history(trace).backwards.targets_at(event.node, event.seq), 1))
    ran = [node for node in backward.ran[: backward.places.get(event.seq, 1) - 1] if node != event.node][-1:]
    reasons = {event.node: said.text}
    reasons |= {each.node: _later(trace, each, event, said.text) for each in ready}
    reasons |= {each.node: _waits(trace, each, event.seq) for each in waiting if each.node not in reasons}
    reasons |= {node: _behind(trace, node, event) for node in behind if node not in reasons and backward.needs(node)}
    reasons |= {node: _has_run(trace, node, event.seq) for node in ran if node not in reasons}
    named = list(islice(reasons, MOST - 1))
    choices = [(_title(trace, node, event.seq), reasons[node]) for node in _by_age(trace, named)]
    return prediction(
        Kind.NEXT,
        "Which Node does the engine run next?",
        [*choices, (OVER, f"A pass is over when no Node is ready or running. {said.text}")],
        _title(trace, event.node, event.seq),
        event.seq,
        (said.kind,),
    )


def _why_it_runs(trace: Trace, event: ev.NodeStarted, queue: Queue) -> Statement:
    """The reason why a Node is the next one. The sentence of a recording has none, since it shows no queue."""
    if not is_unseen(trace.header, ev.NodeQueued):
        return statements(trace, event.seq)[0]
    said = why_before_others(trace, event, queue, f"{node_title(trace, event.node, event.seq)} runs")
    return said._replace(text=said.text.rstrip())


OVER = "none: the pass is over"
"""The choice that no Node is left."""


def _by_age(trace: Trace, nodes: Iterable[int]) -> list[int]:
    """Sort Nodes by the order in which they were created."""
    made = index(trace).nodes
    return sorted(nodes, key=lambda node: (event.seq if (event := made.get(node)) else -1, node))


def _title(trace: Trace, node: int, at: int) -> str:
    title = shortened(node_title(trace, node, at), LONGEST - len(", sequence number 1000000"))
    numbered = history(trace).events.number_set(node, at) or index(trace).nodes.get(node)
    if numbered is None or numbered.sequence_nr == NO_NUMBER:
        return title
    return f"{title}, sequence number {numbered.sequence_nr}"


def _later(trace: Trace, queued: QueuedNode, event: ev.NodeStarted, why: str) -> str:
    return f"{node_title(trace, queued.node, event.seq)} is ready too, but it is not first in the queue. {why}"


def _waits(trace: Trace, waiting: Waiting, at: int) -> str:
    of = f" of {waiting.count}" if waiting.count > 1 else ""
    left = f"{counted(waiting.left, 'gradient')}{of}"
    return f"{node_title(trace, waiting.node, at)} is not ready, because it still waits for {left}."


def _behind(trace: Trace, node: int, event: ev.NodeStarted) -> str:
    first = node_title(trace, event.node, event.seq)
    return (
        f"{node_title(trace, node, event.seq)} has to wait, because an edge leads to it from {first}, which has not "
        "run yet."
    )


def _has_run(trace: Trace, node: int, at: int) -> str:
    return f"{node_title(trace, node, at)} has already run in this pass, and each Node runs only once."
