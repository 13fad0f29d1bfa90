"""The reason why the numbers of two results differ, as far as two traces show it: other values passed, or random
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.comparison.event_facts import values
from dispatchviz.explain.trace_index.display_names import tensor_name
from dispatchviz.explain.trace_index.enclosing_steps import around, source_line, source_text
from dispatchviz.foundation.english import capital

_NO_GENERATOR = frozenset({"aten::native_dropout", "aten::rrelu_with_noise_functional"})
"""Operators that draw random numbers without a parameter for a generator."""

SEED = "manual_seed"
"""The function that a program calls to seed a generator."""


def why_numbers(first: Trace, second: Trace, a: int, b: int, in_first: str, in_second: str) -> str:
    """Return the reason why a result has other numbers."""
    kernel = around(second, b, ev.KernelEntered)
    who = kernel.kernel if kernel is not None else "the kernel"
    hashed = second[b]
    what = tensor_name(second, hashed.tensor, b) if isinstance(hashed, ev.ResultHashed) else "the result"
    begin = f"The result {what} of {who} has different numbers {in_first} and {in_second}."
    reason = _other_call(first, second, a, b, in_first, in_second) or _random(first, second, b)
    return f"{begin} {reason or _other_line(first, second, a, b, in_first, in_second)}".rstrip()


def _other_call(first: Trace, second: Trace, a: int, b: int, in_first: str, in_second: str) -> str:
    ours, theirs = around(first, a, ev.BindingEntered), around(second, b, ev.BindingEntered)
    if ours is None or theirs is None:
        return ""
    passed = values(ev.BindingEntered)
    if passed is None or passed(ours) == passed(theirs):
        return ""  # even if only the names of tensors differ
    return f"Python calls {call_text(first, ours)} {in_first}, {call_text(second, theirs)} {in_second}."


def _other_line(first: Trace, second: Trace, a: int, b: int, in_first: str, in_second: str) -> str:
    ours, theirs = source_line(first, a), source_line(second, b)
    if ours is None or theirs is None:
        return ""
    one, other = source_text(first, ours), source_text(second, theirs)
    return f"The line reads {one} {in_first}, {other} {in_second}." if one != other else ""


def _random(first: Trace, second: Trace, b: int) -> str:
    """Return the text about an operator that draws random numbers."""
    operator = next(filter(_draws, _operators(second, b)), None)
    if operator is None:
        return ""
    text = (
        f"{capital(operator, (operator,))} draws random numbers, and its generator was in another state: its seed "
        "was different, or it had drawn more or fewer numbers before."
    )
    if any(SEED in source for trace in (first, second) for source in trace.header.sources.values()):
        return text
    text = f"{text} Neither program calls {SEED}. PyTorch then draws different numbers in every process"
    on_model = first.header.engine == second.header.engine == "model"
    return f"{text}{', but the model starts each run with the same seed' if on_model else ''}."


def _operators(trace: Trace, seq: int) -> Iterator[str]:
    """Yield the operators around a step, innermost first."""
    return (event.operator for event in trace.ancestors(seq) if isinstance(event, ev.Dispatched))


def _draws(operator: str) -> bool:
    if operator in _NO_GENERATOR:
        return True
    found = pytorch("cpu").get(operator)
    return found is not None and any(each.type == "Generator?" for each in found.schema.arguments)
