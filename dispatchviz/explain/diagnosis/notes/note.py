"""A note on a sound program: what happens in it, with its names, and where the stepper shows it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice
from typing import NamedTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.trace_index.lookups import StepsByKind

LOOKED_AT = 50
"""How many runs of a line are looked at."""


class Note(NamedTuple):
    """What a program shows that a reader may ask about."""

    at: int
    """The step that shows it: the stepper opens there."""
    said: Statement


def first_run(trace: Trace, node: int, begin: int = 0) -> int | None:
    """The step from which on the engine runs a Node for the first time; None if it never does."""
    steps = StepsByKind(trace.columns, trace.columns.of_node).steps(node, ev.NodeStarted)
    return next((step for step in steps if step >= begin), None)


def result_of(trace: Trace, call: int) -> int | None:
    """The tensor that a call returned; None if that is not one."""
    last = trace[trace.ends[call]]
    return last.tensors[0] if isinstance(last, ev.KernelReturned) and len(last.tensors) == 1 else None


def runs_once(trace: Trace, line: ev.SourceLine) -> bool:
    """Return whether a line of the program runs once: the first steps at which it runs are looked at."""
    columns = trace.columns
    steps = trace.steps_of(ev.SourceLine)
    own = columns.places[bisect_left(steps, line.seq)]
    same = islice((step for step, place in zip(steps, columns.places, strict=False) if place == own), LOOKED_AT)
    return sum(isinstance(event := trace[step], ev.SourceLine) and not event.resumed for step in same) == 1
