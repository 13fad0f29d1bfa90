"""Sentences of what happens to tensors."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.keys.key_set import autograd_dispatch_keyset, functorch_transforms_ks, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.errors import inplace_errors
from dispatchviz.explain.keys.key_text import key_names
from dispatchviz.explain.keys.own_numbers import own_shown
from dispatchviz.explain.sentences import requires_grad_sentences, view_sentences
from dispatchviz.explain.sentences.event_groups import TensorEvent
from dispatchviz.explain.sentences.functorch_sentences import why_batched, why_wrapped
from dispatchviz.explain.sentences.inplace_sentences import why_checked
from dispatchviz.explain.sentences.sentence_claims import TensorKeys, Version
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import described, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed, plain_dtype, shaped

_PYTHON = raw(DispatchKey.Python)
_WRAPPERS = functorch_transforms_ks | raw(DispatchKey.Functionalize)


def why_tensor(trace: Trace, event: TensorEvent) -> Statements:
    """What happens to a tensor here, and why."""
    match event:
        case ev.TensorCreated():
            return _created(trace, event)
        case ev.ViewMade():
            return view_sentences.why_made(trace, event)
        case ev.VersionBumped():
            return _bumped(trace, event)
        case ev.GeometryChanged(dtype=dtype) if dtype:
            return _taken_over(trace, event)
        case ev.GeometryChanged():
            text = (
                f"{tensor_name(trace, event.tensor, event.seq)} gets other sizes and strides and stays the same "
                f"tensor: its shape is now {shaped(event.shape)}, its strides are {shaped(event.stride)}."
            )
            return Statement("sizes and strides changed", text)
        case ev.RequiresGradSet():
            return requires_grad_sentences.why_set(trace, event)
        case ev.KeySetChanged():
            return _keys_changed(trace, event)
        case ev.BatchedTensorMade():
            return why_batched(trace, event)
        case ev.TensorWrapperMade():
            return why_wrapped(trace, event)
        case ev.NumbersRecorded():
            return _numbers(trace, event)
        case ev.GradSet():
            return _grad_set(trace, event)
        case ev.InplaceChecked():
            return why_checked(trace, event)
        case _:
            assert_never(event)


def _created(trace: Trace, event: ev.TensorCreated) -> Statement:
    what, claims = described(trace, event.tensor, event.seq), (TensorKeys(event.tensor, event.key_set),)
    name, keys = tensor_name(trace, event.tensor, event.seq), f"{_keys(event.key_set)}."
    if event.how != "new":
        text = f"{name} is first seen here, it was made before: {what}. Its keys: {keys}"
        return Statement("known tensor", text, claims)
    if event.wrapped_number:
        number = f"the Python number {event.value}".rstrip()
        text = f"The operator takes tensors, so {number} is wrapped in one without dimensions: t{event.tensor}, {what}."
        return Statement("wrapped number", text)
    if event.key_set & _WRAPPERS:
        text = f"A tensor that only wraps another one, {name}: {what}. Its keys: {keys}"
        return Statement("wrapper made", text, claims)
    first = f"A new tensor, {name}: {what}."
    end = "" if event.key_set & autograd_dispatch_keyset else " It has no autograd key: it is an inference tensor."
    if index(trace).on_memory_known_before(event):
        text = f"{first} It uses the memory of another tensor. Its keys: {keys}{end}"
        return Statement("tensor on known memory", text, claims)
    if event.storage < 0 or event.key_set & _PYTHON:
        return Statement("tensor without memory", f"{first} Its keys: {keys}{end}", claims)
    text = f"{first} It gets its keys from its device now: {keys}{end}"
    return Statement("tensor made", text, claims)


def _keys(raw: int) -> str:
    return listed(key_names(raw)) or "none"


def _bumped(trace: Trace, event: ev.VersionBumped) -> tuple[Statement, ...]:
    name, coming = tensor_name(trace, event.tensor, event.seq), inplace_errors.warnings(trace, event)
    notice = "." if coming else ", so that a Node which saved it before can detect it."
    text = f"{name} was changed in place: its version goes from {event.before} to {event.after}{notice}"
    return Statement("version bumped", text, (Version(event.tensor, event.after),)), *coming


def _taken_over(trace: Trace, event: ev.GeometryChanged) -> Statement:
    name = tensor_name(trace, event.tensor, event.seq)
    call = around(trace, event.seq, ev.Dispatched)
    if call is not None and call.operator.startswith("aten::set_."):
        text = (
            f"{name} is on the memory that set_ was given, from here on, and stays the same tensor: its sizes are "
            f"{shaped(event.shape)}, its strides {shaped(event.stride)}."
        )
        return Statement("storage set", text)
    text = (
        f"{name} takes over what another tensor is and stays the same tensor: it is {shaped(event.shape)} "
        f"{plain_dtype(event.dtype)} on {event.device} now, its strides are {shaped(event.stride)}."
    )
    return Statement("data taken over", text)


def _numbers(trace: Trace, event: ev.NumbersRecorded) -> Statement:
    name = tensor_name(trace, event.tensor, event.seq)
    if event.numbers:
        waited = " To read them, the recording waited for the GPU; the program by itself does not." * event.waited
        return Statement("numbers recorded", f"{name} holds {event.numbers}.{waited}")
    text = "From here on its numbers are not recorded." if event.written else "Its numbers are not known here."
    return Statement("numbers not recorded", f"{name} has other numbers, or may get them. {text}")


def _grad_set(trace: Trace, event: ev.GradSet) -> Statement:
    name = tensor_name(trace, event.tensor, event.seq)
    if event.result is None:
        text = f"{name} has no .grad from here on: the next gradient that arrives is not added to anything."
        return Statement("grad cleared", text)
    if event.retained:
        text = f"{name} is no leaf, and its gradient would be dropped: retain_grad's hook writes it to {name}.grad."
        return Statement("grad retained", text)
    return Statement("grad assigned", f"The program has given {name} its .grad, t{event.result}; no backward has.")


def _keys_changed(trace: Trace, event: ev.KeySetChanged) -> Statement:
    gained, lost = event.after & ~event.before, event.before & ~event.after
    changes = [f"gains {listed(_added(event.after, event.before))}"] if gained else []
    changes += [f"loses {listed(_added(event.before, event.after))}"] if lost else []
    name = tensor_name(trace, event.tensor, event.seq)
    call = around(trace, event.seq, ev.Dispatched)
    by = f" by {call.operator}" if call else ""
    changes.append(f"is now {own_shown(trace.header, event.after)}")
    text = f"The key set of {name} is changed{by}: it {listed(changes)}."
    return Statement("keys changed", text, (TensorKeys(event.tensor, event.after),))


def _added(after: int, before: int) -> list[str]:
    known = set(key_names(before))
    return [name for name in key_names(after) if name not in known]
