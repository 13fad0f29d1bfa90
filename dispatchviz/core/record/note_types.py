"""Every note that may be emitted while a program runs: a closed union of tuples, each with a name and its facts.

The type checker reads this where a note is emitted (``rec.note(("guard_left", guard, included, excluded))``): a name
that is not here, a fact too few or one of another type is an error there. Each name is also that of the method of
``EventBuilder`` that reads the note, with the same facts in the same order and of the same types; a test compares them.

In notes, tensors, storages, Nodes and version counters are serial numbers of the process; key sets are raw integers.

Only type checkers and tests import this module: what a note costs at run time is a tuple, for as long as it takes to
copy it into the list.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Literal, NewType

from dispatchviz.core.autograd.graph.input_metadata import InputMetadata
from dispatchviz.core.autograd.graph.node import Node
from dispatchviz.core.bindings.binding import Binding, Plan
from dispatchviz.core.device.device import Device
from dispatchviz.core.record.events import (
    BufferMethod,
    BufferReason,
    CallKind,
    NoNodeReason,
    SetOutputMethod,
    StructuredVariant,
    TensorOrigin,
)
from dispatchviz.core.table.operator_entry import Cell
from dispatchviz.core.tensor.dtype import DType

Size = tuple[int, ...]
"""Sizes or strides."""
ArgumentSets = tuple[tuple[str, int, int], ...]
"""Of each tensor argument: parameter, tensor, key set."""
Target = tuple[int, int]
"""Where an edge leads: Node, input number."""
QueuedNodes = tuple[tuple[int, int], ...]
"""Of each Node in the ready queue: its number, its sequence number."""
Inputs = tuple[InputMetadata, ...]
"""The metadata of a Node's inputs; the first that is not on the CPU says on which device's thread it runs."""
MaybeTensors = tuple[int | None, ...]
"""Tensors, None where there is none."""
CodeLocations = tuple[tuple[CodeType, int], ...]
"""The user's frames, outermost first: code object and instruction of each."""

# -- any event, threads, nesting --------------------------------------------------------------------------------------

EventNote = NewType("EventNote", tuple[str, Callable[..., Any], tuple[Any, ...]])
"""``("event", kind, fields)`` or ``("span", kind, fields)``, for facts that are an event as they are. Nobody but
``RecorderBase._emit`` and ``_emit_span`` makes one: they check the fields against the kind's."""

OnThread = tuple[Literal["on_thread"], int]
"""Identifier (``threading.get_ident``) of the thread that the notes after this are of."""
ContinuesThread = tuple[Literal["continues_thread"], int]
"""Identifier of the thread whose innermost open event this thread's events belong to from now on."""
Leave = tuple[Literal["leave"]]
"""The innermost open event is over."""

# -- the program ------------------------------------------------------------------------------------------------------

SourceLine = tuple[Literal["source_line"], str, int, str, int | None, bool, bool]
"""File, line, function, the SourceLine that it was called from, whether it resumes, whether a call begins."""
NameBound = tuple[Literal["name_bound"], str, int, int]
"""Variable, tensor, turn of the line that binds (0: it has none, or it is not known)."""
NameUnbound = tuple[Literal["name_unbound"], str, int]
"""Variable, the tensor that it named."""
Printed = tuple[Literal["wrote"], str]
"""A piece of text that went to standard output; ends where a line ends, or anywhere."""
AllWritten = tuple[Literal["all_written"]]
"""The program writes no more on this line."""
ProgramRaised = tuple[Literal["raised"], str, str, str, int, str]
"""Class and message of the exception, file and line that it came from, its traceback."""

LineReached = tuple[Literal["line_reached"], CodeType, int]
"""The innermost frame of the user's begins a statement: its code, its line."""
FrameEntered = tuple[Literal["frame_entered"], CodeLocations, int]
"""Another frame than before begins a statement: all frames, its line."""
CallBegins = tuple[Literal["call_begins"], CodeLocations, int]
"""The same of the first statement of a function that was called."""
FrameResumed = tuple[Literal["frame_resumed"], CodeLocations]
"""Another frame goes on, or another part of a statement."""
CalledFromLine = tuple[Literal["called_from_line"], CodeType, int]
"""A binding is about to be entered from the frame that emitted its line last: its code, its instruction."""
CalledFromFrame = tuple[Literal["called_from_frame"], CodeLocations]
"""A binding is about to be entered from code that does not announce its lines."""
Arrival = CalledFromLine | CalledFromFrame | FrameResumed
"""From where a binding is entered."""

ModuleLeft = tuple[Literal["module_left"], bool]
"""The call of the innermost open module is over, and with it the line of its forward; whether it raised."""

# -- bindings ---------------------------------------------------------------------------------------------------------

BindingEntered = tuple[Literal["binding_entered"], Binding, int, tuple[str, ...]]
"""Binding, index of the signature that matched, text of the value of each of its parameters."""
BindingCalled = tuple[Literal["binding_called"], Binding, Plan, tuple[Any, ...]]
"""Binding, what was known of these types of arguments, and the arguments: numbers of tensors, plain values."""
BindingCalledAgain = tuple[Literal["binding_called_again"], tuple[Arrival, Binding, Plan, tuple[Any, ...]]]
"""From where, and a BindingCalled: in one, since an instruction that runs again emits the same note."""
LeaveUnlessOver = tuple[Literal["leave_unless_over"]]
"""A binding is over because of an error, if it is not over with its call."""

# -- calls ------------------------------------------------------------------------------------------------------------

Called = tuple[Literal["called"], CallKind, Cell, int, int, int, ArgumentSets, int]
"""A call from the outside: how, cell, effective set, the thread's included and excluded sets, the arguments', the
generator's."""
CalledWithOne = tuple[Literal["called_with_one"], Cell, int, int, int, int, int]
"""``call`` with one tensor: cell, effective, included and excluded set, tensor, its set."""
CalledWithTwo = tuple[Literal["called_with_two"], Cell, int, int, int, int, int, int, int]
"""``call`` with two tensors: the same, the second tensor, its set."""
Redispatched = tuple[Literal["redispatched"], CallKind, Cell, int]
"""How, cell, key set."""
RedispatchedTyped = tuple[Literal["redispatched_typed"], Cell, int]
"""``redispatch``: cell, key set."""
RedispatchedWithin = tuple[Literal["redispatched_within"], Cell, int, str, int, int, int]
"""``redispatch`` within a guard: cell, key set; guard, included set, excluded set before and within it."""
Returned = tuple[Literal["returned"], tuple[int, ...]]
"""The kernel returned, and with it the call: the tensors that it gave."""
ReturnedOne = tuple[Literal["returned_one"], int]
"""The same of one tensor."""
ReturnedFromWithin = tuple[Literal["returned_from_within"], int, str, int, int]
"""The same, and the guard of a RedispatchedWithin is left: tensor; guard, included and excluded set after it."""
Failed = tuple[Literal["failed"]]
"""The kernel raised, and with it the call is over."""
NoNodeMade = tuple[Literal["no_node_made"], NoNodeReason]
"""Why the autograd kernel that runs records no Node."""

# -- guards, structured kernels ---------------------------------------------------------------------------------------

GuardEntered = tuple[Literal["guard_entered"], str, int, int, int, int]
"""Guard, included set before and within it, excluded set before and within it."""
GuardExcludes = tuple[Literal["guard_excludes"], str, int, int, int]
"""The same of one that changes the excluded set alone: guard, included set, excluded set before and within it."""
GuardLeft = tuple[Literal["guard_left"], str, int, int]
"""Guard, included and excluded set after it."""

MetaEntered = tuple[Literal["meta_entered"], str]
"""The family of structured kernels whose meta function begins: ``add_Tensor``."""
ImplEntered = tuple[Literal["impl_entered"], str, Callable[..., Any], tuple[int, ...]]
"""PyTorch's name of the kernel whose impl function begins, our function, the tensors that it writes."""
OutputAllocated = tuple[
    Literal["output_allocated"], StructuredVariant, int, bool, Size, DType, SetOutputMethod, int | None
]
"""Variant, tensor, whether it was resized, size, dtype, method of ``set_output``, proxy."""
OutputCreated = tuple[Literal["output_created"], int, Size, Size, DType, Device, int, int]
"""An output that is a new tensor: its number, size, stride, dtype, device, key set, storage."""
OutputPassed = tuple[Literal["output_passed"], int, Size, DType, StructuredVariant]
"""An output that was given and has the right geometry: tensor, size, dtype, variant."""
ProxyCopied = tuple[Literal["proxy_copied"], int, int]
"""Proxy, the output that its values are copied to."""

# -- tensors ----------------------------------------------------------------------------------------------------------

TensorCreated = tuple[
    Literal["tensor_created"], int, TensorOrigin, Size, Size, DType, Device, int, int, bool, bool, str
]
"""Number, how it was met, size, stride, dtype, device, key set, storage (-1: none), whether it requires grad, whether
it is a wrapped number, and that number as a text (empty: none, or not at hand)."""
VersionBumped = tuple[Literal["version_bumped"], int, int, int, int]
"""Tensor, version before and after, version counter."""

# -- autograd ---------------------------------------------------------------------------------------------------------

NodeCreated = tuple[Literal["node_created"], int, type[Node], int, int, int]
"""Number, class, sequence number, topological number, thread."""
NodeKnown = tuple[Literal["node_known"], int, type[Node], int, int, int]
"""The same of a Node that was made before the recording."""
EdgesCollected = tuple[Literal["edges_collected"], int, type[Node], int, tuple[Target | None, ...], MaybeTensors]
"""Node, its class, topological number, where the edges lead, the forward inputs behind them."""
TwoEdges = tuple[Literal["two_edges"], int, type[Node], int, int, int, int, int, int, int]
"""The same of two edges that lead somewhere: Node, its class, topological number, both targets, both tensors."""
AttributeSaved = tuple[Literal["attribute_saved"], int, str, Any]
"""Node, name, a plain value."""
HistorySet = tuple[Literal["history_set"], int, int, int]
"""Tensor, its grad_fn, output number."""

# -- the engine -------------------------------------------------------------------------------------------------------

DependencyMet = tuple[Literal["dependency_met"], int, int]
"""Node, how many gradients it still waits for."""
DependencyMetByNothing = tuple[Literal["dependency_met_by_nothing"], int, int, bool, bool]
"""The same, whether there was a gradient, whether the Node is not needed."""
GradientBuffered = tuple[Literal["gradient_buffered"], int, int, int, BufferMethod, BufferReason]
"""Node, input number, gradient, how it was added and why so."""
FormulaSkipped = tuple[Literal["formula_skipped"], int, int]
"""Node, the edge that needs no gradient."""
NodeQueued = tuple[Literal["node_queued"], int, int, Inputs]
"""Node, sequence number, inputs."""
NodeQueuedAmong = tuple[Literal["node_queued_among"], int, int, Inputs, QueuedNodes]
"""The same where the notes so far do not say what is in the queue; the queue in the order of popping."""
NodeStarted = tuple[Literal["node_started"], int, type[Node], int, MaybeTensors, QueuedNodes | None, Inputs]
"""Node, its class, sequence number, gradients received, the queue where the notes so far do not say what is in it,
inputs."""
NodeStartedWithOne = tuple[Literal["node_started_with_one"], int, type[Node], int, int, Inputs]
"""The same with one gradient."""
NodeFinished = tuple[Literal["node_finished"], int, MaybeTensors]
"""Node, the gradients that it returned."""
NodeFinishedWithTwo = tuple[Literal["node_finished_with_two"], int, int, int]
"""The same of two gradients."""

ProgramNote = (
    SourceLine
    | NameBound
    | NameUnbound
    | Printed
    | AllWritten
    | ProgramRaised
    | LineReached
    | FrameEntered
    | CallBegins
    | FrameResumed
    | CalledFromLine
    | CalledFromFrame
    | BindingEntered
    | BindingCalled
    | BindingCalledAgain
    | LeaveUnlessOver
    | ModuleLeft
)
CallNote = (
    Called
    | CalledWithOne
    | CalledWithTwo
    | Redispatched
    | RedispatchedTyped
    | RedispatchedWithin
    | Returned
    | ReturnedOne
    | ReturnedFromWithin
    | Failed
    | NoNodeMade
    | GuardEntered
    | GuardExcludes
    | GuardLeft
    | MetaEntered
    | ImplEntered
    | OutputAllocated
    | OutputCreated
    | OutputPassed
    | ProxyCopied
)
AutogradNote = (
    TensorCreated
    | VersionBumped
    | NodeCreated
    | NodeKnown
    | EdgesCollected
    | TwoEdges
    | AttributeSaved
    | HistorySet
    | DependencyMet
    | DependencyMetByNothing
    | GradientBuffered
    | FormulaSkipped
    | NodeQueued
    | NodeQueuedAmong
    | NodeStarted
    | NodeStartedWithOne
    | NodeFinished
    | NodeFinishedWithTwo
)
Note = EventNote | OnThread | ContinuesThread | Leave | ProgramNote | CallNote | AutogradNote
"""Any of them."""

Emit = Callable[[Note], None]
"""Appends one note to a recording."""
