"""The sentence of a tensor that is formatted, and how many operators that calls."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.sentence_claims import CallsWithin
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.foundation.english import counted


def calls_within(trace: Trace, seq: int) -> int:
    """How many operators are called within a step, those that kernels call included."""
    within = trace[seq + 1 : trace.ends[seq] + 1]
    return sum(isinstance(event, ev.Dispatched) and event.how.startswith("call") for event in within)


def why_formatted(trace: Trace, event: ev.TensorFormatted) -> Statement:
    """Why formatting calls operators."""
    name, calls = tensor_name(trace, event.tensor, event.seq), calls_within(trace, event.seq)
    claims = (CallsWithin(event.tensor, event.function, calls),)
    if event.function == "Tensor.__format__":
        taken = f"detach and item read it, {counted(calls, 'call')} in all"
        text = f"{name} is formatted as the number that it holds: {taken}."
        return Statement("tensor formatted", text, claims)
    within = f"{counted(calls, 'call')}, none of which is recorded for backward" if calls else "no call was needed"
    text = (
        f"{name} is formatted by PyTorch's own Python code, which chooses width and notation with operators, in "
        f"no_grad and with all modes disabled: {within}."
    )
    return Statement("tensor printed", text, claims)
