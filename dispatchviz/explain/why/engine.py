"""Sentences of the engine: how gradients travel back through the Nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.english import counted, listed, shaped
from dispatchviz.explain.groups import EngineEvent
from dispatchviz.explain.names import node_title, plain_node, tensor_name
from dispatchviz.explain.surroundings import around
from dispatchviz.explain.why.forward import NO_NUMBER


def why(trace: Trace, event: EngineEvent) -> str:
    """Why the engine does this now."""
    match event:
        case ev.BackwardStarted():
            return _started(trace, event)
        case ev.DependenciesCounted():
            return _counted(trace, event)
        case ev.DependencyMet() | ev.NodeQueued():
            return _ready(trace, event)
        case ev.NodeStarted():
            return _node(trace, event)
        case ev.NodeFinished():
            return _finished(trace, event)
        case ev.HookRan():
            return _hook(trace, event)
        case ev.AnomalyFound():
            return _anomaly(trace, event)
        case ev.GradientReduced() | ev.GradientBuffered() | ev.GradientAccumulated() | ev.GradientCaptured():
            return _gradient(trace, event)
        case ev.VariablesReleased():
            return (
                f"{node_title(trace, event.node, event.seq)} lets go of the tensors it kept: the graph is not wanted "
                "again (retain_graph is False)."
            )
        case ev.BackwardFinished():
            return "Nothing is left to run: the backward pass is complete."
        case _:
            assert_never(event)


def _hook(trace: Trace, event: ev.HookRan) -> str:
    node = node_title(trace, event.node, event.seq)
    if event.kind == "retains-grad hook":
        return f"The gradient that {node} is about to get is kept as .grad of its tensor: retain_grad() asked for that."
    said = "returns other gradients, which replace the old ones" if event.replaced else "changes nothing"
    return f"A {event.kind} of {node} is called, {event.function}, and {said}."


def _anomaly(trace: Trace, event: ev.AnomalyFound) -> str:
    node = node_title(trace, event.node, event.seq)
    if not event.lines:
        return (
            f"An error came up in {node}. Anomaly mode was off when it was made, so nobody knows which line did that."
        )
    lines = [line.strip() for line in event.lines.strip().splitlines()]
    return f"An error came up in {node}, which was made here: {'; '.join(lines[-2:])}."


def _started(trace: Trace, event: ev.BackwardStarted) -> str:
    roots = listed([node_title(trace, node, event.seq) for node, _ in dict.fromkeys(event.roots)])
    gradients = [tensor_name(trace, tensor, event.seq) for tensor in event.gradients if tensor is not None]
    given = f", with {_gradients(gradients)}" if gradients else ""
    aim = (
        "writes .grad of the leaves"
        if event.accumulate
        else "hands the gradients to the caller instead of writing .grad"
    )
    recorded = " The backward pass is itself recorded (create_graph=True)." if event.create_graph else ""
    nested = " It was started in the middle of another backward pass, which waits." if event.depth else ""
    return f"The engine starts at {roots}{given}, and {aim}.{recorded}{nested}"


def _counted(trace: Trace, event: ev.DependenciesCounted) -> str:
    if not event.counts:
        return "Before anything runs the engine counts the edges into each Node: there is only the first one here."
    several = [f"{node_title(trace, node, event.seq)} has {number}" for node, number in event.counts[:4]]
    more = f" and {len(event.counts) - 4} more Nodes have theirs" if len(event.counts) > 4 else ""
    return (
        f"Before anything runs the engine counts the edges into each Node: {', '.join(several)}{more}. A Node waits "
        "until that many gradients have come."
    )


def _ready(trace: Trace, event: ev.DependencyMet | ev.NodeQueued) -> str:
    node = node_title(trace, event.node, event.seq)
    if isinstance(event, ev.DependencyMet):
        edges = _edges_into(trace, event)
        if event.left:
            of = f" of {edges}" if edges else ""
            return f"A gradient has come for {node}: it waits for {counted(event.left, 'more gradient')}{of}."
        has = f"all {counted(edges, 'gradient')}" if edges > 1 else "all"
        one = ", since one edge leads to it" if edges == 1 else ""
        return f"A gradient has come for {node}: it has {has} it waits for{one}. Its count is zero: it is ready."
    others = [node_title(trace, other, event.seq) for other, _ in event.queue if other != event.node]
    if not others:
        return f"{node} is ready and goes into the queue of {event.device}; nothing else waits there."
    line = [f"{node_title(trace, other, event.seq)}{_numbered(number)}" for other, number in event.queue[:5]]
    return f"{node} is ready and joins the queue of {event.device}, largest number first: {', '.join(line)}."


def _edges_into(trace: Trace, event: ev.DependencyMet) -> int:
    """How many edges the engine counted into a Node; 0 if the trace does not say."""
    backward = around(trace, event.seq, ev.BackwardStarted)
    if backward is None:
        return 0
    counted = next((e for e in trace[backward.seq :] if isinstance(e, ev.DependenciesCounted)), None)
    return dict(counted.counts).get(event.node, 0) if counted else 0


def _numbered(number: int) -> str:
    return "" if number == NO_NUMBER else f" #{number}"


def _node(trace: Trace, event: ev.NodeStarted) -> str:
    node = node_title(trace, event.node, event.seq)
    given = [tensor_name(trace, tensor, event.seq) for tensor in event.gradients if tensor is not None]
    with_ = f"with {_gradients(given)}" if given else "without any gradient"
    if plain_node(event.name) == "GraphRoot":
        return f"{node} runs first: it hands each starting point its gradient."
    thread = f", on PyTorch's thread {event.thread}" if event.thread not in ("", "caller") else ""
    return f"{node} runs {with_}{thread}: {_turn(trace, event)}."


def _gradients(names: list[str]) -> str:
    return f"the gradient{'s' if len(names) > 1 else ''} {listed(names)}"


def _turn(trace: Trace, event: ev.NodeStarted) -> str:
    """Why it is this Node's turn."""
    if not event.waiting:
        return "no other Node is ready"
    others = [f"{node_title(trace, node, event.seq)}{_numbered(number)}" for node, number in event.waiting]
    wait = f"{listed(others[:3])}{' and more' if len(others) > 3 else ''} {'wait' if len(others) > 1 else 'waits'}"
    if any(number > event.sequence_nr for _, number in event.waiting):
        return f"it belongs to the inner backward pass, which goes first whatever the numbers ({wait})"
    if any(number == event.sequence_nr for _, number in event.waiting):
        return f"no ready Node has a larger number ({wait}; between equals the order inside the queue decides)"
    if event.sequence_nr == NO_NUMBER:
        return f"an AccumulateGrad comes before all others that are ready ({wait})"
    return f"of the ready Nodes it has the largest sequence number, {event.sequence_nr} ({wait})"


def _finished(trace: Trace, event: ev.NodeFinished) -> str:
    node = node_title(trace, event.node, event.seq)
    if not event.gradients:
        return f"{node} is done. Nothing goes on from it."
    return f"{node} is done and hands back {_outgoing(trace, event.gradients, event.seq)}."


def _outgoing(trace: Trace, gradients: Sequence[int | None], at: int) -> str:
    names = ["nothing" if tensor is None else tensor_name(trace, tensor, at) for tensor in gradients]
    if len(names) == 1:
        return names[0]
    return listed([f"{name} for edge {position}" for position, name in enumerate(names)])


def _gradient(
    trace: Trace,
    event: ev.GradientReduced | ev.GradientBuffered | ev.GradientAccumulated | ev.GradientCaptured,
) -> str:
    match event:
        case ev.GradientReduced():
            return (
                f"The forward input had the shape {shaped(event.shape)} and was broadcast, so its gradient "
                f"{tensor_name(trace, event.before, event.seq)} is summed to that shape: "
                f"{tensor_name(trace, event.after, event.seq)}."
            )
        case ev.GradientBuffered():
            return _buffered(trace, event)
        case ev.GradientAccumulated():
            return _accumulated(trace, event)
        case ev.GradientCaptured():
            what = "no gradient" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
            node = node_title(trace, event.node, event.seq)
            place = f"{node}, input {event.input_nr}" if event.input_nr else node
            return f"grad() asked for what arrives at {place}: {what} becomes result {event.position}."
        case _:
            assert_never(event)


def _buffered(trace: Trace, event: ev.GradientBuffered) -> str:
    gradient = tensor_name(trace, event.tensor, event.seq)
    node = node_title(trace, event.node, event.seq)
    place = f"{node}, input {event.input_nr}" if event.input_nr else node
    if event.how == "stored":
        return f"{gradient} is kept for {place}: the first gradient to come there."
    place_how = "in place" if event.how == "added in place" else "into a new tensor"
    return f"Several gradients meet at {place}: {gradient} is added {place_how}{_because(event.why)}."


def _accumulated(trace: Trace, event: ev.GradientAccumulated) -> str:
    leaf = tensor_name(trace, event.tensor, event.seq)
    gradient = f"t{event.gradient}"
    because = _because(event.why)
    match event.how:
        case "stolen":
            return f"{leaf}.grad takes the gradient {gradient} over as it is, without a copy{because}."
        case "copied":
            return f"{leaf}.grad gets a copy of the gradient {gradient}{because}."
        case "added in place":
            return f"The gradient {gradient} is added to {leaf}.grad in place{because}."
        case _:
            return f"{leaf}.grad becomes a new tensor, the old one plus the gradient {gradient}{because}."


def _because(why: str) -> str:
    return f" ({why})" if why else ""
