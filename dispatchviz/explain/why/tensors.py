"""Sentences of what happens to tensors."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.keyset import autograd_dispatch_keyset, functorch_transforms_ks
from dispatchviz.core.trace import Trace
from dispatchviz.explain import versions
from dispatchviz.explain.english import listed, shaped
from dispatchviz.explain.groups import TensorEvent
from dispatchviz.explain.index import index
from dispatchviz.explain.key_words import backend_name, backends, key_names, shown
from dispatchviz.explain.names import described, tensor_name
from dispatchviz.explain.surroundings import around
from dispatchviz.explain.why.functorch import why_batched, why_wrapped

_CREATION = {
    "MULTI_OUTPUT_NODE": "one of several views that one call made",
    "NO_GRAD_MODE": "made while grad mode was off",
    "INFERENCE_MODE": "made in inference mode",
    "IN_CUSTOM_FUNCTION": "made in a custom Function",
}
"""What a creation meta other than ``DEFAULT`` says; with each of them autograd follows no in-place change."""


def why_tensor(trace: Trace, event: TensorEvent) -> str:
    """What happened to a tensor."""
    match event:
        case ev.TensorCreated():
            return _created(trace, event)
        case ev.ViewMade():
            name = tensor_name(trace, event.tensor, event.seq)
            base = tensor_name(trace, event.base, event.seq)
            made = _CREATION.get(event.creation_meta, "")
            limit = f" It was {made}, so autograd does not follow in-place changes through it." if made else ""
            return f"{name} is a view: it shares the memory of {base} and remembers it as its base.{limit}"
        case ev.VersionBumped():
            name, coming = tensor_name(trace, event.tensor, event.seq), versions.warning(trace, event)
            notice = "." if coming else ", so that a Node which saved it before can notice."
            changed = (
                f"The data of {name} changed in place: its version goes from {event.before} to {event.after}{notice}"
            )
            return f"{changed} {coming}".rstrip()
        case ev.GeometryChanged():
            name = tensor_name(trace, event.tensor, event.seq)
            return (
                f"{name} gets another geometry and stays the same tensor: its shape is now "
                f"{shaped(event.shape)}, its strides are {shaped(event.stride)}."
            )
        case ev.RequiresGradSet():
            return _flagged(trace, event)
        case ev.KeySetChanged():
            return _keys_changed(trace, event)
        case ev.BatchedTensorMade():
            return why_batched(trace, event)
        case ev.TensorWrapperMade():
            return why_wrapped(trace, event)
        case _:
            assert_never(event)


def _created(trace: Trace, event: ev.TensorCreated) -> str:
    what = described(trace, event.tensor, event.seq)
    if event.how != "new":
        return f"t{event.tensor} comes into sight here, it was made before: {what}. Its keys: {_keys(event.key_set)}."
    if event.wrapped_number:
        return (
            f"The operator wants tensors, so the Python number becomes one without dimensions: t{event.tensor}, {what}."
        )
    if event.key_set & functorch_transforms_ks:
        return f"A tensor that only wraps another one, t{event.tensor}: {what}. Its keys: {_keys(event.key_set)}."
    first = f"A new tensor, t{event.tensor}: {what}. It gets its keys from its device now: {_keys(event.key_set)}."
    if event.key_set & autograd_dispatch_keyset:
        return first
    return f"{first} It has no autograd key: it is an inference tensor."


def _keys(raw: int) -> str:
    return listed(key_names(raw)) or "none"


def _flagged(trace: Trace, event: ev.RequiresGradSet) -> str:
    name = tensor_name(trace, event.tensor, event.seq)
    made = index(trace).tensors.get(event.tensor)
    if not event.requires_grad:
        before = index(trace).grad_needed(event.tensor, event.seq - 1)
        now = "no longer requires grad" if before else "does not require grad, as before"
        return f"{name} {now}. That is a flag on the tensor: its keys stay as they are."
    keys = ""
    if made is not None and made.key_set & autograd_dispatch_keyset and (found := backends(made.key_set)):
        keys = f"; Autograd{backend_name(found[0])} was among them all along"
    return f"{name} now requires grad. That is a flag on the tensor: its keys stay as they are{keys}."


def _keys_changed(trace: Trace, event: ev.KeySetChanged) -> str:
    gained, lost = event.after & ~event.before, event.before & ~event.after
    changes = [f"gains {listed(_added(event.after, event.before))}, "] if gained else []
    changes += [f"loses {listed(_added(event.before, event.after))}, "] if lost else []
    name = tensor_name(trace, event.tensor, event.seq)
    call = around(trace, event.seq, ev.Dispatched)
    by = f" by {call.operator}" if call else ""
    return f"The key set of {name} is changed{by}: it {''.join(changes)}is now {shown(event.after)}."


def _added(after: int, before: int) -> list[str]:
    known = set(key_names(before))
    return [name for name in key_names(after) if name not in known]
