"""What the program does: its lines, names, output, warnings, errors, and the functions of PyTorch that it calls."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.sentences.formatting_sentences import calls_within
from dispatchviz.explain.sentences.labels.label_functions import WIDTH, Labels
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.foundation.english import counted, shortened

LABELS = Labels()


@LABELS.of(ev.SourceLine)
def _source_line(trace: Trace, event: ev.SourceLine) -> str:
    text = source_text(trace, event)
    own = text and event.file == trace.header.program.partition("::")[0]  # of a test: "file::name"
    location = f"line {event.line}" if own else f"{event.file}, line {event.line}"
    function = f" in {event.function}" if event.function else ""
    return shortened(f"{location}{function}{text and '  '}{text}", WIDTH)


@LABELS.of(ev.NameBound)
def _name_bound(trace: Trace, event: ev.NameBound) -> str:
    return f"{event.name} = t{event.tensor}"


@LABELS.of(ev.NameUnbound)
def _name_unbound(trace: Trace, event: ev.NameUnbound) -> str:
    return f"{event.name} no longer names t{event.tensor}"


@LABELS.of(ev.Printed)
def _printed(trace: Trace, event: ev.Printed) -> str:
    return shortened(f"printed {event.text}", WIDTH)


@LABELS.of(ev.TensorFormatted)
def _formatted(trace: Trace, event: ev.TensorFormatted) -> str:
    calls = counted(calls_within(trace, event.seq), "call")
    return f"{event.function} of {tensor_name(trace, event.tensor, event.seq)} ({calls})"


@LABELS.of(ev.Warned)
def _warned(trace: Trace, event: ev.Warned) -> str:
    return _error(event.category or "warning on stderr", event.message)


@LABELS.of(ev.ProgramRaised)
def _program_raised(trace: Trace, event: ev.ProgramRaised) -> str:
    return "interrupted" if event.exception == "KeyboardInterrupt" else _error(event.exception, event.message)


@LABELS.of(ev.ErrorRaised)
def _error_raised(trace: Trace, event: ev.ErrorRaised) -> str:
    return _error(event.exception, event.message)


def _error(exception: str, message: str) -> str:
    return shortened(f"{exception}: {message}" if message else exception, WIDTH)


@LABELS.of(ev.Unknown)
def _unknown(trace: Trace, event: ev.Unknown) -> str:
    return f"{event.kind} (from another version)"


@LABELS.of(ev.BindingEntered)
def _binding(trace: Trace, event: ev.BindingEntered) -> str:
    return shortened(call_text(trace, event), WIDTH)
