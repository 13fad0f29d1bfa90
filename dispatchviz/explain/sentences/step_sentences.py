"""Why each step happens: one plain sentence (now and then two or three short ones) for every kind of event.

The sentences themselves are in the modules beside this one, a module per group; the rules behind the kinds are in
``event_rules.py``. A new kind of event without a sentence fails the type check here.
"""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences import (
    dispatch_sentences,
    engine_sentences,
    event_groups,
    forward_sentences,
    program_sentences,
    structured_sentences,
    tensor_sentences,
    thread_sentences,
)
from dispatchviz.explain.sentences.rules.event_rules import Rule, rule
from dispatchviz.explain.sentences.statement import Statement, Statements, text_of

__all__ = ["Rule", "rule", "statements", "why_here"]


def why_here(trace: Trace, seq: int) -> str:
    """Why step ``seq`` happens, in the names that the program's variables have at that step."""
    return text_of(statements(trace, seq))


def statements(trace: Trace, seq: int) -> tuple[Statement, ...]:
    """The same, sentence by sentence, each with its kind and with what it states about PyTorch."""
    said = _said(trace, trace[seq])
    return (said,) if isinstance(said, Statement) else said


def _said(trace: Trace, event: ev.AnyEvent) -> Statements:
    if isinstance(event, event_groups.DispatchEvent):  # most steps, and a union is tried member by member
        return dispatch_sentences.why(trace, event)
    if isinstance(event, event_groups.ProgramEvent):
        return program_sentences.why(trace, event)
    if isinstance(event, ev.BindingEntered):
        return program_sentences.why_binding(trace, event)
    if isinstance(event, event_groups.ThreadEvent):
        return thread_sentences.why(trace, event)
    if isinstance(event, event_groups.StructuredEvent):
        return structured_sentences.why(trace, event)
    if isinstance(event, event_groups.TensorEvent):
        return tensor_sentences.why_tensor(trace, event)
    if isinstance(event, event_groups.ForwardEvent):
        return forward_sentences.why(trace, event)
    if isinstance(event, event_groups.EngineEvent):
        return engine_sentences.why(trace, event)
    if isinstance(event, event_groups.RegistrationEvent):
        return program_sentences.why_registration(trace, event)
    if isinstance(event, ev.ErrorRaised):
        return program_sentences.why_error(trace, event)
    if isinstance(event, ev.Unknown):
        text = f"Another version of dispatchviz wrote this step, {event.kind}; this one can only show it as it is."
        return Statement("unknown step", text)
    assert_never(event)
