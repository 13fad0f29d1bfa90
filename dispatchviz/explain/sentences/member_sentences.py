"""Sentences of Nodes' members that are set apart from their making: numbers, metadata, hooks."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.node.node_hooks import registration
from dispatchviz.explain.sentences.event_groups import MemberEvent
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import node_title, tensor_name
from dispatchviz.foundation.english import capital


def why(trace: Trace, event: MemberEvent) -> Statement:
    """What is set, and what it is for."""
    match event:
        case ev.SequenceNumberSet():
            return _number(trace, event)
        case ev.UndefinedInputAdded():
            return _undefined(trace, event)
        case ev.StackStored():
            return _stack(trace, event)
        case ev.ParentAssigned():
            return _parent(trace, event)
        case ev.HookRegistered():
            return _registered(trace, event)
        case ev.HookRemoved():
            return _removed(trace, event)
        case _:
            assert_never(event)


def _number(trace: Trace, event: ev.SequenceNumberSet) -> Statement:
    node = node_title(trace, event.node, event.seq)
    turn = "sooner" if event.sequence_nr > event.before else "later"
    if event.sequence_nr == event.before:
        text = f"{capital(node)} is given the sequence number that it has, {event.before}."
        return Statement("same sequence number", text)
    text = (
        f"{capital(node)} has the sequence number {event.sequence_nr} from here on, before it was {event.before}: "
        f"among Nodes that are ready at the same time its turn comes {turn}."
    )
    return Statement("sequence number set", text)


def _undefined(trace: Trace, event: ev.UndefinedInputAdded) -> Statement:
    text = (
        f"Input {event.input_nr} of {node_title(trace, event.node, event.seq)} is a placeholder, for an output that is "
        "undefined, None in Python: no gradient arrives there."
    )
    return Statement("undefined input", text)


def _stack(trace: Trace, event: ev.StackStored) -> Statement:
    node = node_title(trace, event.node, event.seq)
    place = event.frame.strip().splitlines()
    made = f", {place[0]}" if place else ""
    text = f"Anomaly mode is on: {node} keeps in its metadata the Python stack that makes it{made}."
    return Statement("stack stored", text)


def _parent(trace: Trace, event: ev.ParentAssigned) -> Statement:
    node, parent = node_title(trace, event.node, event.seq), node_title(trace, event.parent_node, event.seq)
    text = (
        f"{capital(node)} is made while {parent} is evaluated: in anomaly mode its metadata keeps that as its parent, "
        "so that an error in it can be told back to the first forward."
    )
    return Statement("parent assigned", text)


_WHEN: dict[ev.HookKind, str] = {
    "tensor pre hook": "It gets the gradient of {tensor} when that is complete, and may replace it.",
    "retains-grad hook": "It writes the gradient of {tensor}, as the tensor pre hooks leave it, to {tensor}.grad.",
    "pre hook": "It gets all gradients that arrive at the Node before the Node runs, and may replace them.",
    "post hook": "It gets what the Node returned and what it was given, and may replace what it returned.",
    "post-accumulate hook": "It gets {tensor} itself once {tensor}.grad is written, and must return None.",
}
"""When a hook of each kind is called, and with what."""


def _registered(trace: Trace, event: ev.HookRegistered) -> Statement:
    tensor = "the tensor" if event.tensor is None else tensor_name(trace, event.tensor, event.seq)
    named = () if event.tensor is None else (tensor,)
    keeper = tensor if event.node is None else node_title(trace, event.node, event.seq)
    if event.moved:
        text = (
            f"{capital(tensor, named)} has another grad_fn, {keeper}, and its retains-grad hook goes along: "
            f"{tensor}.grad will be the gradient of what it holds now. Its tensor pre hooks stay with the Node before."
        )
        return Statement("retains-grad hook moved", text)
    text = f"{capital(keeper, named)} keeps a {event.kind}, {event.function}. {_WHEN[event.kind].format(tensor=tensor)}"
    return Statement("hook registered", text)


def _removed(trace: Trace, event: ev.HookRemoved) -> Statement:
    hook = registration(trace, event.hook)
    what = f"The {hook.kind} {hook.function}" if hook else "A hook"
    text = f"{what} is removed: its handle was told to."
    return Statement("hook removed", text)
