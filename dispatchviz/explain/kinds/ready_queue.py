"""The ready queue: when a Node is ready, which of the ready Nodes runs, and which never run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.backwards import Backward
from dispatchviz.explain.graph.compiled.compiled_names import region_title
from dispatchviz.explain.graph.compiled.graphs import region_of_node
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
"""The number of Nodes that a sentence names of a longer queue."""


def _came(trace: Trace, event: ev.DependencyMet) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if event.skipped:
        came = "and its gradient is dropped" if event.defined else "but no gradient arrived along it"
        text = f"An edge into {node} is counted off, {came}. The Node is not needed and is never queued."
        return Statement("edge into a pruned Node", text, runs(trace, event.seq, [event.node]))
    backward = backward_around(trace, event.seq)
    edges = 0 if backward is None else backward.counts.get(event.node, 0)
    if event.left:
        came = "A gradient has arrived" if event.defined else "An undefined gradient, which counts as well, has arrived"
        of_all = f"of {counted(edges, 'gradient')}"
        of = counted(event.left, of_all, of_all) if edges else counted(event.left, "more gradient")
        text = f"{came} at {node}, which still waits for {of}."
        return Statement("gradient arrived, more to come", text, _edges(backward, event.node))
    match edges:
        case 0:
            begin = f"The last gradient that {node} waits for has arrived"
        case 1:
            begin = f"The only gradient that {node} waits for has arrived"
        case _:
            begin = f"The last of {counted(edges, 'gradient')} that {node} waits for has arrived"
    undefined = "" if event.defined else " (undefined, which counts as well)"
    return _zero(trace, event, backward, f"{begin}{undefined}, so its count is zero")


def _zero(trace: Trace, event: ev.DependencyMet, backward: Backward | None, text: str) -> Statement:
    claims = (*runs(trace, event.seq, [event.node]), *_edges(backward, event.node))
    if backward is not None and not backward.needs(event.node):
        queued = f"{text}. The Node is queued, but only so that its gradient can be captured."
        return Statement("last gradient arrived, to be captured", queued, claims)
    return Statement("last gradient arrived", f"{text} and the Node is ready.", claims)


def _edges(backward: Backward | None, node: int) -> tuple[Claim, ...]:
    """The claim about the number of gradients that the Node waits for in all."""
    if backward is None or node not in backward.counts:
        return ()
    return (EdgesCounted(backward.event.graph_task, node, backward.counts[node], True),)


def _queued(trace: Trace, event: ev.NodeQueued) -> Statement:
    node, device = node_title(trace, event.node, event.seq), queue_device(event.device)
    claims = runs(trace, event.seq, [event.node])
    backward = backward_around(trace, event.seq)
    if backward is not None and not backward.needs(event.node):
        if backward.captures(event.node):
            text = f"{node} joins the queue of {device} so that its gradient can be captured. It will not run."
            return Statement("queued to be captured", text, claims)
        text = f"The root {node} joins the queue of {device}, although no requested gradient depends on it."
        return Statement("root queued, not needed", text, claims)
    queue = queue_at(trace, event)
    line = list(islice(queue.of(device), SHOWN + 1))
    if not [other for other in line if other.node != event.node]:
        text = f"{node} is ready and joins the queue of {device}, where nothing else waits."
        return Statement("queued alone", text, claims)
    names = ", then ".join(_numbered(trace, each, event.seq) for each in line[:SHOWN])
    more = " ..." if len(line) > SHOWN else ""
    text = f"{node} is ready and joins the queue of {device}. Next in this queue are {names}{more}."
    return Statement("queued among others", text, claims)


def _numbered(trace: Trace, each: QueuedNode, at: int) -> str:
    """``ExpBackward0, seq 3``; an AccumulateGrad without its number."""
    title = node_title(trace, each.node, at)
    return title if each.sequence_nr == NO_NUMBER else f"{title}, seq {each.sequence_nr}"


def _skipped(trace: Trace, event: ev.NodeSkipped) -> Statement:
    node = node_title(trace, event.node, event.seq)
    backward = backward_around(trace, event.seq)
    claims = runs(trace, event.seq, [event.node])
    if backward is not None and backward.captures(event.node):
        text = f"{node} does not run, because grad() requests only the gradient that arrived there."
        return Statement("captured, not run", text, claims)
    text = f"{node} does not run, because no requested gradient depends on it."
    return Statement("not needed, not run", text, claims)


def _runs(trace: Trace, event: ev.NodeStarted) -> Statement:
    node = node_title(trace, event.node, event.seq)
    if plain_node(event.name) == "GraphRoot":
        return Statement("GraphRoot runs", f"{node} runs first and passes each root its gradient.")
    given = [tensor_name(trace, tensor, event.seq) for tensor in event.gradients if tensor is not None]
    match given:
        case []:
            gets = "It gets no gradient."
        case [gradient]:
            gets = f"Its gradient is {gradient}."
        case _:
            gets = f"Its gradients are {listed(given)}."
    thread = f" It runs on PyTorch's thread {event.thread}." if event.thread not in ("", "caller") else ""
    runs_now, more = f"{node} runs", f"{gets}{thread}{_graph_of(trace, event)}"
    if is_unseen(trace.header, ev.NodeQueued):
        claims = LaterClaims(lambda: runs(trace, event.seq, [event.node]))
        return Statement("Node runs", f"{runs_now}. {more}", claims)
    return why_before_others(trace, event, queue_at(trace, event), runs_now, more)


def _graph_of(trace: Trace, event: ev.NodeStarted) -> str:
    """The compiled graph that a Node runs, with a space before; empty for most Nodes."""
    region = region_of_node(trace, event.node, event.seq)
    return "" if region is None else f" It runs the backward graph of {region_title(region)}."


def why_before_others(trace: Trace, event: ev.NodeStarted, queue: Queue, runs_now: str, more: str = "") -> Statement:
    """Explain why a Node runs before the other ready Nodes."""
    backward, device = backward_around(trace, event.seq), queue_device(event.device)
    claims = LaterClaims(lambda: (*runs(trace, event.seq, [event.node]), *_before(trace, event, backward)))
    if not queue.number(device):
        where = f" in the queue of {device}" if len(queue) else ""
        text = f"{runs_now} because it is the only Node that is ready{where}. {more}"
        return Statement("Node runs, no other waits", text, claims)
    depth = 0 if backward is None else backward.event.depth
    if not queue.number(device, depth):
        text = (
            f"{runs_now} because it belongs to the inner (reentrant) backward pass, which goes first regardless of "
            f"sequence numbers ({_waiting(trace, queue, event, 0)}). {more}"
        )
        return Statement("Node of the inner pass runs", text, claims)
    wait = _waiting(trace, queue, event, depth)
    if queue.has(device, depth, event.sequence_nr):
        text = (
            f"{runs_now} because no ready Node has a larger sequence number ({wait}). Among equal numbers, the order "
            f"in the heap decides. {more}"
        )
        return Statement("Node runs, equals wait", text, claims)
    if event.sequence_nr == NO_NUMBER:
        text = f"{runs_now} because every AccumulateGrad has the largest sequence number ({wait}). {more}"
        return Statement("AccumulateGrad runs before others", text, claims)
    text = (
        f"{runs_now} because it has the largest sequence number of the ready Nodes, {event.sequence_nr} ({wait}). "
        f"{more}"
    )
    return Statement("Node of the largest number runs", text, claims)


def _waiting(trace: Trace, queue: Queue, event: ev.NodeStarted, depth: int) -> str:
    """The first three Nodes that wait in passes of at least this depth."""
    device = queue_device(event.device)
    number = queue.number(device, depth)
    others = [_numbered(trace, each, event.seq) for each in islice(queue.of(device, depth), 3)]
    said = "; ".join(others) if any(", " in other for other in others) else listed(others)
    more = " and more" if number > 3 else "," if ", " in others[-1] else ""
    return f"{said}{more} {'wait' if number > 1 else 'waits'}"


def _before(trace: Trace, event: ev.NodeStarted, backward: Backward | None) -> Iterator[Claim]:
    """The claims that the Node runs before the Nodes of the same pass that wait in its queue."""
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
            "A Node is ready when a gradient, defined or not, has arrived along every edge into it. A Node that "
            "should not execute gets no input buffer and is never ready.",
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
            "Each device has a queue, and the CPU has one for each calling thread. The innermost (reentrant) backward "
            "pass comes first, then the largest sequence number.",
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
            "If the engine reaches a Node that is not needed, only its tensor pre hooks run and its gradients are "
            "captured.",
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
            "A Node computes the gradients of its inputs from the gradients of its outputs.",
            *apply_function(event.name),
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
