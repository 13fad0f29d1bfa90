"""Ranges of steps in which the contents of panes about tensors, Nodes and the engine cannot change.

Most steps are a call's way through the dispatcher. They concern no tensor and no Node, so those panes show the same as
at the step before. Every other kind of event may change them: at its own step, within it and after its end. The same
holds for a new kind of event, until it is listed here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from weakref import WeakKeyDictionary

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.trace_index.tensor_card import storage_of
from dispatchviz.explain.trace_index.trace_index import index

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

ONE_TENSOR: Kinds = (
    *NO_TENSOR,
    ev.TensorCreated,
    ev.ViewMade,
    ev.VersionBumped,
    ev.NumbersRecorded,
    ev.HistorySet,
    ev.AttributeSaved,
    ev.VariableSaved,
    ev.VariableNotSaved,
    ev.NodeCreated,
    ev.EdgesCollected,
    ev.NodeQueued,
    ev.NodeStarted,
    ev.NodeFinished,
    ev.DependencyMet,
    ev.GradientBuffered,
    ev.ModuleCalled,
    ev.SourceLine,
)
"""Events that change nothing about a tensor, except about the one that they name and those that share its memory."""

NO_NODE: Kinds = (*NO_TENSOR, ev.TensorCreated, ev.ViewMade)
"""Events that change nothing about a Node. Separate events report what a Node has of a new tensor."""


def moment(trace: Trace, at: int, quiet: Kinds) -> int:
    """Return the number of the range that contains a step. Events of the kinds in ``quiet`` begin and end no range."""
    known = _begins.setdefault(trace, {})
    if quiet not in known:
        known[quiet] = _found(trace, quiet)
    return bisect_right(known[quiet], at)


def tensor_moment(trace: Trace, tensor: int, at: int) -> Hashable:
    """Return a value that changes when an event changes something about a tensor: also its name, and the tensors that
    share its memory.
    """
    made = index(trace).tensors.get(tensor)
    if made is None:
        return at
    storages = {made.storage, storage_of(trace, made, at)}
    return (moment(trace, at, ONE_TENSOR), *(bisect_right(_about(trace, tensor, each), at) for each in storages))


def _about(trace: Trace, tensor: int, storage: int) -> Sequence[int]:
    """Return the steps about a tensor and those that are ever on a memory."""
    known = _abouts.setdefault(trace, {})
    if (tensor if storage < 0 else ~storage) not in known:
        tensors, about = trace.columns.tensors, trace.columns.of_tensor
        mates = {tensor} if storage < 0 else {tensors[step] for step in trace.columns.of_storage.get(storage, ())}
        known[tensor if storage < 0 else ~storage] = sorted(step for each in mates for step in about.get(each, ()))
    return known[tensor if storage < 0 else ~storage]


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

_abouts: WeakKeyDictionary[Trace, dict[int, Sequence[int]]] = WeakKeyDictionary()
"""The steps about the tensors on each memory; the key is ``~storage``, or the number of a tensor without memory."""
