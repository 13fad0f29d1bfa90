"""The content of a stack of IValues, in words: ``Tensor x, Double 2.0``."""

from __future__ import annotations

from bisect import bisect_right

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.display_names import with_names

NAMING = ("Tensor", "GenericList", "Tuple", "GenericDict")
"""The tags of values whose text names tensors."""

HANDS_ON = ("autograd_fallback",)
"""The boxed C++ kernels that redispatch with the unchanged stack."""


def stack_values(trace: Trace, event: ev.Boxed | ev.Unboxed) -> list[str]:
    """Each value with the tag of its IValue, deepest first; empty if the trace does not record them."""
    values = []
    for tag, text in event.contents:
        shown = with_names(trace, text, event.seq) if tag in NAMING else text
        values.append(text if tag == text else f"{tag} {shown}")
    return values


def stack_at(trace: Trace, call: ev.Dispatched) -> ev.Boxed | ev.Unboxed | None:
    """The step that records the arguments on the stack of a call, where they are pushed or later popped.

    None if there is no stack, or its values are never recorded because the kernel is boxed and written in C++.
    """
    kernel = next((each for each in trace.children(call.seq) if isinstance(each, ev.KernelEntered)), None)
    if kernel is None:
        return None
    at = _first_conversion(trace, kernel.seq)
    event = None if at is None or at > trace.ends[kernel.seq] else trace[at]
    if not isinstance(event, (ev.Boxed, ev.Unboxed)) or event.operator != call.operator:
        return None
    if event.parent == kernel.seq:
        return event
    handed = next((each for each in trace.ancestors(event.seq) if isinstance(each, ev.Dispatched)), None)
    return event if kernel.kernel in HANDS_ON and handed is not None and handed.how == "redispatchBoxed" else None


def _first_conversion(trace: Trace, after: int) -> int | None:
    found = [
        steps[place]
        for kind in (ev.Boxed, ev.Unboxed)
        if (place := bisect_right(steps := trace.steps_of(kind), after)) < len(steps)
    ]
    return min(found, default=None)
