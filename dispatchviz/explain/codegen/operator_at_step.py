"""The operator of a step, whose generated code a reader wants to see there."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import takewhile

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.codegen.generated_functions import operator_of_node
from dispatchviz.explain.trace_index import statements
from dispatchviz.explain.trace_index.display_names import plain_node


def operator_at(trace: Trace, seq: int) -> str:
    """Return the full name of the operator that runs at a step or is registered there, of the Node that is made or
    evaluated there, or of the first call that follows; empty if there is none.
    """
    registered = trace[seq]
    if isinstance(registered, ev.OperatorDefined | ev.KernelRegistered | ev.CellsRecomputed):
        return registered.operator
    for event in (trace[seq], *trace.ancestors(seq)):
        found = _named(event)
        if found:
            return found
        if isinstance(event, ev.BindingEntered | ev.SourceLine):
            return _first_call(trace, event.seq)
    return ""


def running_operator(trace: Trace, seq: int) -> str:
    """Return the operator that runs at the step itself. The contents of a line are not read."""
    return _named(trace[seq]) or _running_around(trace, trace.columns.parents[seq])


@lru_cache(maxsize=256)
def _running_around(trace: Trace, seq: int) -> str:
    """Return the operator that runs in an event, which is the same for all steps directly within it."""
    events = (trace[seq], *trace.ancestors(seq)) if seq >= 0 else ()
    around = takewhile(lambda event: not isinstance(event, ev.BindingEntered), events)
    return next(filter(None, map(_named, around)), "")


def _named(event: ev.AnyEvent) -> str:
    match event:
        case ev.Dispatched():
            return event.operator
        case ev.NodeCreated() | ev.NodeStarted():
            return operator_of_node(plain_node(event.name))
    return ""


def _first_call(trace: Trace, seq: int) -> str:
    """Return the first call within a step, up to the end of the step that binds or starts it."""
    steps = trace.steps_of(ev.Dispatched)
    place = bisect_right(steps, seq)
    first = trace[steps[place]] if place < len(steps) and steps[place] <= statements.end(trace, seq) else None
    return first.operator if isinstance(first, ev.Dispatched) else ""
