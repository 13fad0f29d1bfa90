"""The grades of one log as text: a row for each line of the answer file and for each goal of the lesson."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from dispatchviz.cli.check_log_table import Graded
from dispatchviz.lessons.mine.goals import Reached, by_phase, counts
from dispatchviz.testing.marking import Mark


def report(graded: Graded, summary: bool) -> Iterator[str]:
    """Yield the rows of a report; only the first one for a summary."""
    held = f"{sum(mark.holds for mark in graded.marks)} of {len(graded.marks)} lines hold"
    texts = [*([held] if graded.marks else ()), *([counts(graded.goals)] if graded.goals else ())]
    yield f"{graded.log}: {', '.join(texts)} ({graded.program})"
    if summary:
        return
    for mark in graded.marks:
        yield from _line(graded.log, mark)
    phases = by_phase(graded.goals)
    for phase, group in phases.items():
        for goal in group:
            yield from _goal(goal, phase if len(phases) > 1 else "goal")
    if graded.note:
        yield f"  {graded.note}"


def _line(log: str, mark: Mark) -> Iterator[str]:
    step = f"   step {mark.step}" if mark.holds and mark.step is not None else ""
    yield f"  {_sign(mark.holds)} line {mark.line.number:<3} {mark.line.text}{step}"
    if not mark.holds:
        yield from (f"        {row}" for row in mark.why.split("\n"))
        if mark.step is not None:
            yield f"        dispatchviz open --step {mark.step} {shlex.quote(log)}"


def _goal(goal: Reached, named: str) -> Iterator[str]:
    yield f"  {'?' if goal.needs_program else _sign(goal.holds)} {named:<8} {goal.goal.text}"
    if not goal.holds:
        yield from (f"        {why}" for why in goal.why)


def _sign(holds: bool) -> str:
    return "✓" if holds else "✗"
