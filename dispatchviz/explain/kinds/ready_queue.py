"""The ready queue: when a Node is ready, which of the ready ones runs, and which never do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.graph_history import backward_around
from dispatchviz.explain.graph.queued_nodes import Queue, QueuedNode, queue_at, queue_device
from dispatchviz.explain.kinds.kind import QUEUE, Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import (
    ENGINE,
    apply_function,
)
from dispatchviz.explain.sentences.engine_claims import runs
from dispatchviz.explain.sentences.node_sentences import NO_NUMBER
from dispatchviz.explain.sentences.sentence_claims import Claim, EdgesCounted, RunsBefore
from dispatchviz.explain.sentences.statement import LaterClaims, Statement
from dispatchviz.explain.trace_index.display_names import node_title, plain_node, tensor_name
from dispatchviz.explain.trace_index.recorded_engine import is_unseen
from dispatchviz.foundation.english import counted, listed


def _dependency_label(trace: Trace, event: ev.DependencyMet) -> str:
    node = node_title(trace, event.node, event.seq)
    if event.skipped:
        return f"{node} is not needed"
    return f"{node} waits for {event.left} more" if event.left else f"{node} has all its gradients"


def _node_queued_label(trace: Trace, event: ev.NodeQueued) -> str:
    node = node_title(trace, event.node, event.seq)
    return f"{node} is {_queued_label(backward_around(trace, event.seq), event.node)}"


def _queued_label(backward: Backward | None, node: int) -> str:
    if backward is None or backward.needs(node):
        return "ready"
    return "queued to be captured" if backward.captures(node) else "queued, but not needed"


def _node_started_label(trace: Trace, event: ev.NodeStarted) -> str:
    number = "" if event.sequence_nr == NO_NUMBER else f", seq {event.sequence_nr}"
    return f"run {node_title(trace, event.node, event.seq)}{number}"


SHOWN = 5
"""Of a longer queue the first ones are named."""


def _came(trace: Trace, event: ev.DependencyMet) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if event.skipped:
        came = "its gradient is dropped" if event.defined else "no gradient arrived by it"
        text = f"An edge into {node} is counted off: {came}. The Node is not needed and is never queued."
        return Statement("edge into a pruned Node", text, runs(trace, event.seq, [event.node]))
    backward = backward_around(trace, event.seq)
    edges = 0 if backward is None else backward.counts.get(event.node, 0)
    came = "A gradient has arrived" if event.defined else "An undefined gradient, which counts as well, has arrived"
    if event.left:
        of = f" of {edges}" if edges else ""
        text = f"{came} for {node}: it waits for {counted(event.left, 'more gradient')}{of}."
        return Statement("gradient arrived, more to come", text, _edges(backward, event.node))
    has = f"all {counted(edges, 'gradient')}" if edges > 1 else "all"
    one = ", since one edge leads to it" if edges == 1 else ""
    return _zero(trace, event, backward, f"{came} for {node}: it has {has} it waits for{one}.")


def _zero(trace: Trace, event: ev.DependencyMet, backward: Backward | None, text: str) -> Statement:
    claims = (*runs(trace, event.seq, [event.node]), *_edges(backward, event.node))
    if backward is not None and not backward.needs(event.node):
        said = f"{text} Its count is zero: it is queued, only for its gradient to be captured."
        return Statement("last gradient arrived, to be captured", said, claims)
    return Statement("last gradient arrived", f"{text} Its count is zero: it is ready.", claims)


def _edges(backward: Backward | None, node: int) -> tuple[Claim, ...]:
    """How many gradients the Node waits for in all."""
    if backward is None or node not in backward.counts:
        return ()
    return (EdgesCounted(backward.event.graph_task, node, backward.counts[node], True),)


def _queued(trace: Trace, event: ev.NodeQueued) -> Statement:
    node, device = node_title(trace, event.node, event.seq), queue_device(event.device)
    claims = runs(trace, event.seq, [event.node])
    backward = backward_around(trace, event.seq)
    if backward is not None and not backward.needs(event.node):
        if backward.captures(event.node):
            text = f"{node} goes into the queue of {device}, for its gradient to be captured; it will not run."
            return Statement("queued to be captured", text, claims)
        text = f"{node}, the root, goes into the queue of {device}, although no requested gradient depends on it."
        return Statement("root queued, not needed", text, claims)
    queue = queue_at(trace, event)
    line = list(islice(queue.of(device), SHOWN + 1))
    if not [other for other in line if other.node != event.node]:
        text = f"{node} is ready and goes into the queue of {device}; nothing else waits there."
        return Statement("queued alone", text, claims)
    names = ", then ".join(_numbered(trace, each, event.seq) for each in line[:SHOWN])
    more = " ..." if len(line) > SHOWN else ""
    text = f"{node} is ready and joins the queue of {device}; in the order of their turns: {names}{more}."
    return Statement("queued among others", text, claims)


def _numbered(trace: Trace, each: QueuedNode, at: int) -> str:
    """``ExpBackward0 (seq 3)``"""
    title = node_title(trace, each.node, at)
    return title if each.sequence_nr == NO_NUMBER else f"{title}, seq {each.sequence_nr}"


def _skipped(trace: Trace, event: ev.NodeSkipped) -> Statement:
    node = node_title(trace, event.node, event.seq)
    backward = backward_around(trace, event.seq)
    claims = runs(trace, event.seq, [event.node])
    if backward is not None and backward.captures(event.node):
        text = (
            f"{node} is not called: grad() requests the gradient that arrived there, and none that depends on running "
            "it."
        )
        return Statement("captured, not run", text, claims)
    text = f"{node} is not called: no requested gradient depends on it."
    return Statement("not needed, not run", text, claims)


def _runs(trace: Trace, event: ev.NodeStarted) -> Statement:
    node = node_title(trace, event.node, event.seq)
    given = [tensor_name(trace, tensor, event.seq) for tensor in event.gradients if tensor is not None]
    with_ = f"with the gradient{'s' if len(given) > 1 else ''} {listed(given)}" if given else "without any gradient"
    if plain_node(event.name) == "GraphRoot":
        return Statement("GraphRoot runs", f"{node} runs first: it passes each root its gradient.")
    thread = f", on PyTorch's thread {event.thread}" if event.thread not in ("", "caller") else ""
    return _turn(trace, event, f"{node} runs {with_}{thread}")


def _turn(trace: Trace, event: ev.NodeStarted, text: str) -> Statement:
    """Why this Node runs before the other ready ones."""
    queue, backward, device = queue_at(trace, event), backward_around(trace, event.seq), queue_device(event.device)
    claims = LaterClaims(lambda: (*runs(trace, event.seq, [event.node]), *_before(trace, event, backward)))
    unseen = is_unseen(trace.header, ev.NodeQueued)
    if unseen or not queue.number(device):
        alone = f": no other Node is ready in the queue of {device}."
        said = text + (". Which others were ready is not seen." if unseen else alone)
        return Statement("Node runs, no other waits", said, claims)
    depth = 0 if backward is None else backward.event.depth
    if not queue.number(device, depth):
        said = (
            f"{text}: it belongs to the inner (reentrant) backward pass, which goes first whatever the sequence "
            f"numbers ({_waiting(trace, queue, event, 0)})."
        )
        return Statement("Node of the inner pass runs", said, claims)
    wait = _waiting(trace, queue, event, depth)
    if queue.has(device, depth, event.sequence_nr):
        said = (
            f"{text}: no ready Node has a larger sequence number ({wait}; of equal ones the order in the heap decides)."
        )
        return Statement("Node runs, equals wait", said, claims)
    if event.sequence_nr == NO_NUMBER:
        said = f"{text}: it has the largest sequence number there is, as every AccumulateGrad has ({wait})."
        return Statement("AccumulateGrad runs before others", said, claims)
    said = f"{text}: of the ready Nodes it has the largest sequence number, {event.sequence_nr} ({wait})."
    return Statement("Node of the largest number runs", said, claims)


def _waiting(trace: Trace, queue: Queue, event: ev.NodeStarted, depth: int) -> str:
    """The first three of those that wait in passes at least so deep."""
    device = queue_device(event.device)
    number = queue.number(device, depth)
    others = [_numbered(trace, each, event.seq) for each in islice(queue.of(device, depth), 3)]
    said = "; ".join(others) if any(", " in other for other in others) else listed(others)
    return f"{said}{' and more' if number > 3 else ''} {'wait' if number > 1 else 'waits'}"


def _before(trace: Trace, event: ev.NodeStarted, backward: Backward | None) -> Iterator[Claim]:
    """It runs before those that wait in its queue, of the same pass."""
    if backward is not None and backward.finished:
        ran, task = set(backward.ran), backward.event.graph_task
        for other in queue_at(trace, event).of(queue_device(event.device)):
            if other.node in ran:
                yield RunsBefore(task, event.node, other.node)


READY_QUEUE_KINDS = (
    Kind(
        ev.DependencyMet,
        group="engine",
        label=_dependency_label,
        why=_came,
        rule=Rule(
            "A Node is ready when a gradient, defined or not, has arrived by every edge into it; one that should not "
            "execute gets no input buffer and is never ready.",
            "torch::autograd::Engine::evaluate_function",
            ENGINE,
        ),
        known=unseen(QUEUE),
        panes=("engine", "backward graph"),
    )
    | Kind(
        ev.NodeQueued,
        group="engine",
        label=_node_queued_label,
        why=_queued,
        rule=Rule(
            "Each device has a queue, the CPU one per calling thread; the innermost (reentrant) backward comes first, "
            "then the largest sequence number.",
            "torch::autograd::ReadyQueue::push",
            ENGINE,
        ),
        known=unseen(QUEUE),
        panes=("engine", "backward graph"),
    )
    | Kind(
        ev.NodeSkipped,
        group="engine",
        label=lambda trace, event: f"{node_title(trace, event.node, event.seq)} does not run",
        why=_skipped,
        rule=Rule(
            "For a Node that is reached and not needed only the tensor pre hooks run and its gradients are captured.",
            "torch::autograd::Engine::evaluate_function",
            ENGINE,
        ),
        known=unseen(QUEUE),
        panes=("engine", "backward graph"),
        reason_in_log="always",
    )
    | Kind(
        ev.NodeStarted,
        group="engine",
        label=_node_started_label,
        why=_runs,
        rule=lambda event: Rule(
            "A Node turns the gradients of its outputs into those of its inputs.", *apply_function(event.name)
        ),
        known=Known(
            "observed",
            "a pre hook on the Node is called",
            {
                "waiting": ("unseen", QUEUE),
                "device": ("derived", "from its first gradient"),
                "thread": ("derived", "from its first gradient"),
            },
        ),
        level="calls",
        panes=("backward graph", "engine"),
        reason_in_log="always",
    )
)
