"""Whether a program has anything to do with ``cuda``: if not, nobody needs to be told what that is here."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace


def uses_cuda(trace: Trace) -> bool:
    """Whether a program names it, or a tensor of it is made."""
    return any("cuda" in source for source in trace.header.sources.values()) or _has_tensor(trace)


def _has_tensor(trace: Trace) -> bool:
    """Looked up once for as many steps: every picture of a trace asks."""
    steps, found = _known.get(trace, (-1, False))
    if steps != len(trace):
        made = (trace[step] for step in trace.steps_of(ev.TensorCreated))
        found = any(isinstance(event, ev.TensorCreated) and event.device.startswith("cuda") for event in made)
        _known[trace] = len(trace), found
    return found


_known: WeakKeyDictionary[Trace, tuple[int, bool]] = WeakKeyDictionary()
"""Of a trace: as of how many steps, and the answer."""
