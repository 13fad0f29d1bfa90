"""An optimizer whose gradients are reset between the backward pass and its step, so that no step has gradients to
use.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.silent.calls import calls_between, lines_with
from dispatchviz.explain.diagnosis.silent.leaves import named
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.lookups import between
from dispatchviz.explain.trace_index.recorded_engine import is_live
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.foundation.english import capital

RESETS = re.compile(r"\b([A-Za-z_][\w.]*)\.zero_grad\(")


class Reset(NamedTuple):
    """A reset of gradients before the step that needs them."""

    backward: int
    reset: int
    step: int


def early_resets(trace: Trace) -> Iterator[Diagnosis]:
    """Yield a diagnosis for each optimizer whose steps all follow a reset without a backward pass in between."""
    sources = "\n".join(trace.header.sources.values())
    for name in sorted(set(RESETS.findall(sources))):
        for one in (_resets(trace, name) if f"{name}.step()" in sources else [])[:1]:
            lost = [] if is_live(trace.header) else _lost(trace, one)
            if lost or is_live(trace.header):
                yield _diagnosis(trace, name, one, lost)


def _resets(trace: Trace, name: str) -> list[Reset]:
    """Return the resets before all steps of an optimizer; empty if one step follows a backward pass."""
    resets = lines_with(trace, lambda text: text.strip().startswith(f"{name}.zero_grad("))
    steps, begun = lines_with(trace, lambda text: f"{name}.step(" in text), trace.steps_of(ev.BackwardStarted)
    found, before = [], 0
    for step in steps:
        at, last = bisect_left(resets, step) - 1, bisect_left(begun, step) - 1
        if at < 0 or last < 0 or not before <= begun[last] < resets[at] < step:
            return []
        found.append(Reset(begun[last], resets[at], step))
        before = step
    return found


def _lost(trace: Trace, one: Reset) -> list[int]:
    """Return the leaves whose gradients a reset removed."""
    tensors, end = trace.columns.tensors, _end_of_line(trace, one.reset)
    leaves = dict.fromkeys(tensors[step] for step in between(trace, ev.GradientAccumulated, one.backward, one.reset))
    written = {each for call in calls_between(trace, one.reset, end) for each in call.written}
    return [each for each in leaves if _is_set(trace, each, one.reset, end) or _gradient(trace, each, end) in written]


def _is_set(trace: Trace, leaf: int, begin: int, end: int) -> bool:
    return any(begin < step < end for step in index(trace).steps_about(leaf, ev.GradSet))


def _gradient(trace: Trace, leaf: int, at: int) -> int | None:
    entry = index(trace).gradients[leaf].latest(at)
    return None if entry is None else entry[1]


def _end_of_line(trace: Trace, step: int) -> int:
    lines = trace.steps_of(ev.SourceLine)
    later = bisect_left(lines, step + 1)
    return lines[later] if later < len(lines) else len(trace) - 1


def _diagnosis(trace: Trace, name: str, one: Reset, lost: list[int]) -> Diagnosis:
    backward, reset, step = (on_line(trace, each) for each in one)
    grads = f"the gradient{'s' * (len(lost) != 1)} of {named(trace, lost, one.step) or f'the parameters of {name}'}"
    is_zero = "set_to_none=False" in reset
    does = f"sets {grads} to zero" if is_zero else f"removes {grads}"
    uses = "works with zeros" if is_zero else "has none to use and changes nothing"
    computed = f", which {backward} computed" if lost else f", after {backward}"
    text = f"{capital(reset)} {does}{computed}. So {step} {uses} each time that it runs."
    cause = Statement("gradients reset before the step", text)
    line, first = on_line(trace, one.reset, text=False), on_line(trace, one.backward, text=False)
    fix = f"Move {line} before {first}, or after {on_line(trace, one.step, text=False)}: {name}.zero_grad()."
    return Diagnosis("silent mistake", one.reset, (cause,), "", (fix,), one)


RULES = (early_resets,)
