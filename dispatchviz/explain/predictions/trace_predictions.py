"""The steps of a trace that answer a question, and the question of each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.dispatch_questions import which_kernel, which_key
from dispatchviz.explain.predictions.engine_questions import is_ready, what_count, which_node
from dispatchviz.explain.predictions.gradient_question import how_accumulated
from dispatchviz.explain.predictions.node_question import is_node_made
from dispatchviz.explain.predictions.prediction import Prediction, is_outer

REVEALING: tuple[type[ev.Event], ...] = (
    ev.Dispatched,
    ev.KernelSelected,
    ev.NodeCreated,
    ev.NoNodeMade,
    ev.DependenciesCounted,
    ev.DependencyMet,
    ev.NodeStarted,
    ev.GradientAccumulated,
)
"""The kinds of steps that may answer a question."""

KEPT = 4096
"""The number of questions of a trace that are kept."""

_KNOWN: WeakKeyDictionary[Trace, dict[int, Prediction | None]] = WeakKeyDictionary()


def prediction_at(trace: Trace, at: int) -> Prediction | None:
    """The question that a step answers; None if it answers no question that is worth asking."""
    known = _KNOWN.setdefault(trace, {})
    if at not in known:
        if len(known) >= KEPT:
            known.clear()
        known[at] = _asked(trace, trace[at])
    return known[at]


def predictions_after(
    trace: Trace, at: int, until: int | None = None, most: int | None = None, outer: bool = False
) -> Iterator[Prediction]:
    """Yield the questions after a step up to another, in order. At most ``most`` steps that may have a question are
    searched.

    ``outer``: skip the calls that kernels make, except at the last step.
    """
    last = len(trace) - 1 if until is None else until
    parts = (steps[bisect_right(steps, at) : bisect_right(steps, last)] for steps in map(trace.steps_of, REVEALING))
    for step in islice(merge(*parts), most):
        if outer and step != last and not is_outer(trace, step):
            continue
        if (found := prediction_at(trace, step)) is not None:
            yield found


def _asked(trace: Trace, event: ev.AnyEvent) -> Prediction | None:
    match event:
        case ev.Dispatched():
            return which_key(trace, event)
        case ev.KernelSelected():
            return which_kernel(trace, event)
        case ev.NodeCreated() | ev.NoNodeMade():
            return is_node_made(trace, event)
        case ev.DependenciesCounted():
            return what_count(trace, event)
        case ev.DependencyMet():
            return is_ready(trace, event)
        case ev.NodeStarted():
            return which_node(trace, event)
        case ev.GradientAccumulated():
            return how_accumulated(trace, event)
        case _:
            return None
