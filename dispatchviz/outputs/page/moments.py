"""Ranges of steps in which the contents of panes about tensors, Nodes and the engine cannot change.

Most steps are a call's way through the dispatcher. They concern no tensor and no Node, so those panes show the same as
at the step before. Every other kind of event may change them: at its own step, within it and after its end. The same
holds for a new kind of event, until it is listed here.
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
"""Events that report nothing about tensors and Nodes that another event does not report."""

NO_TENSOR: Kinds = (*WAY, ev.BindingEntered, ev.Dispatched)
"""Events that change nothing about a tensor, except that a call receives it."""

NO_NODE: Kinds = (*NO_TENSOR, ev.TensorCreated, ev.ViewMade)
"""Events that change nothing about a Node. Separate events report what a Node has of a new tensor."""


def moment(trace: Trace, at: int, quiet: Kinds) -> int:
    """Return the number of the range that contains a step. Events of the kinds in ``quiet`` begin and end no range."""
    known = _begins.setdefault(trace, {})
    if quiet not in known:
        known[quiet] = _found(trace, quiet)
    return bisect_right(known[quiet], at)


def _found(trace: Trace, quiet: Kinds) -> Sequence[int]:
    codes = {trace.columns.code(kind) for kind in quiet}
    telling = (step for step, kind in enumerate(trace.columns.kinds) if kind not in codes)
    return sorted({begin for step in telling for begin in (step, step + 1, trace.ends[step] + 1)})


def changes(trace: Trace, *kinds: type[ev.Event]) -> set[int]:
    """Return the first step, and the steps at which something changes that holds during events of some kinds: those
    events themselves, and the step after the end of each.
    """
    steps, ends = trace.steps_of(*kinds), trace.ends
    return {0, *steps, *(ends[step] + 1 for step in steps)} - {len(trace)}


_begins: WeakKeyDictionary[Trace, dict[Kinds, Sequence[int]]] = WeakKeyDictionary()
"""The steps that begin a range."""
