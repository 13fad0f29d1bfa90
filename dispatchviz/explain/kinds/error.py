"""Errors, the error that ends the program, and events of other versions."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.failure import Failure, failure
from dispatchviz.explain.kinds.kind import NO_RULE, WIDTH, Kind, Known, Rule, unseen
from dispatchviz.explain.sentences.statement import Statement, Statements
from dispatchviz.explain.trace_index.enclosing_steps import caller
from dispatchviz.foundation.english import shortened


def _program_raised_label(trace: Trace, event: ev.ProgramRaised) -> str:
    return "interrupted" if event.exception == "KeyboardInterrupt" else raised(event.exception, event.message)


def raised(exception: str, message: str) -> str:
    """The label of an error or a warning."""
    return shortened(f"{exception}: {message}" if message else exception, WIDTH)


def _why_error(trace: Trace, event: ev.ErrorRaised) -> Statements:
    """The diagnosis of the error that ended the program; for a caught error, its message and its rule."""
    failed = failure(trace)
    diagnosis = _diagnosis(trace) if failed is not None and failed.raised == event.seq else _changed(trace, event)
    if diagnosis:
        return diagnosis
    begin = f"{_where(trace, event)}{event.exception}"
    rule = _rule(event)
    raised = Statement("error", f"{begin}." if rule else _with_message(begin, event))
    return raised, *rule, *(_message_after(event) if rule else ())


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
    """Join the whole message into one line, without the table of dispatch table entries that may follow it."""
    first = " ".join(message.partition("\n\n")[0].split())
    return first if not first or first.endswith((".", "!", "?")) else f"{first}."


def _ended(trace: Trace, event: ev.ProgramRaised) -> Statements:
    where = f" at line {event.line}" if event.line else ""
    if event.exception == "KeyboardInterrupt":
        return Statement("program interrupted", f"The program was interrupted{where} (Ctrl+C).")
    begin = f"{event.exception} ended the program{where}"
    return _diagnosis(trace) or Statement("program ended", _with_message(begin, event))


def _diagnosis(trace: Trace) -> tuple[Statement, ...]:
    """The three parts of the diagnosis of the error that ended the program; empty for an unknown kind of error."""
    from dispatchviz.explain.diagnosis.diagnose import diagnosis_of_error  # with the rules: few programs raise

    found = diagnosis_of_error(trace)
    return found.statements if found is not None and found.adds_information else ()


def _with_message(begin: str, event: ev.ErrorRaised | ev.ProgramRaised) -> str:
    message = _message(event.message)
    return f"{begin}: {message}" if message else f"{begin}."


def _message_after(event: ev.ErrorRaised | ev.ProgramRaised) -> tuple[Statement, ...]:
    """The message, which follows the reason."""
    message = _message(event.message)
    return (Statement("error: message", message),) if message else ()


def _changed(trace: Trace, event: ev.ErrorRaised) -> tuple[Statement, ...]:
    """The diagnosis of a saved tensor that was changed in place, even if the program caught the error."""
    from dispatchviz.explain.diagnosis.graph_errors.saved_tensors import MODIFIED, modified  # few programs raise

    found = modified(Failure(trace, event.exception, event.message, event.seq)) if MODIFIED in event.message else None
    return found.statements if found is not None else ()


def _rule(event: ev.ErrorRaised) -> tuple[Statement, ...]:
    """The rule that was broken, if it is known."""
    rule = _cause(event.message)
    return (Statement("error: rule", rule),) if rule else ()


def _cause(message: str) -> str:
    """The general cause of an error; empty if its message is not known."""
    return cause_and_fix(message)[0]


def cause_and_fix(message: str) -> tuple[str, str]:
    """The general cause of an error, and what to change; both empty if its message is not known."""
    from dispatchviz.explain.diagnosis.messages.table import known  # few traces have an error

    found = known(message)
    return (found.message.cause, found.message.fix) if found is not None else ("", "")


def _unknown(trace: Trace, event: ev.Unknown) -> Statement:
    text = f"Another version of dispatchviz recorded this step ({event.kind}). This version can only show it as it is."
    return Statement("unknown step", text)


ERROR_KINDS = (
    Kind(
        ev.ProgramRaised,
        group="error",
        label=_program_raised_label,
        why=_ended,
        rule=NO_RULE,
        known=Known("observed", "the exception that left the program"),
        level="lines",
        panes=("source", "calls"),
        reason_in_log="always",
    )
    | Kind(
        ev.ErrorRaised,
        group="error",
        label=lambda trace, event: raised(event.exception, event.message),
        why=_why_error,
        rule=lambda event: Rule(
            _cause(event.message)
            or "An error unwinds every kernel and guard on its way. Each guard restores the sets that it saved.",
            "",
            "",
        ),
        known=unseen("only errors that leave the program are seen"),
        level="lines",
        panes=("calls", "source"),
        reason_in_log="always",
    )
    | Kind(
        ev.Unknown,
        group="unknown",
        label=lambda trace, event: f"{event.kind} (from another version)",
        why=_unknown,
        rule=NO_RULE,
        known=unseen("another version of dispatchviz recorded it"),
        level="lines",
    )
)
