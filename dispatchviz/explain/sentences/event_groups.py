"""The groups that the kinds of events fall into: one name and one sign each.

A new kind of event that belongs to no group fails the type check here.
"""

from __future__ import annotations

from typing import assert_never

from dispatchviz.core.record import events as ev

ProgramEvent = (
    ev.SourceLine | ev.NameBound | ev.NameUnbound | ev.Printed | ev.TensorFormatted | ev.ProgramRaised | ev.Warned
)
DispatchEvent = (
    ev.Dispatched
    | ev.KeySetComputed
    | ev.FallthroughSkipped
    | ev.KernelSelected
    | ev.KernelEntered
    | ev.KernelReturned
    | ev.ResultHashed
    | ev.Boxed
    | ev.Unboxed
    | ev.TorchDispatchEntered
    | ev.TorchDispatchLeft
)
AutocastEvent = ev.AutocastChanged | ev.AutocastCast | ev.AutocastCacheCleared
LayerEvent = ev.DynamicLayerPushed | ev.DynamicLayerPopped
StreamEvent = ev.StreamChanged | ev.StreamEventRecorded | ev.StreamWaited | ev.MemoryUsedOnStream
ThreadEvent = (
    ev.GuardEntered
    | ev.GuardLeft
    | ev.GradModeChanged
    | ev.InferenceModeChanged
    | AutocastEvent
    | LayerEvent
    | StreamEvent
)
StructuredEvent = ev.MetaEntered | ev.OutputAllocated | ev.ImplEntered | ev.ProxyCopied
TensorEvent = (
    ev.TensorCreated
    | ev.ViewMade
    | ev.VersionBumped
    | ev.GeometryChanged
    | ev.RequiresGradSet
    | ev.KeySetChanged
    | ev.BatchedTensorMade
    | ev.TensorWrapperMade
    | ev.NumbersRecorded
    | ev.InplaceChecked
    | ev.GradSet
)
TangentEvent = ev.DualLevelEntered | ev.DualLevelLeft | ev.ForwardFormulaEntered | ev.TangentSet
MemberEvent = (
    ev.SequenceNumberSet
    | ev.UndefinedInputAdded
    | ev.StackStored
    | ev.ParentAssigned
    | ev.HookRegistered
    | ev.HookRemoved
)
"""What sets a member of a Node apart from its making."""
ForwardEvent = (
    ev.NodeCreated
    | ev.EdgesCollected
    | ev.AttributeSaved
    | ev.VariableSaved
    | ev.VariableNotSaved
    | ev.SavedTensorHookRan
    | ev.AccumulatorMade
    | ev.HistorySet
    | ev.HistoryRebased
    | ev.FunctionEntered
    | ev.FunctionOutput
    | ev.NoNodeMade
    | ev.NodeDeleted
    | TangentEvent
    | MemberEvent
)
EngineEvent = (
    ev.BackwardStarted
    | ev.DependenciesCounted
    | ev.ExecInfoPopulated
    | ev.DependencyMet
    | ev.NodeQueued
    | ev.NodeSkipped
    | ev.NodeStarted
    | ev.FormulaSkipped
    | ev.NodeFinished
    | ev.HookRan
    | ev.AnomalyFound
    | ev.GradientReduced
    | ev.GradientBuffered
    | ev.GradientAccumulated
    | ev.GradientCaptured
    | ev.VariablesReleased
    | ev.FinalCallbackQueued
    | ev.FinalCallbackCalled
    | ev.BackwardFinished
)
RegistrationEvent = ev.OperatorDefined | ev.KernelRegistered | ev.CellsRecomputed

SIGNS = {
    "program": ">",
    "binding": "»",
    "dispatch": "→",
    "thread": "§",
    "structured": "≡",
    "tensor": "□",
    "forward": "○",
    "engine": "←",
    "registration": "+",
    "error": "!",
    "unknown": "?",
}
"""One character per group, all of them one cell wide; what is forward points right, what is backward points left."""


def group(event: ev.AnyEvent) -> str:
    """The group of an event, a key of ``SIGNS``."""
    if isinstance(event, ProgramEvent):
        return "error" if isinstance(event, ev.ProgramRaised | ev.Warned) else "program"
    if isinstance(event, ev.BindingEntered):
        return "binding"
    if isinstance(event, DispatchEvent):
        return "dispatch"
    if isinstance(event, ThreadEvent):
        return "thread"
    if isinstance(event, StructuredEvent):
        return "structured"
    if isinstance(event, TensorEvent):
        return "tensor"
    if isinstance(event, ForwardEvent):
        return "forward"
    if isinstance(event, EngineEvent):
        return "engine"
    if isinstance(event, RegistrationEvent):
        return "registration"
    if isinstance(event, ev.ErrorRaised):
        return "error"
    if isinstance(event, ev.Unknown):
        return "unknown"
    assert_never(event)


def sign(event: ev.AnyEvent) -> str:
    """The one-character sign of an event's group, so that groups differ in more than colour."""
    known = _signs.get(type(event))
    if known is None:
        known = _signs[type(event)] = SIGNS[group(event)]
    return known


_signs: dict[type[ev.Event], str] = {}
"""Of each kind met so far: a group is a kind's, whatever its fields."""
