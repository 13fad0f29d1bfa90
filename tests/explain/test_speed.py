"""A step costs no more in a long trace than in a short one: counted in calls, since times depend on the machine."""

from __future__ import annotations

import cProfile

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.call_stack import call_stack
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.calls.structured_call import structured_call
from dispatchviz.explain.graph.engine_state import engine_state
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.locations.source_view import source_at
from dispatchviz.explain.things.crossing import crossing
from dispatchviz.explain.things.step_things import things_of
from dispatchviz.explain.trace_index.step_tensors import tensors_of, variables_of
from dispatchviz.explain.trace_index.tensor_card import tensor_card
from dispatchviz.explain.trace_index.thread_state import thread_state
from dispatchviz.views.panes.output_pane import output_until

from .founding import Tape, founding

SHORT, LONG = 20, 2000
LAST = 200
"""The number of steps that are measured."""


def repeated(times: int) -> Trace:
    """The founding program over and over: the events are real ones, at other numbers."""
    one = founding().events
    tape = Tape()
    for _ in range(times):
        base = len(tape.events)
        for event in one:
            fields = [getattr(event, name) for name in event.__struct_fields__[2:]]
            tape.open = None if event.parent is None else base + event.parent
            tape.add(type(event), *fields)
    return tape.trace()


def look(trace: Trace, seq: int) -> None:
    """All that the stepper says of a step."""
    label(trace, seq), why_here(trace, seq), key_set_card(trace, seq), cell_card(trace, seq)
    call_stack(trace, seq), source_at(trace, seq)
    things_of(trace, seq), crossing(trace, seq)
    thread_state(trace, seq), engine_state(trace, seq), structured_call(trace, seq), output_until(trace, seq)
    for tensor in (*tensors_of(trace, seq), *variables_of(trace, seq)):
        tensor_card(trace, tensor, seq)


def calls(trace: Trace) -> int:
    """Functions that run, built-in ones included, for the last steps, after what is made once for a trace."""
    end = len(trace)
    for seq in range(end - 2 * LAST, end - LAST):
        look(trace, seq)
    with cProfile.Profile() as profile:
        for seq in range(end - LAST, end):
            look(trace, seq)
    return sum(entry.callcount for entry in profile.getstats())


def test_a_step_in_a_long_trace() -> None:
    long = repeated(LONG)
    assert len(long) > 100_000
    assert calls(long) < 1.2 * calls(repeated(SHORT))
