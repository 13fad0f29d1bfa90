"""Sentences of gradients between Nodes: summed to a shape, kept in a buffer, added, captured, written to ``.grad``."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.sentences.engine_claims import pass_number
from dispatchviz.explain.sentences.requested_gradients import tensor_behind
from dispatchviz.explain.sentences.sentence_claims import GradCaptured, GradWritten
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import ordinal, shaped


def why(
    trace: Trace,
    event: ev.GradientReduced | ev.GradientBuffered | ev.GradientAccumulated | ev.GradientCaptured,
) -> Statement:
    """What is done with a gradient, and why."""
    match event:
        case ev.GradientReduced():
            return _reduced(trace, event)
        case ev.GradientBuffered():
            return _buffered(trace, event)
        case ev.GradientAccumulated():
            return _accumulated(trace, event)
        case ev.GradientCaptured():
            return _captured(trace, event)
        case _:
            assert_never(event)


def _reduced(trace: Trace, event: ev.GradientReduced) -> Statement:
    before, after = (tensor_name(trace, tensor, event.seq) for tensor in (event.before, event.after))
    had = index(trace).shape(event.before, event.seq)
    shape = f" has the shape {shaped(had)} and" if had is not None else ""
    text = (
        f"The gradient {before}{shape} goes to an input of the shape {shaped(event.shape)}: as for one that was "
        f"broadcast it is summed to that shape, {after}."
    )
    return Statement("gradient summed to a shape", text)


def _buffered(trace: Trace, event: ev.GradientBuffered) -> Statement:
    gradient = tensor_name(trace, event.tensor, event.seq)
    node = node_title(trace, event.node, event.seq)
    place = f"{node}, input {event.input_nr}" if event.input_nr else node
    if event.how == "stored":
        return Statement(
            "gradient stored",
            f"{gradient} is stored in the input buffer of {place}: the first gradient to arrive there.",
        )
    meet = f"Several gradients meet at {place}: {gradient} is added"
    if event.how == "added in place":
        return Statement("gradients added in place", f"{meet} in place{_because(event.why)}.")
    return Statement("gradients added out of place", f"{meet} into a new tensor{_because(event.why)}.")


def _accumulated(trace: Trace, event: ev.GradientAccumulated) -> Statement:
    leaf, gradient = tensor_name(trace, event.tensor, event.seq), f"t{event.gradient}"
    because, claims = _because(event.why), _written(trace, event)
    match event.how:
        case "stolen":
            taken = f"is set to the gradient {gradient} without a copy{because}"
            text = f"{leaf}.grad {taken}: t{event.result} shares its memory."
            return Statement("gradient stolen", text, claims)
        case "copied":
            return Statement("gradient copied", f"{leaf}.grad gets a copy of the gradient {gradient}{because}.", claims)
        case "added in place":
            text = f"The gradient {gradient} is added to {leaf}.grad in place{because}."
            return Statement("gradient added to .grad in place", text, claims)
        case _:
            text = f"{leaf}.grad becomes a new tensor, the old one plus the gradient {gradient}{because}."
            return Statement("gradient added to .grad out of place", text, claims)


def _written(trace: Trace, event: ev.GradientAccumulated) -> tuple[GradWritten, ...]:
    node = around(trace, event.seq, ev.NodeStarted)
    if node is None:
        return ()
    return (GradWritten(pass_number(trace, event.seq), node.node, event.how),)


def _captured(trace: Trace, event: ev.GradientCaptured) -> Statement:
    node = node_title(trace, event.node, event.seq)
    place = f"{node}, input {event.input_nr}" if event.input_nr else node
    claims = (GradCaptured(pass_number(trace, event.seq), event.position, event.tensor is not None),)
    nth = ordinal(event.position + 1)
    requested = f"grad() requests the gradient of {tensor_behind(trace, event.node, event.input_nr, event.seq)}"
    if event.tensor is None:
        text = f"{requested}, but what has arrived at {place} is undefined: its {nth} result stays undefined."
        return Statement("nothing captured", text, claims)
    hooks = " as it is before its hooks, since the Node runs as well" if _has_hooks(trace, event) else ""
    name = tensor_name(trace, event.tensor, event.seq)
    text = f"{requested}: {name}, which has arrived at {place}, becomes its {nth} result{hooks}."
    return Statement("gradient captured", text, claims)


def _has_hooks(trace: Trace, event: ev.GradientCaptured) -> bool:
    """Hooks of the captured tensor run after this."""
    later = history(trace).later(event.node, event.seq)
    started = next((e for e in later if isinstance(e, ev.NodeStarted)), None)
    if started is None or started.parent != event.parent:
        return False
    return any(isinstance(e, ev.HookRan) and e.kind == "tensor pre hook" for e in trace.children(started.seq))


def _because(why: str) -> str:
    return f" ({why})" if why else ""
