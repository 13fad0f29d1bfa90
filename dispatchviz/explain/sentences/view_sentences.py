"""Sentences on views: the memory that they share, and the writes that are refused."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.sentence_claims import View, WriteRaises
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.trace_index import index

_CREATED = {
    "MULTI_OUTPUT_NODE": "It is one of several views that one call created",
    "NO_GRAD_MODE": "It was created while grad mode was off",
    "INFERENCE_MODE": "It was created in inference mode",
    "IN_CUSTOM_FUNCTION": "It is a view of a Function's output",
}
"""The way in which a view with a creation meta other than ``DEFAULT`` was created."""

_MESSAGES = {
    "MULTI_OUTPUT_NODE": "This view is the output of a function that returns multiple views.",
    "NO_GRAD_MODE": "was created in no_grad mode and is being modified inplace with grad mode enabled.",
    "INFERENCE_MODE": "was created in inference mode and is being modified inplace in normal mode.",
    "IN_CUSTOM_FUNCTION": "This view was created inside a custom Function (or because an input was returned as-is)",
}
"""A part of PyTorch's error message for a write to the view, which no other message has."""


def why_made(trace: Trace, event: ev.ViewMade) -> Statements:
    """The base of a view, and the writes that raise an error."""
    name, base = (tensor_name(trace, tensor, event.seq) for tensor in (event.tensor, event.base))
    made = index(trace).tensors.get(event.tensor)
    memory = "storage" if made is not None and made.storage < 0 else "memory"
    text = f"{name} is a view of its base, {base}, and shares the {memory} of {base}."
    first = Statement("view made", text, (View(event.tensor, event.base),))
    settled_later = event.seq < index(trace).function_outputs.get(event.tensor, -1)
    if event.creation_meta == "DEFAULT" or settled_later or not _can_require_grad(trace, event.tensor):
        return first
    return first, _limit(trace, event)


def _limit(trace: Trace, event: ev.ViewMade) -> Statement:
    made = _CREATED.get(event.creation_meta, event.creation_meta)
    claims = raising_writes(trace, event.tensor, event.base, event.creation_meta, event.seq)
    if index(trace).grad_needed(event.base, event.seq):
        text = f"{made}, so writing to it in place raises an error while grad mode is on."
        return Statement("write to the view raises", text, claims)
    text = (
        f"{made}. While grad mode is on, writing to it in place raises an error once its base, or the written tensor, "
        "requires grad."
    )
    return Statement("write that requires grad raises", text, claims)


def _can_require_grad(trace: Trace, tensor: int) -> bool:
    """Return whether a tensor can require grad: integers and bools have no history that a write could invalidate."""
    made = index(trace).tensors.get(tensor)
    return made is None or "float" in made.dtype or "complex" in made.dtype


def raising_writes(trace: Trace, tensor: int, base: int, creation_meta: str, at: int) -> tuple[WriteRaises, ...]:
    """The claims about two writes in grad mode: of a number, and of a tensor that requires grad."""
    message = _MESSAGES.get(creation_meta, "")
    plain = message if index(trace).grad_needed(tensor, at) else ""
    return (
        WriteRaises(tensor, plain, value_requires_grad=False),
        WriteRaises(tensor, message, value_requires_grad=True),
    )
