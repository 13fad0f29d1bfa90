"""The verdict of ``check_inplace``, whether it raises an error or not."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.sentence_claims import WriteRaises
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name

_REASONS: dict[ev.InplaceVerdict, str] = {
    "no argument requires grad": (
        "no argument of the operator that has a derivative requires grad, so no history can become wrong"
    ),
    "grad mode is off": "grad mode is off, so nothing is recorded",
    "it does not require grad": (
        "it does not require grad yet and gets its history from this operator, which has another argument that "
        "requires grad"
    ),
    "it is not a leaf": "it has a grad_fn, and its history will be rebased onto the Node of this operator",
    "view whose creation_meta forbids it": ("it is a view whose creation_meta is not DEFAULT, which forbids the write"),
    "view of a leaf that requires grad": (
        "it is a view of a leaf that requires grad, whose memory would be written to as well"
    ),
    "leaf that requires grad": (
        "it is a leaf that requires grad: after the write it would have a grad_fn and no longer be a leaf"
    ),
}
"""The reason why a tensor may be written to, or not."""

_MESSAGES: dict[ev.InplaceVerdict, str] = {
    "view of a leaf that requires grad": "a view of a leaf Variable that requires grad",
    "leaf that requires grad": "a leaf Variable that requires grad",
}
"""The text that the error contains."""


def why_checked(trace: Trace, event: ev.InplaceChecked) -> Statement:
    """The verdict of the check, with its reason."""
    name = tensor_name(trace, event.tensor, event.seq)
    if not event.allowed:
        message = _MESSAGES.get(event.why)
        claims = (WriteRaises(event.tensor, message),) if message else ()
        text = f"check_inplace refuses the in-place write to {name}, because {_REASONS[event.why]}."
        return Statement("in-place write refused", text, claims)
    text = f"check_inplace allows the in-place write to {name}, because {_REASONS[event.why]}."
    return Statement("in-place write allowed", text)
