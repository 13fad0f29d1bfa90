"""The types of all notes that may be emitted while a program runs: a closed union of tuples, each with a name and its
facts.

The type checker reads this where a note is emitted (``rec.note(("guard_left", guard, included, excluded))``). An
unknown name, a missing fact or one of another type is an error there. Each name is also that of the method of
``EventBuilder`` that reads the note, with the same facts in the same order and of the same types. A test compares them.

In notes, tensors, storages, Nodes and version counters are serial numbers of the process; key sets are raw integers.

Only type checkers and tests import this module. At run time a note is just a tuple that is copied into the list.
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
"""For each tensor argument: parameter, tensor, key set."""
Target = tuple[int, int]
"""The target of an edge: Node, input number."""
QueuedNodes = tuple[tuple[int, int], ...]
"""For each Node in the ready queue: its number, its sequence number."""
Inputs = tuple[InputMetadata, ...]
"""The metadata of a Node's inputs. The first input that is not on the CPU decides on which device's thread it runs."""
MaybeTensors = tuple[int | None, ...]
"""Tensors; None for an undefined one."""
CodeLocations = tuple[tuple[CodeType, int], ...]
"""The user's frames, outermost first: code object and instruction of each."""

# -- any event, threads, nesting --------------------------------------------------------------------------------------

EventNote = NewType("EventNote", tuple[str, Callable[..., Any], tuple[Any, ...]])
"""``("event", kind, fields)`` or ``("span", kind, fields)``, for facts that are the fields of an event. Only
``RecorderBase._emit`` and ``_emit_span`` create one: they check the fields against those of the kind.
"""

OnThread = tuple[Literal["on_thread"], int]
"""Identifier (``threading.get_ident``) of the thread to which the following notes belong."""
ContinuesThread = tuple[Literal["continues_thread"], int]
"""Identifier of the thread whose innermost open event this thread's following events belong to."""
Leave = tuple[Literal["leave"]]
"""The innermost open event ends."""

# -- the program ------------------------------------------------------------------------------------------------------

SourceLine = tuple[Literal["source_line"], str, int, str, int | None, bool, bool]
"""File, line, function, the SourceLine that called it, whether it resumes, whether a call begins."""
NameBound = tuple[Literal["name_bound"], str, int, int]
"""Variable, tensor, iteration of the line that binds (0: it has none, or it is not known)."""
NameUnbound = tuple[Literal["name_unbound"], str, int]
"""Variable, the tensor that it named."""
Printed = tuple[Literal["wrote"], str]
"""A piece of text that went to standard output. It ends where a line ends, or anywhere."""
AllWritten = tuple[Literal["all_written"]]
"""The program writes no more on this line."""
ProgramRaised = tuple[Literal["raised"], str, str, str, int, str]
"""Class and message of the exception, file and line where it was raised, its traceback."""

LineReached = tuple[Literal["line_reached"], CodeType, int]
"""The user's innermost frame begins a statement: its code, its line."""
FrameEntered = tuple[Literal["frame_entered"], CodeLocations, int]
"""Another frame than before begins a statement: all frames, its line."""
CallBegins = tuple[Literal["call_begins"], CodeLocations, int]
"""The first statement of a function that was called begins: all frames, its line."""
FrameResumed = tuple[Literal["frame_resumed"], CodeLocations]
"""Another frame continues, or another part of a statement."""
CalledFromLine = tuple[Literal["called_from_line"], CodeType, int]
"""A binding is about to be entered from the frame that emitted its line last: its code, its instruction."""
CalledFromFrame = tuple[Literal["called_from_frame"], CodeLocations]
"""A binding is about to be entered from code that does not emit its lines."""
IterationsSelected = tuple[Literal["iterations_selected"], bool]
"""Selected iterations begin or end."""
PartBegins = tuple[Literal["part_begins"]]
"""The recording continues after a part of the program that was not recorded."""
Arrival = CalledFromLine | CalledFromFrame | FrameResumed
"""The place from which a binding is entered."""

ModuleLeft = tuple[Literal["module_left"], bool]
"""The call of the innermost open module is over, and with it the line of its forward; whether it raised."""

# -- bindings ---------------------------------------------------------------------------------------------------------

BindingEntered = tuple[Literal["binding_entered"], Binding, int, tuple[str, ...]]
"""Binding, index of the signature that matched, text of the value of each of its parameters."""
BindingCalled = tuple[Literal["binding_called"], Binding, Plan, tuple[Any, ...]]
"""Binding, the plan for these types of arguments, and the arguments: numbers of tensors, plain values."""
BindingCalledAgain = tuple[Literal["binding_called_again"], tuple[Arrival, Binding, Plan, tuple[Any, ...]]]
"""The place, and a BindingCalled. They are one note, since an instruction that runs again emits the same note."""
LeaveUnlessOver = tuple[Literal["leave_unless_over"]]
"""A binding ends because of an error, unless the end of its call has ended it."""

# -- calls ------------------------------------------------------------------------------------------------------------

Called = tuple[Literal["called"], CallKind, Cell, int, int, int, ArgumentSets, int]
"""A call from the outside: method, dispatch table entry, effective set, the thread-local include and exclude sets, the
arguments' key sets, the generator's.
"""
CalledWithOne = tuple[Literal["called_with_one"], Cell, int, int, int, int, int]
"""``call`` with one tensor: entry, effective, include and exclude set, tensor, its key set."""
CalledWithTwo = tuple[Literal["called_with_two"], Cell, int, int, int, int, int, int, int]
"""``call`` with two tensors: the same, the second tensor, its key set."""
Redispatched = tuple[Literal["redispatched"], CallKind, Cell, int]
"""Method, dispatch table entry, key set."""
RedispatchedTyped = tuple[Literal["redispatched_typed"], Cell, int]
"""``redispatch``: entry, key set."""
RedispatchedWithin = tuple[Literal["redispatched_within"], Cell, int, str, int, int, int]
"""``redispatch`` within a guard: entry, key set; guard, include set, exclude set before and within it."""
Returned = tuple[Literal["returned"], tuple[int, ...]]
"""The kernel returned, which ends the call: the tensors that it returned."""
ReturnedOne = tuple[Literal["returned_one"], int]
"""The kernel returned one tensor."""
ReturnedFromWithin = tuple[Literal["returned_from_within"], int, str, int, int]
"""The kernel returned one tensor, and the guard of a RedispatchedWithin ends: tensor; guard, include and exclude set
after it.
"""
Failed = tuple[Literal["failed"]]
"""The kernel raised, which ends the call."""
NoNodeMade = tuple[Literal["no_node_made"], NoNodeReason]
"""The reason why the running autograd kernel records no Node."""

# -- guards, structured kernels ---------------------------------------------------------------------------------------

GuardEntered = tuple[Literal["guard_entered"], str, int, int, int, int]
"""Guard, include set before and within it, exclude set before and within it."""
GuardExcludes = tuple[Literal["guard_excludes"], str, int, int, int]
"""A guard that changes only the exclude set: guard, include set, exclude set before and within it."""
GuardLeft = tuple[Literal["guard_left"], str, int, int]
"""Guard, include and exclude set after it."""

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
AlikeComputed = tuple[Literal["alike_computed"], str, str, Callable[..., Any], int, Size, Size, DType, Device, int, int]
"""A structured kernel of operands that are alike: family, PyTorch's name of the impl function, our function; then as
``output_created``.
"""
AlikeInPlace = tuple[Literal["alike_in_place"], str, str, Callable[..., Any], int, Size, DType]
"""The same kernel in place: family, names as before; the tensor, its size and dtype."""
OutputPassed = tuple[Literal["output_passed"], int, Size, DType, StructuredVariant]
"""An output that was given and has the right geometry: tensor, size, dtype, variant."""
ProxyCopied = tuple[Literal["proxy_copied"], int, int]
"""Proxy, the output to which its values are copied."""

# -- tensors ----------------------------------------------------------------------------------------------------------

TensorCreated = tuple[
    Literal["tensor_created"], int, TensorOrigin, Size, Size, DType, Device, int, int, bool, bool, str
]
"""Number, origin, size, stride, dtype, device, key set, storage (-1: none), whether it requires grad, whether it is a
wrapped number, and that number as text (empty: none, or not available).
"""
VersionBumped = tuple[Literal["version_bumped"], int, int, int, int]
"""Tensor, version before and after, version counter."""

# -- autograd ---------------------------------------------------------------------------------------------------------

NodeCreated = tuple[Literal["node_created"], int, type[Node], int, int, int]
"""Number, class, sequence number, topological number, thread."""
NodeKnown = tuple[Literal["node_known"], int, type[Node], int, int, int]
"""A Node that was created before the recording: the same facts."""
EdgesCollected = tuple[Literal["edges_collected"], int, type[Node], int, tuple[Target | None, ...], MaybeTensors]
"""Node, its class, topological number, targets of the edges, the forward inputs behind them."""
TwoEdges = tuple[Literal["two_edges"], int, type[Node], int, int, int, int, int, int, int]
"""A Node with two edges that lead to Nodes: Node, its class, topological number, both targets, both tensors."""
AttributeSaved = tuple[Literal["attribute_saved"], int, str, Any]
"""Node, name, a plain value."""
HistorySet = tuple[Literal["history_set"], int, int, int]
"""Tensor, its grad_fn, output number."""

# -- the engine -------------------------------------------------------------------------------------------------------

DependencyMet = tuple[Literal["dependency_met"], int, int]
"""Node, number of gradients for which it still waits."""
DependencyMetByNothing = tuple[Literal["dependency_met_by_nothing"], int, int, bool, bool]
"""The same, whether there was a gradient, whether the Node is not needed."""
GradientBuffered = tuple[Literal["gradient_buffered"], int, int, int, BufferMethod, BufferReason]
"""Node, input number, gradient, how it was added and the reason."""
FormulaSkipped = tuple[Literal["formula_skipped"], int, int]
"""Node, the edge that needs no gradient."""
NodeQueued = tuple[Literal["node_queued"], int, int, Inputs]
"""Node, sequence number, inputs."""
NodeQueuedAmong = tuple[Literal["node_queued_among"], int, int, Inputs, QueuedNodes]
"""The same, and the queue in the order of popping, if earlier notes do not determine its content."""
NodeStarted = tuple[Literal["node_started"], int, type[Node], int, MaybeTensors, QueuedNodes | None, Inputs]
"""Node, its class, sequence number, gradients received, the queue if earlier notes do not determine its content,
inputs.
"""
NodeStartedWithOne = tuple[Literal["node_started_with_one"], int, type[Node], int, int, Inputs]
"""The same with one gradient."""
NodeFinished = tuple[Literal["node_finished"], int, MaybeTensors]
"""Node, the gradients that it returned."""
NodeFinishedWithTwo = tuple[Literal["node_finished_with_two"], int, int, int]
"""Node, the two gradients that it returned."""

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
    | IterationsSelected
    | PartBegins
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
    | AlikeComputed
    | AlikeInPlace
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
"""Any note."""

Emit = Callable[[Note], None]
"""A function that appends one note to a recording."""
