"""Sentences of views: whose memory a tensor shares, and when writing to it is refused."""

from __future__ import annotations

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.claims import View, WriteRaises
from dispatchviz.explain.index import index
from dispatchviz.explain.names import tensor_name
from dispatchviz.explain.statement import Said, Statement
from dispatchviz.explain.surroundings import around

_CREATED = {
    "MULTI_OUTPUT_NODE": "one of several views that one call made",
    "NO_GRAD_MODE": "made while grad mode was off",
    "INFERENCE_MODE": "made in inference mode",
    "IN_CUSTOM_FUNCTION": "made in a custom Function",
}
"""What a creation meta other than ``DEFAULT`` says of a view."""

_MESSAGES = {
    "MULTI_OUTPUT_NODE": "This view is the output of a function that returns multiple views.",
    "NO_GRAD_MODE": "was created in no_grad mode and is being modified inplace with grad mode enabled.",
    "INFERENCE_MODE": "was created in inference mode and is being modified inplace in normal mode.",
    "IN_CUSTOM_FUNCTION": "This view was created inside a custom Function (or because an input was returned as-is)",
}
"""What PyTorch's message of such a write has, and that of no other."""


def why_made(trace: Trace, event: ev.ViewMade) -> Said:
    """Its base; and what may not be done with it."""
    name, base = (tensor_name(trace, tensor, event.seq) for tensor in (event.tensor, event.base))
    text = f"{name} is a view: it shares the memory of {base} and remembers it as its base."
    first = Statement("view made", text, (View(event.tensor, event.base),))
    if event.creation_meta == "DEFAULT":
        return first
    return first, _limit(trace, event)


def _limit(trace: Trace, event: ev.ViewMade) -> Statement:
    made = f"It was {_CREATED.get(event.creation_meta, event.creation_meta)}"
    if around(trace, event.seq, ev.FunctionEntered) is not None:
        text = f"{made}, inside a Function's forward: whether it may be written to is settled when the forward is over."
        return Statement("view made in a Function's forward", text)
    claims = refused_writes(trace, event.tensor, event.base, event.creation_meta, event.seq)
    if index(trace).grad_needed(event.base, event.seq):
        text = f"{made}, so writing to it in place raises an error while grad mode is on."
        return Statement("write to the view is refused", text, claims)
    text = (
        f"{made}: while grad mode is on, writing to it in place raises an error as soon as its base, or what is "
        "written, requires grad."
    )
    return Statement("write of what requires grad is refused", text, claims)


def refused_writes(trace: Trace, tensor: int, base: int, creation_meta: str, at: int) -> tuple[WriteRaises, ...]:
    """What a write of a number, and one of a tensor that requires grad, will do while grad mode is on."""
    message = _MESSAGES.get(creation_meta, "")
    plain = message if index(trace).grad_needed(base, at) else ""
    return (
        WriteRaises(tensor, plain, value_requires_grad=False),
        WriteRaises(tensor, message, value_requires_grad=True),
    )
