"""Sentences of the program itself: its lines, names, output, errors; its calls; registrations."""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.errors.broken_rules import broken_rule
from dispatchviz.explain.errors.endless_calls import called_again
from dispatchviz.explain.errors.inplace_errors import changed_by
from dispatchviz.explain.keys.own_numbers import own_keys
from dispatchviz.explain.sentences.event_groups import ProgramEvent, RegistrationEvent
from dispatchviz.explain.sentences.formatting_sentences import why_formatted
from dispatchviz.explain.sentences.sentence_claims import BindingOf, FilledCells, SchemaOf
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.display_names import described
from dispatchviz.explain.trace_index.enclosing_steps import around, caller, source_text
from dispatchviz.foundation.english import counted, listed, ordinal, shortened

_WIDTH = 240
"""So much of what a program printed is shown."""


def why(trace: Trace, event: ProgramEvent) -> Statements:
    """What the program did."""
    match event:
        case ev.SourceLine():
            text = source_text(trace, event)
            where = f": {text}" if text else f" of {event.file}"
            does = "comes back to" if event.resumed else "reaches"
            return Statement("line reached", f"The program {does} line {event.line}{where}")
        case ev.NameBound():
            what = described(trace, event.tensor, event.seq) or "a tensor"
            return Statement("name bound", f"{event.name} now refers to t{event.tensor}, {what}.")
        case ev.NameUnbound():
            return Statement("name unbound", f"{event.name} no longer refers to t{event.tensor}.")
        case ev.Printed():
            return Statement("printed", f"The program printed: {shortened(event.text, _WIDTH)}")
        case ev.TensorFormatted():
            return why_formatted(trace, event)
        case ev.Warned():
            return _warned(trace, event)
        case ev.ProgramRaised():
            return _ended(trace, event)
        case _:
            assert_never(event)


def _warned(trace: Trace, event: ev.Warned) -> Statement:
    """Of what, and where it points to."""
    what = " ".join(event.message.split())
    if not event.category:
        return Statement("warning on stderr", f"PyTorch writes a warning to stderr ({event.file}): {what}")
    where = f" for line {event.line} of {event.file}" if event.file in trace.header.sources else ""
    return Statement("warning", f"Python issues a {event.category}{where}: {what}")


def why_binding(trace: Trace, event: ev.BindingEntered) -> Statements:
    """How Python calls an operator."""
    operator = _operator(trace, event)
    first = f"Python calls {call_text(trace, event)}, which enters PyTorch as {event.pytorch_function}."
    claims = (BindingOf(event.function, event.pytorch_function),)
    if not event.signature:
        leads = f" It leads to the operator {operator}." if operator else ""
        return Statement("binding without signatures", first + leads, claims)
    fits = (
        "The first signature fits"
        if event.signatures_tried < 2
        else (f"Of its signatures the {ordinal(event.signatures_tried)} is the first that fits")
    )
    leads = f"; it leads to the operator {operator}" if operator else ""
    return Statement("binding", first, claims), Statement("signature", f"{fits}, {event.signature}{leads}.")


def _operator(trace: Trace, event: ev.BindingEntered) -> str:
    """The operator that is called first: a signature with an out argument may lead to another one than its own."""
    few = trace[event.seq + 1 : min(trace.ends[event.seq], event.seq + 8) + 1]
    return next((inner.operator for inner in few if isinstance(inner, ev.Dispatched)), event.operator)


# -- registration -----------------------------------------------------------------------------------------------------


def why_registration(trace: Trace, event: RegistrationEvent) -> Statement:
    """What was registered, or deregistered."""
    match event:
        case ev.OperatorDefined():
            return _defined(trace, event)
        case ev.KernelRegistered():
            what = f"{event.operator}" if event.operator else "every operator without a kernel of its own there"
            if event.removed:
                text = f"The kernel {event.kernel} at {event.key} for {what} is deregistered."
                return Statement("kernel removed", text)
            return Statement("kernel registered", f"{event.kernel} is registered at {event.key} for {what}.")
        case ev.CellsRecomputed():
            some = f"{listed(list(event.cells[:8]))}{' and more' if len(event.cells) > 8 else ''}"
            changes = "changes" if len(event.cells) == 1 else "change"
            text = f"With that, {counted(len(event.cells), 'cell')} of {event.operator} {changes}: {some}."
            return Statement("cells change", text)
        case _:
            assert_never(event)


def _defined(trace: Trace, event: ev.OperatorDefined) -> Statement:
    """A new table is not empty: the keys' fallbacks are in it at once, and kernels that came before the definition."""
    new = f"A new operator is defined, {event.operator}: {event.schema}."
    if event.by_fallbacks < 0:  # a trace of an older version
        return Statement("operator defined, cells unknown", new, (SchemaOf(event.operator, event.schema),))
    filled, cells = event.by_fallbacks + event.by_kernels, len(own_keys(trace.header))
    claims = (SchemaOf(event.operator, event.schema), FilledCells(event.operator, filled))
    hold = f"{event.by_fallbacks} of the {cells} cells of its table hold the keys' fallbacks, which serve all operators"
    if event.by_kernels:
        before = f"kernels that were registered before its definition are in {event.by_kernels}"
        return Statement("operator defined after kernels", f"{new} {hold}, {before}.", claims)
    text = f"{new} No kernel is registered for it yet: {hold}, the other {cells - filled} are empty."
    return Statement("operator defined", text, claims)


# -- errors -----------------------------------------------------------------------------------------------------------


def why_error(trace: Trace, event: ev.ErrorRaised) -> Statements:
    """What went wrong, in the middle of what, and why; a reason that is known comes before the message."""
    begin = f"{_where(trace, event)}{event.exception}"
    rule = _rule(trace, event)
    raised = Statement("error", f"{begin}." if rule else _with_message(begin, event))
    return *_changed(trace, event), raised, *rule, *(_said(event) if rule else ())


def _where(trace: Trace, event: ev.ErrorRaised) -> str:
    match caller(trace, event.seq):
        case ev.KernelEntered() as inside:
            return f"{inside.kernel} raises "
        case ev.NodeStarted() as inside:
            return f"{inside.name} raises "
        case ev.Dispatched() as inside:
            return f"The call of {inside.operator} fails with "
        case ev.BindingEntered() as inside:
            return f"{inside.function} raises "
        case ev.BackwardStarted():
            return "The engine raises "
        case _:
            return "Raised here: "


def _message(message: str) -> str:
    """Whole and in one line, but for a table of cells that follows it."""
    first = " ".join(message.partition("\n\n")[0].split())
    return first if not first or first.endswith((".", "!", "?")) else f"{first}."


def _ended(trace: Trace, event: ev.ProgramRaised) -> Statements:
    where = f" at line {event.line}" if event.line else ""
    if event.exception == "KeyboardInterrupt":
        return Statement("program interrupted", f"The program was interrupted{where} (Ctrl+C).")
    begin = f"{event.exception} ended the program{where}"
    errors = (trace[step] for step in reversed(trace.steps_of(ev.ErrorRaised)))
    same = (error for error in errors if isinstance(error, ev.ErrorRaised) and _is_same(error, event))
    error = next(same, event)
    rule = _rule(trace, error)
    ended = Statement("program ended", f"{begin}." if rule else _with_message(begin, event))
    return *_changed(trace, error), ended, *rule, *(_said(event) if rule else ())


def _is_same(error: ev.ErrorRaised, event: ev.ProgramRaised) -> bool:
    """Whether an error is the one that ended the program; the end of the stack has several messages."""
    if error.exception != event.exception:
        return False
    return error.message == event.message or event.exception == "RecursionError"


def _with_message(begin: str, event: ev.ErrorRaised | ev.ProgramRaised) -> str:
    message = _message(event.message)
    return f"{begin}: {message}" if message else f"{begin}."


def _said(event: ev.ErrorRaised | ev.ProgramRaised) -> tuple[Statement, ...]:
    """The message, behind the reason."""
    message = _message(event.message)
    return (Statement("error: message", message),) if message else ()


def _changed(trace: Trace, event: ev.ErrorRaised | ev.ProgramRaised) -> tuple[Statement, ...]:
    """Of a saved tensor that was changed: by whom it was saved, and by which line it was changed."""
    node = around(trace, event.seq, ev.NodeStarted)
    if node is None or "modified by an inplace operation" not in event.message:
        return ()
    changed = changed_by(trace, node.node, event.seq)
    return (Statement("error: what changed it", changed),) if changed else ()


def _rule(trace: Trace, event: ev.ErrorRaised | ev.ProgramRaised) -> tuple[Statement, ...]:
    """The rule that was broken, unless the program's own reason is known."""
    rule = called_again(trace, event) or broken_rule(event.message)
    return (Statement("error: rule", rule),) if rule and not _changed(trace, event) else ()
