"""``RecursionError`` of a kernel that calls its own operator again."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from dispatchviz.core.keys.keys import BackendComponent
from dispatchviz.core.record import events as ev
from dispatchviz.explain.diagnosis.diagnosis import Diagnosis
from dispatchviz.explain.diagnosis.failure import Failure
from dispatchviz.explain.diagnosis.words import on_line
from dispatchviz.explain.sentences.statement import Statement

MESSAGE = "maximum recursion depth exceeded"

BACKENDS = frozenset(each.name.removesuffix("Bit") for each in BackendComponent)
"""The keys below which an operator has no other kernel."""

MOST = 200
"""The number of innermost open steps that are read."""


def recursion(failure: Failure) -> Diagnosis | None:
    """Return the diagnosis of an operator that its own kernel calls again, with the reason why that leads back to
    it.
    """
    trace = failure.trace
    steps = trace.steps_of(ev.Dispatched)
    deepest = bisect_left(steps, failure.raised) - 1  # at the end of the stack, even the recorder may miss the error
    if failure.exception != "RecursionError" or deepest < 0:
        return None
    deep = trace[steps[deepest]]
    around = [event for event in islice(trace.ancestors(deep.seq), MOST) if isinstance(event, ev.Dispatched)]
    nested = [deep, *around] if isinstance(deep, ev.Dispatched) else around
    last = next(
        (each for at, each in enumerate(nested) if any(_is_again(call, each) for call in nested[at + 1 :])), None
    )
    if last is None:
        return None
    where = on_line(trace, last.seq, text=False)
    caller = next(each for each in nested[nested.index(last) + 1 :] if each.operator == last.operator)
    text = (
        f"The kernel of {last.operator} at {caller.key} calls {last.operator} "
        f"again{f' on {where}' if where else ''}. Unlike a redispatch, a call computes its key set again from its "
        f"arguments and the thread. So {last.key} is the highest key each time, and the kernel runs again."
    )
    fixes: tuple[str, ...] = (
        f"Make the call under a guard that excludes {caller.key}, so that it goes on to the next key.",
        "Or register a fallthrough instead of the kernel. It never runs: the operator's mask removes its key.",
    )
    if caller.key in BACKENDS:
        fixes = (f"Compute the result at {caller.key} with other operators: there is no lower key.",)
    cause = Statement("kernel calls its operator again", text)
    return Diagnosis("error", failure.raised, (cause,), failure.message, fixes, (last.seq, failure.raised))


def _is_again(call: ev.Dispatched, last: ev.Dispatched) -> bool:
    """Return whether a call leads to the same place as another one. A redispatch never does, because its key set is
    smaller.
    """
    return (call.operator, call.key) == (last.operator, last.key) and not call.is_redispatch


RULES = ((MESSAGE, recursion),)
