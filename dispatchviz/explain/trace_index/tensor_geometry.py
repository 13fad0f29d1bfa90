"""A tensor's key set and its strides as of a step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.trace_index import index


def key_set_of(trace: Trace, tensor: int, at: int) -> int | None:
    """As a 64-bit number; None if the trace does not know the tensor at that step."""
    made = index(trace).tensors.get(tensor)
    if made is None or made.seq > at:
        return None
    event = _last(trace, index(trace).steps_about(tensor, ev.KeySetChanged), at)
    return event.after if isinstance(event, ev.KeySetChanged) else made.key_set


def strides_of(trace: Trace, tensor: int, at: int) -> tuple[int, ...] | None:
    """In elements; None if the trace does not know the tensor at that step."""
    event = _last(trace, index(trace).steps_about(tensor, ev.TensorCreated, ev.GeometryChanged), at)
    return event.stride if isinstance(event, ev.TensorCreated | ev.GeometryChanged) else None


def _last(trace: Trace, steps: Sequence[int], at: int) -> ev.AnyEvent | None:
    place = bisect_right(steps, at)
    return trace[steps[place - 1]] if place else None
