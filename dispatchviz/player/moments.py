"""Between which steps nothing can change in what panes say of tensors, Nodes and the engine.

Most steps are a call's way through the dispatcher. They tell nothing of a tensor or a Node: what a pane says of these
is at such a step what it was at the one before. Every other kind of event may change it: at its own step, within it,
and behind its end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

CALLS = (ev.BindingEntered, ev.Dispatched)
"""That a function is called, which is a use of its arguments."""

ON_THE_WAY = (
    ev.KeySetComputed,
    ev.FallthroughSkipped,
    ev.KernelSelected,
    ev.KernelEntered,
    ev.KernelReturned,
    ev.Boxed,
    ev.Unboxed,
    ev.GuardEntered,
    ev.GuardLeft,
    ev.MetaEntered,
    ev.OutputAllocated,
    ev.ImplEntered,
    ev.ProxyCopied,
    ev.Printed,
)
"""What else tells nothing of tensors and Nodes that another event does not tell."""


def moment(trace: Trace, at: int, calls: bool = False) -> int:
    """The number of the stretch of steps that a step is in; ``calls`` begin and end one, too."""
    known = _moments.setdefault(trace, {})
    if calls not in known:
        known[calls] = _begins(trace, ON_THE_WAY if calls else (*ON_THE_WAY, *CALLS))
    return bisect_right(known[calls], at)


def _begins(trace: Trace, quiet: tuple[type[ev.Event], ...]) -> Sequence[int]:
    """The steps that begin a stretch."""
    codes = {trace.columns.code(kind) for kind in quiet}
    telling = (step for step, kind in enumerate(trace.columns.kinds) if kind not in codes)
    return sorted({begin for step in telling for begin in (step, step + 1, trace.ends[step] + 1)})


_moments: WeakKeyDictionary[Trace, dict[bool, Sequence[int]]] = WeakKeyDictionary()
