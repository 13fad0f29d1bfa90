"""Sentences of the forward side of autograd; Nodes, histories and saved variables have modules of their own."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences import (
    deletion_sentences,
    function_sentences,
    history_sentences,
    member_sentences,
    node_sentences,
    saved_variable_sentences,
    tangent_sentences,
)
from dispatchviz.explain.sentences.event_groups import ForwardEvent
from dispatchviz.explain.sentences.node_sentences import NO_NUMBER as NO_NUMBER
from dispatchviz.explain.sentences.sentence_claims import RequiresGrad
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import arguments
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import listed


def why(trace: Trace, event: ForwardEvent) -> Statements:
    """Why autograd records this."""
    match event:
        case ev.NodeCreated():
            return node_sentences.why_made(trace, event)
        case ev.EdgesCollected():
            return node_sentences.why_edges(trace, event)
        case ev.NodeDeleted():
            return deletion_sentences.why(trace, event)
        case ev.AttributeSaved():
            return saved_variable_sentences.why_attribute(trace, event)
        case ev.VariableSaved():
            return saved_variable_sentences.why_saved(trace, event)
        case ev.VariableNotSaved():
            return saved_variable_sentences.why_not_saved(trace, event)
        case ev.SavedTensorHookRan():
            return saved_variable_sentences.why_hook(trace, event)
        case ev.AccumulatorMade():
            return _accumulator(trace, event)
        case ev.HistorySet():
            return history_sentences.why_set(trace, event)
        case ev.HistoryRebased():
            return history_sentences.why_rebased(trace, event)
        case ev.FunctionEntered():
            return function_sentences.entered(event)
        case ev.FunctionOutput():
            return function_sentences.output(trace, event)
        case ev.NoNodeMade():
            return _no_node(trace, event)
        case ev.DualLevelEntered() | ev.DualLevelLeft() | ev.ForwardFormulaEntered() | ev.TangentSet():
            return tangent_sentences.why(trace, event)
        case (
            ev.SequenceNumberSet()
            | ev.UndefinedInputAdded()
            | ev.StackStored()
            | ev.ParentAssigned()
            | ev.HookRegistered()
            | ev.HookRemoved()
        ):
            return member_sentences.why(trace, event)
        case _:
            assert_never(event)


def _accumulator(trace: Trace, event: ev.AccumulatorMade) -> Statement:
    leaf = tensor_name(trace, event.tensor, event.seq)
    text = (
        f"{leaf} keeps a weak reference to its AccumulateGrad, so that all its uses share it: only the graphs that "
        "lead to it keep it alive."
    )
    return Statement("AccumulateGrad referenced", text)


_ENDS = "The graph of what is computed from it ends there: no backward pass goes on to what was detached."


def _no_node(trace: Trace, event: ev.NoNodeMade) -> Statement:
    """The kernel made no Node: because of grad mode, the inputs, or the operator."""
    match event.why:
        case "no input requires grad":
            return _no_input(trace, event)
        case "never differentiable":
            text = f"{event.operator} is never differentiable, so no Node is made: the kernel only redispatches."
            return Statement("never differentiable", text)
        case "detached":
            return Statement(
                "detached", f"No Node is made: detach returns a tensor without history, on the same memory. {_ENDS}"
            )
        case _:
            text = "Grad mode is off, so no Node is made: the kernel only redispatches."
            return Statement("grad mode is off", text)


def _no_input(trace: Trace, event: ev.NoNodeMade) -> Statement:
    computed = arguments(trace, event.seq)
    tensors = dict.fromkeys(tensor for _, tensor, _ in computed.arguments) if computed else {}
    if any(index(trace).grad_needed(tensor, event.seq) for tensor in tensors):
        text = f"No input of {event.operator} that has a derivative requires grad: no Node is made."
        return Statement("no differentiable input requires grad", text)
    names = [tensor_name(trace, tensor, event.seq) for tensor in tensors]
    who = f"{names[0]} does not require" if len(names) == 1 else f"None of {listed(names) or 'the inputs'} requires"
    text = f"{who} grad, so {event.operator} is not recorded for backward: no Node is made."
    return Statement("no input requires grad", text, tuple(RequiresGrad(tensor, False) for tensor in tensors))
