"""The events of a trace: one small frozen class per kind of event, a closed union.

An event holds numbers and text, never a live object. ``seq`` is the order of happening and the event's name everywhere;
``parent`` is the ``seq`` of the event during which it happened (None at the top). Events that can have children are
listed in ``CONTAINERS``. What can be computed from these facts (sentences, trees, key names, tables) is computed on
demand, in ``explain`` and ``render``.

Numbers: tensors, Nodes, storages, version counters and graph tasks are counted from 0 in the order in which the
recording met them. A key set is a 64-bit number, ``DispatchKeySet::raw_repr``. Positions and indices count from 0,
lines of a file from 1.

Text: a field whose values form a closed vocabulary is a ``Literal``. An event of a trace file that has another value is
opened as ``Unknown``.

One module for each subject; ``docs/events.md`` is written from them (``python -m scripts.events_page``).
Not here: what makes events of what was recorded (``event_builder.py``), the value that holds them (``trace_file``).
"""

from __future__ import annotations

from dispatchviz.core.record.events.autocast_events import (
    AutocastCacheCleared,
    AutocastCast,
    AutocastChanged,
    CastMethod,
)
from dispatchviz.core.record.events.binding_events import BindingEntered
from dispatchviz.core.record.events.dispatch_events import (
    Boxed,
    CallKind,
    CellReason,
    Dispatched,
    FallthroughSkipped,
    IValueTag,
    KernelEntered,
    KernelReturned,
    KernelSelected,
    KeySetComputed,
    ResultHashed,
    Unboxed,
)
from dispatchviz.core.record.events.engine_events import (
    AnomalyFound,
    BackwardFinished,
    BackwardStarted,
    DependenciesCounted,
    DependencyMet,
    ExecInfoPopulated,
    FinalCallbackCalled,
    FinalCallbackQueued,
    FormulaSkipped,
    NodeFinished,
    NodeQueued,
    NodeSkipped,
    NodeStarted,
    PruneReason,
    VariablesReleased,
)
from dispatchviz.core.record.events.error_events import ErrorRaised, Unknown
from dispatchviz.core.record.events.event import Event
from dispatchviz.core.record.events.forward_ad_events import (
    DualLevelEntered,
    DualLevelLeft,
    ForwardFormulaEntered,
    ForwardFormulaKind,
    TangentSet,
    TangentSource,
)
from dispatchviz.core.record.events.function_events import (
    FunctionEntered,
    FunctionOutput,
    OutputHistory,
    OutputMark,
)
from dispatchviz.core.record.events.functorch_events import (
    BatchedTensorMade,
    DynamicLayerPopped,
    DynamicLayerPushed,
    PopReason,
    PushReason,
    TensorWrapperMade,
    Transform,
)
from dispatchviz.core.record.events.gradient_events import (
    AccumulationMethod,
    BufferMethod,
    BufferReason,
    GradientAccumulated,
    GradientBuffered,
    GradientCaptured,
    GradientReduced,
)
from dispatchviz.core.record.events.graph_events import (
    AccumulatorMade,
    AttributeSaved,
    EdgesCollected,
    HistoryRebased,
    HistorySet,
    NodeCreated,
    NodeDeleted,
    NoNodeMade,
    NoNodeReason,
    VariableNotSaved,
    VariableSaved,
)
from dispatchviz.core.record.events.guard_events import GradModeChanged, GuardEntered, GuardLeft, InferenceModeChanged
from dispatchviz.core.record.events.hook_events import (
    HookKind,
    HookRan,
    HookRegistered,
    HookRemoved,
    SavedTensorHookKind,
    SavedTensorHookRan,
)
from dispatchviz.core.record.events.node_events import (
    ParentAssigned,
    SequenceNumberSet,
    StackStored,
    UndefinedInputAdded,
)
from dispatchviz.core.record.events.program_events import (
    FormattingMethod,
    NameBound,
    NameUnbound,
    Printed,
    ProgramRaised,
    SourceLine,
    TensorFormatted,
    Warned,
)
from dispatchviz.core.record.events.registration_events import CellsRecomputed, KernelRegistered, OperatorDefined
from dispatchviz.core.record.events.stream_events import (
    EventPurpose,
    MemoryUsedOnStream,
    StreamChanged,
    StreamEventRecorded,
    StreamUse,
    StreamWaited,
)
from dispatchviz.core.record.events.structured_events import (
    ImplEntered,
    MetaEntered,
    OutputAllocated,
    ProxyCopied,
    SetOutputMethod,
    StructuredVariant,
)
from dispatchviz.core.record.events.tensor_events import (
    CreationMeta,
    GeometryChanged,
    GradSet,
    InplaceChecked,
    InplaceVerdict,
    KeySetChanged,
    NumbersRecorded,
    RequiresGradSet,
    TensorCreated,
    TensorOrigin,
    VersionBumped,
    ViewMade,
)
from dispatchviz.core.record.events.torch_dispatch_events import (
    TorchDispatchEntered,
    TorchDispatchKind,
    TorchDispatchLeft,
)

__all__ = [
    "CONTAINERS",
    "OPTIONAL",
    "AccumulationMethod",
    "AccumulatorMade",
    "AnomalyFound",
    "AnyEvent",
    "AttributeSaved",
    "AutocastCacheCleared",
    "AutocastCast",
    "AutocastChanged",
    "BackwardFinished",
    "BackwardStarted",
    "BatchedTensorMade",
    "BindingEntered",
    "Boxed",
    "BufferMethod",
    "BufferReason",
    "CallKind",
    "CastMethod",
    "CellReason",
    "CellsRecomputed",
    "CreationMeta",
    "DependenciesCounted",
    "DependencyMet",
    "Dispatched",
    "DualLevelEntered",
    "DualLevelLeft",
    "DynamicLayerPopped",
    "DynamicLayerPushed",
    "EdgesCollected",
    "ErrorRaised",
    "Event",
    "EventPurpose",
    "ExecInfoPopulated",
    "FallthroughSkipped",
    "FinalCallbackCalled",
    "FinalCallbackQueued",
    "FormattingMethod",
    "FormulaSkipped",
    "ForwardFormulaEntered",
    "ForwardFormulaKind",
    "FunctionEntered",
    "FunctionOutput",
    "GeometryChanged",
    "GradModeChanged",
    "GradSet",
    "GradientAccumulated",
    "GradientBuffered",
    "GradientCaptured",
    "GradientReduced",
    "GuardEntered",
    "GuardLeft",
    "HistoryRebased",
    "HistorySet",
    "HookKind",
    "HookRan",
    "HookRegistered",
    "HookRemoved",
    "IValueTag",
    "ImplEntered",
    "InferenceModeChanged",
    "InplaceChecked",
    "InplaceVerdict",
    "KernelEntered",
    "KernelRegistered",
    "KernelReturned",
    "KernelSelected",
    "KeySetChanged",
    "KeySetComputed",
    "MemoryUsedOnStream",
    "MetaEntered",
    "NameBound",
    "NameUnbound",
    "NoNodeMade",
    "NoNodeReason",
    "NodeCreated",
    "NodeDeleted",
    "NodeFinished",
    "NodeQueued",
    "NodeSkipped",
    "NodeStarted",
    "NumbersRecorded",
    "OperatorDefined",
    "OutputAllocated",
    "OutputHistory",
    "OutputMark",
    "ParentAssigned",
    "PopReason",
    "Printed",
    "ProgramRaised",
    "ProxyCopied",
    "PruneReason",
    "PushReason",
    "RequiresGradSet",
    "ResultHashed",
    "SavedTensorHookKind",
    "SavedTensorHookRan",
    "SequenceNumberSet",
    "SetOutputMethod",
    "SourceLine",
    "StackStored",
    "StreamChanged",
    "StreamEventRecorded",
    "StreamUse",
    "StreamWaited",
    "StructuredVariant",
    "TangentSet",
    "TangentSource",
    "TensorCreated",
    "TensorFormatted",
    "TensorOrigin",
    "TensorWrapperMade",
    "TorchDispatchEntered",
    "TorchDispatchKind",
    "TorchDispatchLeft",
    "Transform",
    "Unboxed",
    "UndefinedInputAdded",
    "Unknown",
    "VariableNotSaved",
    "VariableSaved",
    "VariablesReleased",
    "VersionBumped",
    "ViewMade",
    "Warned",
]

AnyEvent = (
    SourceLine | NameBound | NameUnbound | Printed | TensorFormatted | ProgramRaised
    | BindingEntered
    | Dispatched | KeySetComputed | FallthroughSkipped | KernelSelected | KernelEntered | KernelReturned
    | Boxed | Unboxed
    | TorchDispatchEntered | TorchDispatchLeft
    | GuardEntered | GuardLeft | GradModeChanged | InferenceModeChanged
    | AutocastChanged | AutocastCast | AutocastCacheCleared
    | StreamChanged | StreamEventRecorded | StreamWaited | MemoryUsedOnStream
    | DynamicLayerPushed | DynamicLayerPopped
    | MetaEntered | OutputAllocated | ImplEntered | ProxyCopied
    | TensorCreated | ViewMade | VersionBumped | GeometryChanged | RequiresGradSet | KeySetChanged
    | BatchedTensorMade | TensorWrapperMade
    | NodeCreated | EdgesCollected | AttributeSaved | VariableSaved | VariableNotSaved | SavedTensorHookRan
    | AccumulatorMade | HistorySet | HistoryRebased | FunctionEntered | FunctionOutput | NoNodeMade
    | DualLevelEntered | DualLevelLeft | ForwardFormulaEntered | TangentSet
    | BackwardStarted | DependenciesCounted | ExecInfoPopulated | DependencyMet | NodeQueued | NodeSkipped
    | NodeStarted | FormulaSkipped | NodeFinished | HookRan
    | AnomalyFound | GradientReduced | GradientBuffered | GradientAccumulated | GradientCaptured
    | VariablesReleased | BackwardFinished
    | OperatorDefined | KernelRegistered | CellsRecomputed
    | ErrorRaised | Unknown
    | Warned
    | InplaceChecked | GradSet
    | SequenceNumberSet | UndefinedInputAdded | StackStored | ParentAssigned | HookRegistered | HookRemoved
    | FinalCallbackQueued | FinalCallbackCalled
    | NodeDeleted
    | ResultHashed | NumbersRecorded
)  # fmt: skip
"""The last ones are only in recordings that were asked for them (``OPTIONAL``)."""

OPTIONAL = (ResultHashed, NumbersRecorded)
"""The kinds that a recording has if it was asked for them."""

CONTAINERS = (
    SourceLine, TensorFormatted, BindingEntered, Dispatched, KernelEntered, MetaEntered, ImplEntered,
    TorchDispatchEntered, GuardEntered, FunctionEntered, ForwardFormulaEntered, BackwardStarted, NodeStarted,
)  # fmt: skip
"""Kinds that can be the parent of others."""
