"""The events of a trace: one small frozen class per kind of event, a closed union.

An event holds numbers and text, never a live object. ``seq`` is the event's position in time and its name everywhere.
``parent`` is the ``seq`` of the event during which it happened (None at the top). Events that can have children are
``Container``s. Everything that can be computed from these facts (sentences, trees, key names, tables) is computed on
demand, in ``explain`` and ``outputs``.

Numbers: tensors, Nodes, storages, version counters and graph tasks are counted from 0 in the order in which they
appear in the recording. A key set is a 64-bit number, ``DispatchKeySet::raw_repr``. Positions and indices count from 0,
lines of a file from 1.

Text: a field whose values form a closed vocabulary is a ``Literal``. An event of a trace file with another value is
opened as ``Unknown``.

There is one module for each subject. ``python -m scripts.events_page`` writes ``docs/lists/events.md`` from them.
``event_builder.py`` turns recorded notes into events, and ``trace_file`` has the value that holds them.
"""

from __future__ import annotations

from typing import get_args

from dispatchviz.core.record.events.autocast_events import *
from dispatchviz.core.record.events.binding_events import *
from dispatchviz.core.record.events.collective_events import *
from dispatchviz.core.record.events.compile_events import *
from dispatchviz.core.record.events.dispatch_events import *
from dispatchviz.core.record.events.engine_events import *
from dispatchviz.core.record.events.error_events import *
from dispatchviz.core.record.events.event import *
from dispatchviz.core.record.events.forward_ad_events import *
from dispatchviz.core.record.events.function_events import *
from dispatchviz.core.record.events.functorch_events import *
from dispatchviz.core.record.events.gradient_events import *
from dispatchviz.core.record.events.graph_events import *
from dispatchviz.core.record.events.guard_events import *
from dispatchviz.core.record.events.hook_events import *
from dispatchviz.core.record.events.node_events import *
from dispatchviz.core.record.events.program_events import *
from dispatchviz.core.record.events.registration_events import *
from dispatchviz.core.record.events.stream_events import *
from dispatchviz.core.record.events.structured_events import *
from dispatchviz.core.record.events.tensor_events import *
from dispatchviz.core.record.events.torch_dispatch_events import *

OptionalEvent = ResultHashed | NumbersRecorded | CollectiveCalled
"""The kinds that a recording has only if it is requested, or if the program is distributed."""

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
    | ModuleCalled
    | CompileStarted | GuardFailed | GraphBroken | GraphCaptured | CompileFinished | RegionCalled | RegionNodeMade
    | BackwardCompiled | NodeCaptured
    | OptionalEvent
)  # fmt: skip
"""The classes of all kinds. A new one is inserted before the optional ones: a trace file names these only if it has
some.
"""

OPTIONAL = get_args(OptionalEvent)

KINDS: tuple[type[Event], ...] = get_args(AnyEvent)
"""The same as a tuple."""
