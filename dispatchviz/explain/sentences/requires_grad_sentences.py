"""Sentences on the flag ``requires_grad``, and on ``detach_``, which also removes the history."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph import inplace_errors
from dispatchviz.explain.keys.key_text import backend_name, backends
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.explain.trace_index.trace_index import index


def why_set(trace: Trace, event: ev.RequiresGradSet) -> Statements:
    """The flag before and after the step."""
    if event.detached:
        return _detached(trace, event), *inplace_errors.warnings(trace, event)
    name, flag = tensor_name(trace, event.tensor, event.seq), "Its keys stay as they are"
    known = index(trace)
    before, after = (known.grad_needed(event.tensor, at) for at in (event.seq - 1, event.seq))
    claims = (RequiresGrad(event.tensor, after),)
    if event.requires_grad:
        now = "requires grad, as before" if before else "now requires grad"
        return Statement("requires_grad on", f"{name} {now}. {flag}{_all_along(trace, event)}.", claims)
    if after:
        text = (
            f"The flag of {name} is now False, but {name} still requires grad, because it is a view of a tensor that "
            "does."
        )
        return Statement("requires_grad of a view off", text, claims)
    now = "no longer requires grad" if before else "does not require grad, as before"
    return Statement("requires_grad off", f"{name} {now}. {flag}.", claims)


def _all_along(trace: Trace, event: ev.RequiresGradSet) -> str:
    made = index(trace).tensors.get(event.tensor)
    if made is None or not made.key_set & autograd_dispatch_keyset or not (found := backends(made.key_set)):
        return ""
    return f": Autograd{backend_name(found[0])} was among them all along"


def _detached(trace: Trace, event: ev.RequiresGradSet) -> Statement:
    name, claims = tensor_name(trace, event.tensor, event.seq), (RequiresGrad(event.tensor, requires_grad=False),)
    old = index(trace).history(event.tensor, event.seq - 1)
    if old is None:
        return Statement(
            "flag off by detach_", f"{name} no longer requires grad, because detach_ sets its flag to False.", claims
        )
    node = node_title(trace, old, event.seq)
    text = f"{name} loses its history and is now a leaf. {node} is no longer its grad_fn."
    return Statement("history removed", text, claims)
