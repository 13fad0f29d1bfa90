"""The call that made a tensor or wrote to it: the outermost call of that tensor around a step."""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace


def maker(trace: Trace, seq: int, tensor: int) -> ev.Dispatched | None:
    """Return the call that made a tensor at a step: the outermost one that returns it, or else the innermost one
    around.
    """
    calls = list(calls_around(trace, seq))
    returning = [call for call in calls if returns(trace, call.seq, tensor)]
    return returning[-1] if returning else next(iter(calls), None)


def calls_around(trace: Trace, seq: int) -> Iterator[ev.Dispatched]:
    """Yield the calls around a step, innermost first, up to the running Node or the user's own Function."""
    for event in trace.ancestors(seq):
        if isinstance(event, ev.NodeStarted | ev.FunctionEntered | ev.SourceLine):
            return
        if isinstance(event, ev.Dispatched):
            yield event


def returns(trace: Trace, call: int, tensor: int) -> bool:
    """Return whether the kernel of a call returns a tensor. That is the last event of a call that returns."""
    last = trace[trace.ends[call]]
    return isinstance(last, ev.KernelReturned) and tensor in last.tensors


def plain(call: ev.Dispatched) -> str:
    """Return the name of an operator: ``add.Tensor``. Operators of other namespaces keep theirs."""
    return call.operator.removeprefix("aten::")
