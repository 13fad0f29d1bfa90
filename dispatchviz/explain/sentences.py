"""Why each step happens: one plain sentence (now and then two or three short ones) for every kind of event.

The sentences themselves are in ``why``, a module per group; the rules behind the kinds are in ``rules.py``. A new kind
of event that nobody wrote a sentence for fails the type check here.
"""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain import groups
from dispatchviz.explain.rules import Rule, rule
from dispatchviz.explain.statement import Said, Statement, text_of
from dispatchviz.explain.why import dispatch, engine, forward, program, structured, tensors, thread

__all__ = ["Rule", "rule", "statements", "why_here"]


def why_here(trace: Trace, seq: int) -> str:
    """Why step ``seq`` happens, in the names that the program's variables have at that step."""
    return text_of(statements(trace, seq))


def statements(trace: Trace, seq: int) -> tuple[Statement, ...]:
    """The same, sentence by sentence, each with its kind and with what it states about PyTorch."""
    said = _said(trace, trace[seq])
    return (said,) if isinstance(said, Statement) else said


def _said(trace: Trace, event: ev.AnyEvent) -> Said:
    if isinstance(event, groups.ProgramEvent):
        return program.why(trace, event)
    if isinstance(event, ev.BindingEntered):
        return program.why_binding(trace, event)
    if isinstance(event, groups.DispatchEvent):
        return dispatch.why(trace, event)
    if isinstance(event, groups.ThreadEvent):
        return thread.why(trace, event)
    if isinstance(event, groups.StructuredEvent):
        return structured.why(trace, event)
    if isinstance(event, groups.TensorEvent):
        return tensors.why_tensor(trace, event)
    if isinstance(event, groups.ForwardEvent):
        return forward.why(trace, event)
    if isinstance(event, groups.EngineEvent):
        return engine.why(trace, event)
    if isinstance(event, groups.RegistrationEvent):
        return program.why_registration(event)
    if isinstance(event, ev.ErrorRaised):
        return program.why_error(trace, event)
    if isinstance(event, ev.Unknown):
        text = f"Another version of dispatchviz wrote this step, {event.kind}; this one can only show it as it is."
        return Statement("unknown step", text)
    assert_never(event)
