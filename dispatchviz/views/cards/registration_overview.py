"""A short history of an operator's table, one line for each registration: ``table OP --history --short``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.explain.cells.registration.registration_history import RegistrationHistory
from dispatchviz.explain.cells.registration.registration_steps import RegistrationStep
from dispatchviz.explain.keys.key_text import grouped_keys_text
from dispatchviz.foundation.english import counted
from dispatchviz.views.text.console import Console

LEGEND = "● table entries change   ↷ calls begin or stop skipping keys"


def overview_lines(history: RegistrationHistory, console: Console) -> Iterator[str]:
    """Yield all registrations in order. Consecutive fallbacks share one line."""
    build = f"  (build {history.build})" if history.build else ""
    yield console.heading(history.operator) + f": how its table is filled{build}"
    yield from console.columns(map(_row, _runs(history)), 2)
    yield ""
    yield from console.wrapped(
        f"{LEGEND}. Without --short: every block, the table entries that it changes and why, and the mask.", 0
    )


def _runs(history: RegistrationHistory) -> Iterator[Sequence[RegistrationStep]]:
    for is_fallback, run in groupby(history.steps, key=lambda step: step.kind == "fallback"):
        steps = list(run)
        yield from [steps] if is_fallback else ([step] for step in steps)


def _row(steps: Sequence[RegistrationStep]) -> tuple[str, str]:
    first, last = steps[0], steps[-1]
    sign = ("●" if any(step.changes for step in steps) else " ") + ("↷" if any(step.calls for step in steps) else " ")
    if len(steps) == 1:
        return f"{first.number:>5} {sign} {first.kind}", _one(first)
    keys = grouped_keys_text([DispatchKey[step.key] for step in steps])
    return f"{f'{first.number}-{last.number}':>5} {sign} {len(steps)} fallbacks", keys


def _one(step: RegistrationStep) -> str:
    made = "; the operator's entry is created" if step.makes_operator else ""
    if step.kind == "definition":
        return f"the schema{made}"
    cells = sum(len(changed.keys) for changed in step.changes)
    changes = counted(cells, "entry", "entries") if cells else "no table entry changes"
    return f"{step.key}: {step.kernel}, {changes}{made}"
