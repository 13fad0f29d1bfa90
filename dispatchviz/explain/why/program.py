"""Sentences of the program itself: its lines, names, output, errors; its calls; registrations."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core import events as ev
from dispatchviz.core.trace import Trace
from dispatchviz.explain.broken_rules import broken_rule
from dispatchviz.explain.calls import call_text
from dispatchviz.explain.english import counted, listed, ordinal, shortened
from dispatchviz.explain.groups import ProgramEvent, RegistrationEvent
from dispatchviz.explain.names import described
from dispatchviz.explain.surroundings import around, caller, source_text
from dispatchviz.explain.versions import refusal

_WIDTH = 240


def why(trace: Trace, event: ProgramEvent) -> str:
    """What the program did."""
    match event:
        case ev.SourceLine():
            text = source_text(trace, event)
            return f"The program reaches line {event.line}{f': {text}' if text else f' of {event.file}'}"
        case ev.NameBound():
            return f"{event.name} now names t{event.tensor}, {described(trace, event.tensor, event.seq) or 'a tensor'}."
        case ev.Printed():
            return f"The program printed: {shortened(event.text, _WIDTH)}"
        case ev.ProgramRaised():
            where = f" at line {event.line}" if event.line else ""
            return f"{event.exception} ended the program{where}: {shortened(event.message, _WIDTH)}"
        case _:
            assert_never(event)


def why_binding(trace: Trace, event: ev.BindingEntered) -> str:
    """How a call came in from Python."""
    operator = _operator(trace, event)
    leads = f"; it leads to the operator {operator}" if operator else ""
    first = f"Python calls {call_text(trace, event)}, which enters PyTorch as {event.pytorch_function}."
    if not event.signature:
        return f"{first}{leads.replace('; it', ' It')}{'.' if leads else ''}"
    fits = (
        "The first signature fits"
        if event.signatures_tried < 2
        else (f"Of its signatures the {ordinal(event.signatures_tried)} is the first that fits")
    )
    return f"{first} {fits}, {event.signature}{leads}."


def _operator(trace: Trace, event: ev.BindingEntered) -> str:
    """The operator that is called first: a signature with an out argument may lead to another one than its own."""
    few = trace[event.seq + 1 : min(trace.ends[event.seq], event.seq + 8) + 1]
    return next((inner.operator for inner in few if isinstance(inner, ev.Dispatched)), event.operator)


def why_registration(event: RegistrationEvent) -> str:
    """What was added to the tables, or taken away."""
    match event:
        case ev.OperatorDefined():
            return f"There is a new operator, {event.operator}, with an empty table: {event.schema}"
        case ev.KernelRegistered():
            what = f"{event.operator}" if event.operator else "every operator without one of its own there"
            if event.removed:
                return f"The kernel {event.kernel} at {event.key} for {what} is taken away again."
            return f"{event.kernel} is registered at {event.key} for {what}."
        case ev.CellsRecomputed():
            return (
                f"That changed {counted(len(event.cells), 'cell')} of {event.operator}: "
                f"{listed(list(event.cells[:8]))}{' and more' if len(event.cells) > 8 else ''}."
            )
        case _:
            assert_never(event)


def why_error(trace: Trace, event: ev.ErrorRaised) -> str:
    """What went wrong, and in the middle of what."""
    match caller(trace, event.seq):
        case ev.KernelEntered() as inside:
            where = f"{inside.kernel} raises "
        case ev.NodeStarted() as inside:
            where = f"{inside.name} raises "
        case ev.Dispatched() as inside:
            where = f"The call of {inside.operator} fails with "
        case ev.BindingEntered() as inside:
            where = f"{inside.function} raises "
        case ev.BackwardStarted():
            where = "The engine raises "
        case _:
            where = "Raised here: "
    rule = broken_rule(event.message)
    if not rule:
        return f"{where}{event.exception}: {shortened(event.message, _WIDTH)}"
    message = shortened(event.message, _WIDTH)
    reason = _who_changed_what(trace, event) or rule
    return f"{where}{event.exception}: {message}{'' if message.endswith(('.', '…')) else '.'} {reason}"


def _who_changed_what(trace: Trace, event: ev.ErrorRaised) -> str:
    """Of a saved tensor that was changed: by whom it was saved, and by which line it was changed."""
    node = around(trace, event.seq, ev.NodeStarted)
    if node is None or "modified by an inplace operation" not in event.message:
        return ""
    return refusal(trace, node.node, event.seq)
