"""The way of gradients: into input buffers, ``.grad`` and results."""

from __future__ import annotations

from dispatchviz.core.autograd.graph.accumulation_reasons import OLD_REASONS
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.graph_history import history
from dispatchviz.explain.kinds.kind import Kind, Known, Rule, unseen
from dispatchviz.explain.locations.pytorch_locations import ENGINE
from dispatchviz.explain.sentences.engine_claims import pass_number, tensor_behind
from dispatchviz.explain.sentences.sentence_claims import GradCaptured, GradWritten
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import grad_name, node_title, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import ordinal, shaped


def _reduced_label(trace: Trace, event: ev.GradientReduced) -> str:
    return f"{tensor_name(trace, event.before, event.seq)} summed to {shaped(event.shape)}"


def _buffered_label(trace: Trace, event: ev.GradientBuffered) -> str:
    tensor, node = tensor_name(trace, event.tensor, event.seq), node_title(trace, event.node, event.seq)
    return f"{tensor} for {node} ({event.how})"


def _reduced(trace: Trace, event: ev.GradientReduced) -> Statement:
    before, after = (tensor_name(trace, tensor, event.seq) for tensor in (event.before, event.after))
    had = index(trace).shape(event.before, event.seq)
    shape = f" has the shape {shaped(had)} but" if had is not None else ""
    text = (
        f"The gradient {before}{shape} goes to an input of shape {shaped(event.shape)}, so it is summed to that shape: "
        f"{after}."
    )
    return Statement("gradient summed to a shape", text)


def _buffered(trace: Trace, event: ev.GradientBuffered) -> Statement:
    gradient = tensor_name(trace, event.tensor, event.seq)
    node = node_title(trace, event.node, event.seq)
    place = f"{node}, input {event.input_nr}" if event.input_nr else node
    if event.how == "stored":
        return Statement(
            "gradient stored",
            f"{gradient} is stored in the input buffer of {place}. It is the first gradient to arrive there.",
        )
    meet = f"Several gradients meet at {place}, so {gradient} is added"
    if event.how == "added in place":
        return Statement("gradients added in place", f"{meet} in place{_because(event.why)}.")
    return Statement("gradients added out of place", f"{meet} into a new tensor{_because(event.why)}.")


def _accumulated(trace: Trace, event: ev.GradientAccumulated) -> Statement:
    grad, gradient = grad_name(trace, event.tensor, event.seq), f"t{event.gradient}"
    because, claims = _because(event.why), _written(trace, event)
    match event.how:
        case "stolen":
            taken = f"is set to the gradient {gradient} without a copy{because}"
            text = f"{grad} {taken}. t{event.result} shares its memory."
            return Statement("gradient stolen", text, claims)
        case "copied":
            return Statement("gradient copied", f"{grad} gets a copy of the gradient {gradient}{because}.", claims)
        case "added in place":
            text = f"The gradient {gradient} is added to {grad} in place{because}."
            return Statement("gradient added to .grad in place", text, claims)
        case _:
            text = f"{grad} becomes a new tensor: the old one plus the gradient {gradient}{because}."
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
        text = (
            f"{requested}, but the gradient that arrived at {place} is undefined, so its {nth} result stays undefined."
        )
        return Statement("nothing captured", text, claims)
    hooks = " It is captured before its hooks, because the Node runs as well." if _has_hooks(trace, event) else ""
    name = tensor_name(trace, event.tensor, event.seq)
    text = f"{requested}. {name}, which arrived at {place}, becomes its {nth} result.{hooks}"
    return Statement("gradient captured", text, claims)


def _has_hooks(trace: Trace, event: ev.GradientCaptured) -> bool:
    """Return whether hooks of the captured tensor run afterwards."""
    later = history(trace).later(event.node, event.seq)
    started = next((e for e in later if isinstance(e, ev.NodeStarted)), None)
    if started is None or started.parent != event.parent:
        return False
    return any(isinstance(e, ev.HookRan) and e.kind == "tensor pre hook" for e in trace.children(started.seq))


def _because(why: str) -> str:
    return f" ({OLD_REASONS.get(why, why)})" if why else ""


GRADIENT_KINDS = (
    Kind(
        ev.GradientReduced,
        group="engine",
        label=_reduced_label,
        why=_reduced,
        rule=Rule(
            "The gradient of a broadcast input is summed back to the input's shape.",
            "torch::autograd::validate_outputs",
            ENGINE,
        ),
        known=unseen("a sum to an input's size appears as a call"),
        reason_in_log="always",
    )
    | Kind(
        ev.GradientBuffered,
        group="engine",
        label=_buffered_label,
        why=_buffered,
        rule=Rule(
            "Gradients that meet at one input of a Node are summed before the Node runs. The sum is in place if grad "
            "mode is off and the first gradient is dense, without overlaps, no subclass, and owned by the buffer "
            "alone.",
            "torch::autograd::InputBuffer::add",
            "torch/csrc/autograd/input_buffer.cpp",
        ),
        known=unseen("input buffers show only their sums, as calls between Nodes"),
        panes=("engine", "backward graph"),
        reason_in_log="always",
    )
    | Kind(
        ev.GradientAccumulated,
        group="engine",
        label=lambda trace, event: f"{grad_name(trace, event.tensor, event.seq)} ({event.how})",
        why=_accumulated,
        rule=Rule(
            "The first gradient is stolen (detached, not copied) if grad mode is off, nothing else references it, and "
            "its strides obey the layout contract: the strides of the leaf if it is dense without overlaps, else "
            "contiguous strides. Otherwise it is copied into these strides. Later gradients are added, in place if "
            "grad mode is off.",
            "torch::autograd::AccumulateGrad::accumulateGrad",
            "torch/csrc/autograd/functions/accumulate_grad.h",
        ),
        known=Known(
            "derived", "from .grad before and after the AccumulateGrad", {"gradient": ("observed", "by the pre hook")}
        ),
        level="calls",
        panes=("engine", "backward graph"),
        reason_in_log="always",
    )
    | Kind(
        ev.GradientCaptured,
        group="engine",
        label=lambda trace, event: f"result {event.position} taken at {node_title(trace, event.node, event.seq)}",
        why=_captured,
        rule=Rule(
            "grad() captures a gradient from the input buffer of the Node where it arrives. It does so before the "
            "tensor pre hooks if the Node runs as well, and after them otherwise.",
            "torch::autograd::Engine::evaluate_function",
            ENGINE,
        ),
        known=unseen("the results of grad() are taken from the input buffers"),
        panes=("engine", "backward graph"),
    )
)
