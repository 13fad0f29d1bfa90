"""A step costs a few milliseconds also in a long trace."""

from __future__ import annotations

import time

from dispatchviz.core.trace import Trace
from dispatchviz.explain.call_stack import call_stack
from dispatchviz.explain.cell import cell_card
from dispatchviz.explain.key_set import key_set_card
from dispatchviz.explain.labels import label
from dispatchviz.explain.sentences import why_here
from dispatchviz.explain.source import source_at

from .founding import Tape, founding

TIMES = 2000


def long_trace() -> Trace:
    """The founding program over and over: the events are real ones, at other numbers."""
    one = founding().events
    tape = Tape()
    for _ in range(TIMES):
        base = len(tape.events)
        for event in one:
            fields = [getattr(event, name) for name in event.__struct_fields__[2:]]
            tape.open = None if event.parent is None else base + event.parent
            tape.add(type(event), *fields)
    return tape.trace()


def test_a_step_in_a_long_trace() -> None:
    trace = long_trace()
    assert len(trace) > 100_000
    why_here(trace, len(trace) - 1)
    steps = range(len(trace) - 200, len(trace))
    begin = time.perf_counter()
    for seq in steps:
        label(trace, seq), why_here(trace, seq), key_set_card(trace, seq), cell_card(trace, seq)
        call_stack(trace, seq), source_at(trace, seq)
    assert (time.perf_counter() - begin) / len(steps) < 0.005
