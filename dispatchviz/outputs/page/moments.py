"""Between which steps nothing can change in what panes say of tensors, Nodes and the engine.

Most steps are a call's way through the dispatcher. They tell nothing of a tensor or a Node: what a pane says of these
is at such a step what it was at the one before. Every other kind of event may change it: at its own step, within it,
and behind its end. So may a new kind, until it is named here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace

Kinds = tuple[type[ev.Event], ...]

WAY: Kinds = (
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
    ev.NoNodeMade,
    ev.InplaceChecked,
    ev.Printed,
)
"""What tells nothing of tensors and Nodes that another event does not tell."""

NO_TENSOR: Kinds = (*WAY, ev.BindingEntered, ev.Dispatched)
"""What changes nothing of a tensor but that a call has got it."""

NO_NODE: Kinds = (*NO_TENSOR, ev.TensorCreated, ev.ViewMade)
"""What changes nothing of a Node: it is told with events of its own what it has of a tensor that is made."""


def moment(trace: Trace, at: int, quiet: Kinds) -> int:
    """The number of the stretch of steps that a step is in, where kinds in ``quiet`` begin and end none."""
    known = _begins.setdefault(trace, {})
    if quiet not in known:
        known[quiet] = _found(trace, quiet)
    return bisect_right(known[quiet], at)


def _found(trace: Trace, quiet: Kinds) -> Sequence[int]:
    codes = {trace.columns.code(kind) for kind in quiet}
    telling = (step for step, kind in enumerate(trace.columns.kinds) if kind not in codes)
    return sorted({begin for step in telling for begin in (step, step + 1, trace.ends[step] + 1)})


_begins: WeakKeyDictionary[Trace, dict[Kinds, Sequence[int]]] = WeakKeyDictionary()
"""The steps that begin a stretch."""
