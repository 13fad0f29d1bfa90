"""The program itself: its lines, names, output and warnings."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.error import raised
from dispatchviz.explain.kinds.kind import NO_RULE, WIDTH, Kind, Known, Rule
from dispatchviz.explain.sentences.sentence_claims import CallsWithin
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import described, tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import source_text
from dispatchviz.foundation.english import counted, shortened


def _calls_within(trace: Trace, seq: int) -> int:
    """The number of operators that are called within a step, including calls by kernels."""
    within = trace[seq + 1 : trace.ends[seq] + 1]
    return sum(isinstance(event, ev.Dispatched) and not event.is_redispatch for event in within)


def _why_formatted(trace: Trace, event: ev.TensorFormatted) -> Statement:
    """The reason why formatting calls operators."""
    name, calls = tensor_name(trace, event.tensor, event.seq), _calls_within(trace, event.seq)
    claims = (CallsWithin(event.tensor, event.function, calls),)
    if event.function == "Tensor.__format__":
        taken = f"To read it, detach and item make {counted(calls, 'call')} in all"
        text = f"{name} is formatted as the number that it holds. {taken}."
        return Statement("tensor formatted", text, claims)
    within = (
        (f"It makes {counted(calls, 'call')}, none of which is recorded for backward") if calls else "It makes no call"
    )
    text = f"PyTorch's Python code formats {name} under no_grad and with all modes disabled. {within}."
    return Statement("tensor printed", text, claims)


def _source_line_label(trace: Trace, event: ev.SourceLine) -> str:
    text = source_text(trace, event)
    own = text and event.file == trace.header.program.partition("::")[0]  # of a test: "file::name"
    file = "inductor's code" if "torchinductor_" in event.file else event.file  # a path of hashes
    location = f"line {event.line}" if own else f"{file}, line {event.line}"
    function = f" in {event.function}" if event.function else ""
    return shortened(f"{location}{function}{text and '  '}{text}", WIDTH)


def _formatted_label(trace: Trace, event: ev.TensorFormatted) -> str:
    calls = counted(_calls_within(trace, event.seq), "call")
    return f"{event.function} of {tensor_name(trace, event.tensor, event.seq)} ({calls})"


_WIDTH = 240
"""The number of characters of printed output that are shown."""


def _warned(trace: Trace, event: ev.Warned) -> Statement:
    """Quote a warning with its category and, if it is a line of the program, its line."""
    what = " ".join(event.message.split())
    if not event.category:
        return Statement("warning on stderr", f"PyTorch writes a warning to stderr ({event.file}): {what}")
    where = f" for line {event.line} of {event.file}" if event.file in trace.header.sources else ""
    return Statement("warning", f"Python issues a {event.category}{where}: {what}")


def _why_source_line(trace: Trace, event: ev.SourceLine) -> Statement:
    text = source_text(trace, event)
    where = f": {text}" if text else f" of {event.file}"
    does = "returns to" if event.resumed else "reaches"
    return Statement("line reached", f"The program {does} line {event.line}{where}")


def _why_name_bound(trace: Trace, event: ev.NameBound) -> Statement:
    what = described(trace, event.tensor, event.seq) or "a tensor"
    return Statement("name bound", f"{event.name} now refers to t{event.tensor}, {what}.")


def _tensor_formatted_rule(event: ev.TensorFormatted) -> Rule:
    text = "Printing a tensor calls operators to find the width and notation of its numbers."
    if event.function == "Tensor.__format__":
        return Rule(text, event.function, "torch/_tensor.py")
    return Rule(text, "torch._tensor_str._str", "torch/_tensor_str.py")


def _warned_rule(event: ev.Warned) -> Rule:
    if not event.category:
        text = "Outside a Python binding, as in torch.ops, PyTorch cannot turn the warning into a Python warning."
        return Rule(text, "c10::warn", "c10/util/Exception.cpp")
    text = "A warning changes nothing by itself. warnings.filterwarnings decides whether it is shown or raised."
    return Rule(text, "", "")


PROGRAM_KINDS = (
    Kind(
        ev.SourceLine,
        group="program",
        label=_source_line_label,
        why=_why_source_line,
        rule=NO_RULE,
        known=Known("observed", "the program reports its lines"),
        level="lines",
        panes=("source", "tensors"),
    )
    | Kind(
        ev.NameBound,
        group="program",
        label=lambda trace, event: f"{event.name} = t{event.tensor}",
        why=_why_name_bound,
        rule=Rule("A variable is a name for a tensor. The tensor does not store the name.", "", ""),
        known=Known("observed", "the program reports its assignments"),
        panes=("source", "tensors"),
    )
    | Kind(
        ev.NameUnbound,
        group="program",
        label=lambda trace, event: f"{event.name} no longer names t{event.tensor}",
        why=lambda trace, event: Statement("name unbound", f"{event.name} no longer refers to t{event.tensor}."),
        rule=Rule(
            ("A tensor without a name stays alive as long as something refers to it, such as a Node or a list."), "", ""
        ),
        known=Known("observed", "the program reports its assignments"),
    )
    | Kind(
        ev.Printed,
        group="program",
        label=lambda trace, event: shortened(f"printed {event.text}", WIDTH),
        why=lambda trace, event: Statement("printed", f"The program printed: {shortened(event.text, _WIDTH)}"),
        rule=NO_RULE,
        known=Known("observed", "standard output"),
        level="lines",
        panes=("output", "source"),
    )
    | Kind(
        ev.TensorFormatted,
        group="program",
        label=_formatted_label,
        why=_why_formatted,
        rule=_tensor_formatted_rule,
        known=Known("observed", "the method of Tensor is called"),
        level="calls",
        panes=("source", "output"),
    )
    | Kind(
        ev.Warned,
        group="error",
        label=lambda trace, event: raised(event.category or "warning on stderr", event.message),
        why=_warned,
        rule=_warned_rule,
        known=Known("observed", "Python's warnings"),
        level="lines",
        panes=("source", "calls"),
    )
)
