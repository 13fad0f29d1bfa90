"""``torch.autograd.Function``."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.kind import Kind, Rule, unseen
from dispatchviz.explain.sentences import view_sentences
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.trace_index import index


def _function_output_label(trace: Trace, event: ev.FunctionOutput) -> str:
    result = tensor_name(trace, event.result, event.seq)
    return f"output {event.position} is {result}{'' if event.how == 'plain' else f' ({event.how})'}"


def _entered(event: ev.FunctionEntered) -> Statement:
    """The reason why the forward runs as it does."""
    setup = " It gets no ctx. setup_context gets the ctx when the forward is done." if event.setup_context else ""
    runs = f"{event.function}'s forward runs."
    if event.recorded:
        reason = "Its Node exists already and has its edges, so grad mode is off inside."
        return Statement("Function recorded", f"{runs} {reason}{setup}")
    reason = (
        "No tensor argument requires grad, or grad mode is off, so its Node has no edges and no output leads to it. "
        "Grad mode is off inside."
    )
    return Statement("Function not recorded", f"{runs} {reason}{setup}")


def _output(trace: Trace, event: ev.FunctionOutput) -> Statements:
    """Name the tensor that the caller gets and why, and when in-place operations on it raise an error."""
    first = _returned(trace, event)
    limit = _limit(trace, event)
    return first if limit is None else (first, limit)


def _returned(trace: Trace, event: ev.FunctionOutput) -> Statement:
    returned, result = (tensor_name(trace, tensor, event.seq) for tensor in (event.returned, event.result))
    node = node_title(trace, event.node, event.seq)
    gets_grad = (RequiresGrad(event.result, requires_grad=True),)
    match event.how:
        case "set":
            return Statement("output of a Function", f"{result} is a new tensor, so its grad_fn is {node}.", gets_grad)
        case "rebased":
            text = (
                f"The forward wrote to its input {result} and marked it as dirty (mark_dirty). The history of {result} "
                f"is rebased onto the Function's Node, {node}, as after any in-place operation."
            )
            return Statement("dirty input returned", text, gets_grad)
        case "viewed":
            text = (
                f"The forward returned its input {returned} unchanged. The input must keep its own history, so the "
                f"caller gets {result}, a view of it."
            )
            return Statement("input returned as a view", text)
        case "detached":
            text = (
                f"{returned} is an input that requires grad, but this output has no gradient. The caller gets "
                f"{result}, which shares the memory of {returned} and has no history."
            )
            return Statement("input returned detached", text, (RequiresGrad(event.result, requires_grad=False),))
        case "detached in place":
            text = f"{result} requires grad, but this output has no gradient, so it is detached from its history."
            return Statement("output detached", text, (RequiresGrad(event.result, requires_grad=False),))
        case _:
            return _plain(event, returned, result)


def _plain(event: ev.FunctionOutput, returned: str, result: str) -> Statement:
    if event.marked == "non-differentiable":
        text = f"{returned} was marked as non-differentiable, so the Function gives it no history."
        return Statement("non-differentiable output", text)
    return Statement(
        "plain output of a Function", (f"{result} is returned unchanged, and the Function gives it no history.")
    )


_LIMITS = {
    "MULTI_OUTPUT_NODE": "It is one of several views that the forward returned",
    "IN_CUSTOM_FUNCTION": "It is a view, and writing to it would bypass the Function's backward",
    "NO_GRAD_MODE": "It is a view that was made while grad mode was off",
    "INFERENCE_MODE": "It is a view that was made in inference mode",
}


def _limit(trace: Trace, event: ev.FunctionOutput) -> Statement | None:
    reason, view = _LIMITS.get(event.creation_meta), index(trace).views.get(event.result)
    if reason is None or view is None:
        return None
    claims = view_sentences.raising_writes(trace, event.result, view.base, event.creation_meta, event.seq)
    if index(trace).grad_needed(event.result, event.seq):
        text = f"{reason}, so an in-place operation on it raises an error while grad mode is on."
        return Statement("write to the output raises", text, claims)
    text = f"{reason}, so an in-place operation that would make it require grad raises an error while grad mode is on."
    return Statement("write to the output raises once it requires grad", text, claims)


FUNCTION_KINDS = Kind(
    ev.FunctionEntered,
    group="forward",
    label=lambda trace, event: f"{event.function}.apply{'' if event.recorded else ', not recorded'}",
    why=lambda trace, event: _entered(event),
    rule=Rule(
        "A Function's forward runs without grad mode, because its Node represents all of it in the graph.",
        "THPFunction_apply",
        "torch/csrc/autograd/python_function.cpp",
    ),
    known=unseen("of Function.apply only the lines of forward are seen"),
    level="calls",
    panes=("source", "calls"),
    reason_in_log="always",
) | Kind(
    ev.FunctionOutput,
    group="forward",
    label=_function_output_label,
    why=_output,
    rule=Rule(
        "An output that is a dirty input is rebased. An input that is returned unchanged becomes a view. A "
        "non-differentiable output is detached. Every other output gets the Function's Node as its grad_fn.",
        "torch::autograd::_wrap_outputs",
        "torch/csrc/autograd/custom_function.cpp",
    ),
    known=unseen("of Function.apply only the lines of forward are seen"),
    panes=("backward graph", "source"),
    reason_in_log="always",
)
