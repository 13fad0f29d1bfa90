"""The first and last steps of ``torch.profiler``'s slices: the evaluation of a Node, its formula, the application of a
custom Function.

``Engine::evaluate_function`` calls the hooks before the formula and those after it, checks the formula's results
(``validate_outputs``) and adds them to the input buffers; ``Node::operator()`` is the formula alone.
"""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events.hook_events import BEFORE_NODE
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.enclosing_steps import within

NEXT = (
    ev.NodeStarted, ev.NodeSkipped, ev.BackwardFinished, ev.FinalCallbackCalled, ev.GradModeChanged, ev.StreamChanged,
    ev.ErrorRaised,
)  # fmt: skip
"""Events that follow a Node within a backward and do not belong to it."""


def evaluated_until(trace: Trace, started: ev.NodeStarted) -> int:
    """Return the last step of a Node's evaluation, when its results have been added to the buffers."""
    siblings, step = trace.columns.siblings, started.seq
    last = trace.ends[step]
    while (step := siblings[step]) > last:
        if isinstance(trace[step], NEXT):
            return last
        last = trace.ends[step]
    return last


def applied_until(trace: Trace, entered: ev.FunctionEntered) -> int:
    """Return the last step of ``Function.apply``, when the results of the forward have their history."""
    siblings, step = trace.columns.siblings, entered.seq
    last = trace.ends[step]
    while (step := siblings[step]) > last:
        event = trace[step]
        if isinstance(event, ev.NameBound | ev.FunctionEntered) or (
            isinstance(event, ev.SourceLine) and not event.resumed
        ):
            break
        if isinstance(event, ev.FunctionOutput) and event.node == entered.node:
            last = trace.ends[step]
    return last


def formula_of(trace: Trace, started: ev.NodeStarted, hooks: int) -> tuple[int, int] | None:
    """Return the first and the last step of a Node's formula. The first one is the event of the last hook before it.

    Return None if one of the ``hooks`` before it raised an error.
    """
    parts = list(trace.children(started.seq))
    first = next((at for at in range(len(parts) - 1, -1, -1) if _is_before(parts[at])), -1) + 1
    begin = parts[first - 1].seq if first else started.seq
    if sum(map(_is_before, parts)) < hooks and _raised(parts[first:]):
        return None
    last = _after(trace, parts, first)
    return begin, max(begin, parts[last].seq - 1 if last < len(parts) else trace.ends[started.seq])


def replaced_before(trace: Trace, started: ev.NodeStarted, begin: int) -> bool:
    """Return whether a hook before the formula, which starts at step ``begin``, returned other gradients."""
    hooks = (part for part in trace.children(started.seq) if part.seq <= begin and isinstance(part, ev.HookRan))
    return any(hook.replaced for hook in hooks)


def _raised(parts: list[ev.AnyEvent]) -> bool:
    """Return whether a Node has not returned, and only lines of the program or an error are known about it."""
    if any(isinstance(part, ev.NodeFinished) for part in parts):
        return False
    first = next((part for part in parts if not isinstance(part, ev.GradientCaptured)), None)
    return isinstance(first, ev.SourceLine | ev.ErrorRaised)


def inside_copy_slices(trace: Trace, started: ev.NodeStarted) -> tuple[int, int, int] | None:
    """Return the first and the last step of the function within a CopySlices, and the gradient that it is called with.

    ``CopySlices::apply`` clones the part of the gradient that was written to, calls the function, and copies its result
    into the gradient. Return None if it stopped before that.
    """
    calls = [part for part in trace.children(started.seq) if isinstance(part, ev.Dispatched)]
    cloned = next((at for at, call in enumerate(calls) if call.operator == "aten::clone"), None)
    if cloned is None:
        return None
    returned = within(trace, calls[cloned].seq, ev.KernelEntered)
    results = () if returned is None else _returned(trace, returned)
    begin = trace.ends[calls[cloned].seq] + 1
    last = calls[-1]
    ended = last.seq if last.operator == "aten::copy_" and last.seq >= begin else _finish(trace, started)
    return (begin, max(begin, ended - 1), results[0] if results else -1) if begin <= trace.ends[started.seq] else None


def _returned(trace: Trace, entered: ev.KernelEntered) -> tuple[int, ...]:
    last = within(trace, entered.seq, ev.KernelReturned)
    return () if last is None else last.tensors


def _finish(trace: Trace, started: ev.NodeStarted) -> int:
    finished = within(trace, started.seq, ev.NodeFinished)
    return trace.ends[started.seq] if finished is None else finished.seq


def _is_before(event: ev.AnyEvent) -> bool:
    return isinstance(event, ev.HookRan) and event.kind in BEFORE_NODE


def _after(trace: Trace, parts: list[ev.AnyEvent], first: int) -> int:
    """Return the index of the first part after the formula."""
    for at in range(first, len(parts)):
        part = parts[at]
        if isinstance(part, ev.NodeFinished | ev.VariablesReleased):
            return _casts(trace, parts, first, at)
        if isinstance(part, ev.GradientReduced):
            return _reduction(trace, parts, first, at)
        if isinstance(part, ev.HookRan) and part.kind == "post hook":
            return _lines_of(parts, first, at, part.function)
    return len(parts)


def _reduction(trace: Trace, parts: list[ev.AnyEvent], first: int, reduced: int) -> int:
    """Return the index of the ``sum`` call that reduced a gradient. Its event follows later."""
    event = parts[reduced]
    assert isinstance(event, ev.GradientReduced)
    for at in range(first, reduced):
        part = parts[at]
        if isinstance(part, ev.Dispatched) and part.operator.startswith("aten::sum"):
            computed = within(trace, part.seq, ev.KeySetComputed)
            if computed is not None and [tensor for _, tensor, _ in computed.arguments] == [event.before]:
                return at
    return reduced


def _casts(trace: Trace, parts: list[ev.AnyEvent], first: int, end: int) -> int:
    """Return the index of the first cast after the formula. PyTorch casts gradients that do not have their input's
    dtype.
    """
    while end > first and _is_cast(trace, parts[end - 1]):
        end -= 1
    return end


def _is_cast(trace: Trace, part: ev.AnyEvent) -> bool:
    if isinstance(part, ev.BindingEntered) or not isinstance(part, ev.Dispatched) or part.operator != "aten::to.dtype":
        return False
    inner = (
        each.operator for each in trace[part.seq + 1 : trace.ends[part.seq] + 1] if isinstance(each, ev.Dispatched)
    )
    return next(inner, "") == "aten::_to_copy"


def _lines_of(parts: list[ev.AnyEvent], first: int, ran: int, function: str) -> int:
    """Return the index of the program's line with which a hook began. The hook's own event comes when it has
    returned.
    """
    lines = ((at, parts[at]) for at in range(first, ran))
    begun = (at for at, part in lines if isinstance(part, ev.SourceLine) and part.function.endswith(function))
    return next(begun, ran)
