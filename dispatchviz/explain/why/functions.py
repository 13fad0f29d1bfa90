"""Sentences of ``torch.autograd.Function``: its forward, and what becomes of what that returned."""

from __future__ import annotations

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.names import node_title, tensor_name

_WRITING = {
    "MULTI_OUTPUT_NODE": "It is one of several views, so writing to it will be refused.",
    "IN_CUSTOM_FUNCTION": "It is a view, and writing to it will be refused: the Function's backward would be lost.",
}


def entered(event: ev.FunctionEntered) -> str:
    """Why the forward runs as it does."""
    setup = " It gets no ctx; setup_context gets one when it is done." if event.setup_context else ""
    if event.recorded:
        reason = "The Node was made and has its edges: its backward is the whole history, so grad mode is off inside."
    else:
        reason = (
            "Nothing here requires grad, or grad mode is off: the Node has no edges, and no output will lead to it."
        )
    return f"{event.function}'s forward runs. {reason}{setup}"


def output(trace: Trace, event: ev.FunctionOutput) -> str:
    """What the caller gets, and why."""
    returned = tensor_name(trace, event.returned, event.seq)
    sentence = _HOW.get(event.how, _HOW["plain"]).format(
        returned=returned,
        result=tensor_name(trace, event.result, event.seq),
        node=node_title(trace, event.node, event.seq),
    )
    if event.how == "plain" and event.marked == "non-differentiable":
        sentence = f"{returned} was marked as non-differentiable: it gets no history."
    return " ".join((sentence, _WRITING.get(event.creation_meta, ""))).strip()


_HOW = {
    "set": "{result} is new: its grad_fn is {node}.",
    "rebased": (
        "{result} is an input that the forward says it wrote to (mark_dirty): the Function's Node, {node}, goes on top "
        "of its history, as after any in-place operation."
    ),
    "viewed": (
        "The forward returned its input {returned} as it is. The input must keep its own history, so the caller gets "
        "{result}, a view of it."
    ),
    "detached": (
        "{returned} is an input that requires grad, and this output has no gradient: the caller gets {result}, the "
        "same memory without history."
    ),
    "detached in place": "{result} requires grad, and this output has no gradient: its history is cut off.",
    "plain": "{result} comes out as it is, without a history.",
}
