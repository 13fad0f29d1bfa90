"""A note on a sound program: an event in it, with the program's names, and the step at which the stepper shows it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.lookups import StepsByKind

LOOKED_AT = 50
"""The number of runs of a line that are read."""


class Note(NamedTuple):
    """A fact about a program that a reader may ask about."""

    at: int
    """The step that shows it. The stepper opens there."""
    statement: Statement


def first_run(trace: Trace, node: int, begin: int = 0) -> int | None:
    """Return the step at which the engine first runs a Node after ``begin``, or None if it never does."""
    steps = StepsByKind(trace.columns, trace.columns.of_node).steps(node, ev.NodeStarted)
    return next((step for step in steps if step >= begin), None)


def result_of(trace: Trace, call: int) -> int | None:
    """Return the tensor that a call returned, or None if it did not return exactly one."""
    last = trace[trace.ends[call]]
    return last.tensors[0] if isinstance(last, ev.KernelReturned) and len(last.tensors) == 1 else None


def runs_once(trace: Trace, line: ev.SourceLine) -> bool:
    """Return whether a line of the program runs once. The first steps at which it runs are read."""
    columns = trace.columns
    steps = trace.steps_of(ev.SourceLine)
    own = columns.places[bisect_left(steps, line.seq)]
    same = islice((step for step, place in zip(steps, columns.places, strict=False) if place == own), LOOKED_AT)
    return sum(isinstance(event := trace[step], ev.SourceLine) and not event.resumed for step in same) == 1
