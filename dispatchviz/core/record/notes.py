"""What is noted while a program runs: every kind of event has one method here, or a note that the machine writes.

The machine says what happens with live objects (``recorder.active.version_bumped(tensor)``); a Recorder numbers them
in the order in which it meets them and notes the facts, in a flat list; that is all that is done while it runs.
``transcript.py`` makes events of the notes when somebody looks. No note holds a tensor or a Node alive.
A recorder that fails is dropped with a warning and never changes what the program computes.

Rule 1: a note is a number, a word or another value that cannot change. What can is put into words at once.
Rule 2: before registrations change, the notes are read: what is said of a cell holds for the moment of the call.
Rule 3: notes have the serial numbers of tensors, storages and Nodes; the transcript counts them from 0.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dispatchviz.core.call.dispatcher import generator_keys, tensor_arguments
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.transcript import Transcript, source_of
from dispatchviz.core.seam import recorder
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.core.thread import thread_state
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.autograd.engine.graph_task import GraphTask
    from dispatchviz.core.autograd.function.python_function import FunctionBase
    from dispatchviz.core.autograd.graph.edge import Edge
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.autograd.graph.saved_variable import SavedVariable
    from dispatchviz.core.bindings.binding import Binding, Plan
    from dispatchviz.core.kernel.kernel_function import Kernel
    from dispatchviz.core.keys.keys import DispatchKey
    from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
    from dispatchviz.core.tensor.dtype import DType
    from dispatchviz.core.tensor.tensor import Tensor

_tensor_numbers, _storage_numbers, _node_numbers, _counter_numbers = count(), count(), count(), count()
"""Serial numbers over all recordings: an object numbered before this recording began is new to it."""

_introducing = threading.RLock()
"""Held while something gets its number that several threads may meet at once."""

KNOWN = "known before"
"""How a tensor came into sight that was there before the recording."""

Method = TypeVar("Method", bound=Callable[..., Any])


def _harmless(method: Method) -> Method:
    """A failure inside a recorder ends the recording, not the program."""

    @functools.wraps(method)
    def guarded(self: Recorder, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.finds_callers:
                self.find_caller()
            return method(self, *args, **kwargs)
        except Exception as error:
            self.give_up(error)
            return None

    return cast(Method, guarded)


def catches_itself(method: Method) -> Method:
    """For methods that every call passes through: they have the net inside, where it costs nothing."""
    method._catches_itself = True  # type: ignore[attr-defined]
    return method


class _EverySeamHarmless(type):
    """Puts a net around all public methods, so that none can be forgotten."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> type:
        for key, value in space.items():
            if callable(value) and not key.startswith("_") and not hasattr(value, "_catches_itself"):
                space[key] = _harmless(value)
        return super().__new__(cls, name, bases, space)


def _thread_begins() -> None:
    """A thread starts, or uses the machine for the first time."""
    if recorder.active is not None:
        recorder.active.tell_threads_apart()


def _told_start(self: threading.Thread) -> None:
    _thread_begins()
    _start(self)


_start = threading.Thread.start
recorder.while_listening(threading.Thread, start=_told_start)
thread_state.when_one_begins = _thread_begins
"""For threads that ``threading`` does not know."""


class Recorder(metaclass=_EverySeamHarmless):
    """Notes what the machine does."""

    def __init__(self, transcript: Transcript | None = None) -> None:
        self.failed: Exception | None = None
        self.notes: list[Any] = []
        self.note: Callable[[tuple[Any, ...]], None] = self.notes.extend
        """Takes one note: the name of a method of ``Transcript`` and its arguments."""
        self.transcript = transcript or Transcript()
        self.tensor_numbers, self.storage_numbers, self.node_numbers = _tensor_numbers, _storage_numbers, _node_numbers
        self.first_tensor = self.first_storage = self.first_node = self.first_counter = 0
        self.state: thread_state.State | None = None
        """That of the recording thread, as long as there is no other, be it the one of a device's thread."""
        self.finds_callers = False
        """Whoever notes something that may come straight from the user's code lets it find the caller first."""
        self.found = False
        """The caller of the call that comes next has just been noted."""
        self.kernels: set[int] = set()
        """``id`` of code objects whose callers are found already, as far as met: kernels, bindings."""
        self._last_error: BaseException | None = None
        self._graph_tasks: dict[int, int] = {}

    def begin(self) -> None:
        """Whatever is met from now on is new."""
        self.first_tensor = self.transcript.first_tensor = next(_tensor_numbers) + 1
        self.first_storage = self.transcript.first_storage = next(_storage_numbers) + 1
        self.first_node = self.transcript.first_node = next(_node_numbers) + 1
        self.first_counter = self.transcript.first_counter = next(_counter_numbers) + 1
        self.state = None if thread_state.several() else thread.state
        if not thread_state.alone:
            self.tell_threads_apart()

    @catches_itself
    def find_caller(self, parsed: bool = True, called: bool = False) -> None:
        """Notes where the user's code stands, if it has moved.

        ``parsed``: a binding around has told that; ``called``: so has what called the kernel around.
        """

    @property
    def events(self) -> list[ev.AnyEvent]:
        """Everything told so far."""
        self.settle()
        return self.transcript.events

    def settle(self) -> None:
        """Reads the notes."""
        if self.notes:
            self.transcript.read(self.notes)

    @catches_itself
    def give_up(self, error: Exception) -> None:
        """Drops out after a failure of its own."""
        self.failed = error
        recorder.stop(self)
        told = len(self.transcript.events)
        warnings.warn(f"recording stopped at event {told}: {error!r}", RuntimeWarning, stacklevel=3)

    def states_change(self) -> None:
        """From now on a thread may carry the state of another one."""
        self.state = None
        recorder.listening_changes()

    def tell_threads_apart(self) -> None:
        """From now on every note of another thread than the recording one says whose it is."""
        self.state = None
        self.note = functools.partial(_note_of_thread, self.notes, self.transcript.thread)
        recorder.listening_changes()

    # -- numbering and nesting ----------------------------------------------------------------------------------------

    def _add(self, kind: Any, *fields: Any) -> None:
        """An event of which no note is worth having: the fields are its own, numbers counted from 0."""
        self.note(("event", kind, fields))

    def _enter(self, kind: Any, *fields: Any) -> None:
        self.note(("enter", kind, fields))

    @catches_itself
    def leave(self) -> None:
        """The innermost open event is over."""
        self.note(recorder.LEAVE)

    @catches_itself
    def serial(self, tensor: Tensor) -> int:
        """Serial number of a tensor; the first sight of one that was there before is an event."""
        number = tensor._number
        return number if number >= self.first_tensor else self._introduced(tensor)

    def _introduced(self, tensor: Tensor) -> int:
        try:
            return self._introduce(tensor, KNOWN)
        except Exception as error:
            self.give_up(error)
            return 0

    def _tensor(self, tensor: Tensor) -> int:
        """Number of a tensor in this recording."""
        number = tensor._number
        return (number if number >= self.first_tensor else self._introduce(tensor, KNOWN)) - self.first_tensor

    def _tensor_or_none(self, tensor: Tensor | None) -> int | None:
        return None if tensor is None else self._tensor(tensor)

    def _introduce(self, tensor: Tensor, how: str) -> int:
        if thread_state.alone:
            return self._note_tensor(tensor, how)
        with _introducing:  # two threads may meet a tensor at the same time
            known = tensor._number
            return known if known >= self.first_tensor else self._note_tensor(tensor, how)

    def _note_tensor(self, tensor: Tensor, how: str) -> int:
        if self.finds_callers and tensor._wrapped_number:  # while a binding parses its arguments
            self.find_caller(parsed=False)
        number = next(_tensor_numbers)
        storage = tensor._storage
        if storage._number < self.first_storage and storage.buffer is not None:
            storage._number = next(_storage_numbers)
        self.note(
            (
                "tensor_created",
                number,
                how,
                tensor._size,
                tensor._stride,
                tensor._dtype,
                tensor._device,
                tensor._ks,
                -1 if storage.buffer is None else storage._number,
                tensor._requires_grad or tensor._grad_fn is not None,
                tensor._wrapped_number,
            )
        )
        tensor._number = number  # only now: from here on another thread may speak of it
        return number

    def _counter(self, tensor: Tensor) -> int:
        """Serial number of its version counter."""
        counter = tensor._version_counter
        if counter.number < self.first_counter:
            with _introducing:
                if counter.number < self.first_counter:
                    counter.number = next(_counter_numbers)
        return counter.number

    def _node(self, node: Node) -> int:
        """Number of a Node; one made before the recording began is told as if it were made now."""
        number = node._number
        return (number if number >= self.first_node else self._introduce_node(node)) - self.first_node

    def _node_serial(self, node: Node) -> int:
        number = node._number
        return number if number >= self.first_node else self._introduce_node(node)

    def _target(self, edge: Edge) -> tuple[int, int] | None:
        return None if edge.function is None else (self._node_serial(edge.function), edge.input_nr)

    def _introduce_node(self, node: Node) -> int:
        with _introducing:
            known = node._number
            return known if known >= self.first_node else self._note_node(node)

    def _note_node(self, node: Node) -> int:
        number = next(_node_numbers)
        self.note(("node_known", number, node.__class__, node.sequence_nr, node._topological_nr, node.thread_id))
        node._number = number
        return number

    # -- program ------------------------------------------------------------------------------------------------------

    def source_line(self, file: str, line: int) -> None:
        """A line of the program begins; at the top it stays open until the next."""
        self._last_error = None  # it would keep its frames, and their tensors, alive
        self.note(("source_line", file, line, "", None))

    @catches_itself
    def name_bound(self, name: str, tensor: Tensor) -> None:
        """A variable of the program names a tensor."""
        try:
            self.note(("name_bound", name, self.serial(tensor)))
        except Exception as error:
            self.give_up(error)

    def wrote(self, text: str) -> None:
        """The program writes to its standard output; told in pieces that end where a line ends or another begins."""
        self.note(("wrote", text))

    def tensor_formatted(self, tensor: Tensor, function: str) -> None:
        """Opens the event of a tensor that is put into words."""
        self._enter(ev.TensorFormatted, self._tensor(tensor), function)

    def program_raised(self, error: BaseException, file: str, line: int) -> None:
        """The last event of a program that failed."""
        self.note(("raised", type(error).__name__, in_words(error), file, line))

    # -- binding ------------------------------------------------------------------------------------------------------

    def binding_entered(self, binding: Binding, signature: int, values: Sequence[Any]) -> None:
        """Opens the event of a Python binding; ``values`` are those of the parameters of the signature that matched."""
        self._last_error = None
        self.note(("binding_entered", binding, signature, tuple([self._word(value) for value in values])))

    @catches_itself
    def binding_called(self, binding: Binding, plan: Plan, args: tuple[Any, ...]) -> None:
        """The same by a plan: the arguments are tensors and plain values, the parser was not asked."""
        try:
            self._last_error = None
            self.note(("binding_called", binding, plan, self._facts(plan, args)))
        except Exception as error:
            self.give_up(error)

    def _facts(self, plan: Plan, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with serial numbers in the places of tensors."""
        return tuple([self.serial(arg) if tensor else arg for arg, tensor in zip(args, plan.tensors, strict=True)])

    def _word(self, value: Any) -> str:
        if hasattr(value, "_ks"):
            return str(value._array.item()) if value._wrapped_number else f"t{self._tensor(value)}"
        if isinstance(value, (list, tuple)) and type(value).__repr__ in (list.__repr__, tuple.__repr__):
            return "[" + ", ".join(self._word(part) for part in value) + "]"
        return in_words(value) if not isinstance(value, str) else repr(value)

    # -- dispatch -----------------------------------------------------------------------------------------------------

    @catches_itself
    def called(self, how: str, cell: Cell, ks: int, args: Sequence[Any]) -> None:
        """A full dispatch begins, with all arguments in schema order; the cell and the effective set are chosen."""
        try:
            if self.finds_callers:
                self.find_caller()
            state = thread.state
            arguments = tensor_arguments(cell.operator, args)
            sets = tuple([(name, self.serial(tensor), tensor._ks) for name, tensor in arguments])
            keys = generator_keys(cell.operator, args) if how == "call" else 0
            self.note(("called", how, cell, ks, state.included, state.excluded, sets, keys))
        except Exception as error:
            self.give_up(error)

    @catches_itself
    def redispatched(self, how: str, cell: Cell, ks: int) -> None:
        """A redispatch begins."""
        self.note(("redispatched", how, cell, ks))

    @catches_itself
    def returned(self, result: Any) -> None:
        """The kernel gave something back, and with it the call is over."""
        try:
            values = result if isinstance(result, (list, tuple)) else (result,)
            self.note(("returned", tuple([self.serial(value) for value in values if hasattr(value, "_ks")])))
        except Exception as error:
            self.give_up(error)

    def call_failed(self, error: BaseException) -> None:
        """The kernel raised, and with it the call is over."""
        self.error_raised(error)
        self.note(_FAILED)

    def boxed(self, op: OperatorEntry, values: int) -> None:
        """Arguments went onto a stack."""
        self._add(ev.Boxed, op.name, values)

    def unboxed(self, op: OperatorEntry, values: int) -> None:
        """Values came off a stack."""
        self._add(ev.Unboxed, op.name, values)

    def torch_dispatch_entered(
        self,
        kind: str,
        handler: str,
        op: OperatorEntry,
        types: Iterable[type],
        args: Iterable[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        """Opens the ``__torch_dispatch__`` of a mode or subclass; the thread already has the sets it runs under."""
        named = [*((f"args[{i}]", value) for i, value in enumerate(args)), *kwargs.items()]
        self._enter(
            ev.TorchDispatchEntered,
            kind,
            handler,
            f"{op.schema.name.replace('::', '.')}.{op.schema.overload or 'default'}",
            tuple(t.__name__ for t in types),
            tuple((name, self._word(value)) for name, value in named),
            thread.state.included,
            thread.state.excluded,
            len(thread.state.modes),
        )

    def torch_dispatch_left(self, handler: str, result: Any) -> None:
        """What the handler gave back; ``leave`` follows."""
        tensors = tuple(self._tensor(tensor) for tensor in _tensors_in(result))
        self._add(ev.TorchDispatchLeft, handler, tensors, result is NotImplemented)

    # -- thread state -------------------------------------------------------------------------------------------------

    @catches_itself
    def guard_entered(self, guard: str, included_before: int, excluded_before: int) -> None:
        """Opens a guard; the thread already has the new sets."""
        if self.finds_callers:
            self.find_caller()
        state = thread.state
        self.note(("guard_entered", guard, included_before, state.included, excluded_before, state.excluded))

    @catches_itself
    def guard_left(self, guard: str) -> None:
        """The thread already has the saved sets again."""
        if self.finds_callers:
            self.find_caller()
        state = thread.state
        self.note(("guard_left", guard, state.included, state.excluded))

    def grad_mode_changed(self, enabled: bool, why: str) -> None:
        """Grad mode was switched."""
        self._add(ev.GradModeChanged, enabled, why)

    def inference_mode_changed(self, enabled: bool) -> None:
        """Inference mode was switched."""
        self._add(ev.InferenceModeChanged, enabled)

    def stream_changed(self, before: int, stream: int, why: str) -> None:
        """The thread is on another stream."""
        self._add(ev.StreamChanged, before, stream, why)

    def stream_event_recorded(self, event: int, stream: int, why: str) -> None:
        """A CUDA event was put into a stream."""
        self._add(ev.StreamEventRecorded, event, stream, why)

    def stream_waited(self, stream: int, event: int, recorded_on: int, why: str) -> None:
        """A stream waits for a CUDA event."""
        self._add(ev.StreamWaited, stream, event, recorded_on, why)

    def memory_used_on_stream(self, tensor: Tensor, stream: int, why: str) -> None:
        """``record_stream``"""
        self._add(ev.MemoryUsedOnStream, self._tensor(tensor), stream, why)

    def autocast_changed(self, device: str, enabled: bool, dtype: Any, excluded_before: int) -> None:
        """Autocast was switched or its dtype set; the thread already has the new set."""
        self._add(ev.AutocastChanged, device, enabled, repr(dtype), excluded_before, thread.state.excluded)

    def autocast_cast(self, tensor: Tensor, result: Tensor, how: str) -> None:
        """An autocast kernel has cast an argument."""
        before, after = repr(tensor._dtype), repr(result._dtype)
        self._add(ev.AutocastCast, self._tensor(tensor), before, after, self._tensor(result), how)

    def autocast_cache_cleared(self, casts: int) -> None:
        """The cache still has them."""
        self._add(ev.AutocastCacheCleared, casts)

    # -- structured kernels -------------------------------------------------------------------------------------------

    @catches_itself
    def output_allocated(
        self,
        variant: str,
        tensor: Tensor,
        resized: bool,
        shape: tuple[int, ...],
        dtype: DType,
        method: str,
        proxy: Tensor | None = None,
    ) -> None:
        """``set_output`` is done; a proxy stands in for an output whose strides the kernel cannot use."""
        try:
            stands_in = None if proxy is None else self.serial(proxy)
            number = self.serial(tensor)
            self.note(("output_allocated", variant, number, resized, shape, dtype, method, stands_in))
        except Exception as error:
            self.give_up(error)

    def proxy_copied(self, proxy: Tensor, output: Tensor) -> None:
        """What a kernel wrote into a proxy comes to where it belongs."""
        try:
            self.note(("proxy_copied", self.serial(proxy), self.serial(output)))
        except Exception as error:
            self.give_up(error)

    # -- tensors ------------------------------------------------------------------------------------------------------

    @catches_itself
    def tensor_created(self, tensor: Tensor) -> None:
        """A new tensor object."""
        try:
            if self.finds_callers:
                self.find_caller(called=True)
            self._introduce(tensor, "new")
        except Exception as error:
            self.give_up(error)

    def view_made(self, tensor: Tensor, base: Tensor, creation_meta: str) -> None:
        """``as_view`` made it a differentiable view."""
        self._add(ev.ViewMade, self._tensor(tensor), self._tensor(base), creation_meta)

    def geometry_changed(self, tensor: Tensor) -> None:
        """It already has the new one."""
        self._add(ev.GeometryChanged, self._tensor(tensor), tensor._size, tensor._stride)

    @catches_itself
    def version_bumped(self, tensor: Tensor, before: int) -> None:
        """The counter already has the new value."""
        try:
            number = tensor._number
            number = number if number >= self.first_tensor else self.serial(tensor)
            self.note(("version_bumped", number, before, tensor._version_counter.value, self._counter(tensor)))
        except Exception as error:
            self.give_up(error)

    def requires_grad_set(self, tensor: Tensor, detached: bool = False) -> None:
        """The flag already has the new value."""
        self._add(ev.RequiresGradSet, self._tensor(tensor), tensor._requires_grad, detached)

    def key_set_changed(self, tensor: Tensor, before: int) -> None:
        """The set already has the new value."""
        self._add(ev.KeySetChanged, self._tensor(tensor), before, tensor._ks)

    def batched_tensor_made(self, batched: Tensor, value: Tensor, bdim: int, level: int) -> None:
        """A dimension was hidden."""
        self.tensor_created(batched)
        self._add(ev.BatchedTensorMade, self._tensor(batched), self._tensor(value), bdim, level)

    def tensor_wrapper_made(self, wrapper: Tensor, value: Tensor, level: int) -> None:
        """A level of ``grad`` got a tensor."""
        self.tensor_created(wrapper)
        self._add(ev.TensorWrapperMade, self._tensor(wrapper), self._tensor(value), level)

    def dynamic_layer_pushed(self, level: int, transform: str, why: str) -> None:
        """A transform is on top of the stack."""
        self._add(ev.DynamicLayerPushed, level, transform, why, thread.state.included)

    def dynamic_layer_popped(self, level: int, transform: str, why: str) -> None:
        """A transform left the stack."""
        self._add(ev.DynamicLayerPopped, level, transform, why, thread.state.included)

    # -- autograd, forward --------------------------------------------------------------------------------------------

    @catches_itself
    def edges_collected(self, node: Node, edges: Sequence[Edge], arguments: Sequence[Tensor | None]) -> None:
        """The edges are set; ``arguments`` are the forward inputs behind them, where known."""
        try:
            targets = tuple([self._target(edge) for edge in edges])
            behind = tuple([None if tensor is None else self.serial(tensor) for tensor in arguments])
            self.note(("edges_collected", self._node_serial(node), node._topological_nr, targets, behind))
        except Exception as error:
            self.give_up(error)

    def variable_saved(
        self, node: Node, name: str, saved: SavedVariable, tensor: Tensor | None, is_output: bool
    ) -> None:
        """A tensor was kept."""
        if tensor is None:
            self._add(ev.VariableSaved, self._node(node), name, None, -1, is_output)
            return
        saved._told = self._node_serial(node), name
        counter = self._counter(tensor) - self.first_counter
        version, packed = tensor._version_counter.value, hasattr(saved, "_packed")
        self._add(ev.VariableSaved, self._node(node), name, self._tensor(tensor), version, is_output, counter, packed)

    def variable_not_saved(self, node: Node, name: str, edge: int) -> None:
        """A tensor was not kept, since only an empty edge's formula needs it."""
        self._add(ev.VariableNotSaved, self._node(node), name, edge)

    def saved_tensor_hook_ran(
        self, kind: str, function: str, saved: SavedVariable, tensor: Tensor, packed: str
    ) -> None:
        """A tensor was packed or unpacked."""
        node, name = getattr(saved, "_told", (-1, ""))
        whose = (node - self.first_node, name) if node >= self.first_node else ()
        self._add(ev.SavedTensorHookRan, kind, function, self._tensor(tensor), packed, *whose)

    def accumulator_made(self, node: Node, tensor: Tensor) -> None:
        """A leaf got its AccumulateGrad."""
        self._add(ev.AccumulatorMade, self._node(node), self._tensor(tensor))

    def history_rebased(self, tensor: Tensor, node: Node, output_nr: int) -> None:
        """An in-place result got a new grad_fn."""
        self._add(ev.HistoryRebased, self._tensor(tensor), self._node(node), output_nr)

    def history_set(self, tensor: Tensor, node: Node, output_nr: int) -> None:
        """A result got its grad_fn."""
        self._add(ev.HistorySet, self._tensor(tensor), self._node(node), output_nr)

    def function_entered(self, function: type[FunctionBase], node: FunctionBase, recorded: bool, setup: bool) -> None:
        """Opens the forward of a Function."""
        needed = tuple(map(bool, node.needs_input_grad or ()))
        place = source_of(function.forward)
        self._enter(ev.FunctionEntered, function.__name__, self._node(node), needed, recorded, setup, *place)

    def function_output(
        self, node: FunctionBase, position: int, returned: Tensor, result: Tensor, how: str, marked: str, is_input: bool
    ) -> None:
        """A tensor that a forward returned has its final form."""
        tensors = self._tensor(returned), self._tensor(result)
        meta = "" if result._view is None else result._view.creation_meta
        self._add(ev.FunctionOutput, self._node(node), position, *tensors, how, marked, is_input, meta)

    @catches_itself
    def no_node_made(self, why: str) -> None:
        """The autograd kernel that runs now records nothing."""
        self.note(("no_node_made", why))

    def dual_level_entered(self, level: int) -> None:
        """A level of forward mode is open."""
        self._add(ev.DualLevelEntered, level)

    def dual_level_left(self, level: int, tangents: int) -> None:
        """It is closed, and so many tangents are gone."""
        self._add(ev.DualLevelLeft, level, tangents)

    def forward_formula_entered(self, formula: str, how: str) -> None:
        """Opens the computation of a tangent."""
        self._enter(ev.ForwardFormulaEntered, formula, how)

    def tangent_set(self, tensor: Tensor, tangent: Tensor, how: str) -> None:
        """The tensor already has it."""
        self._add(ev.TangentSet, self._tensor(tensor), self._tensor(tangent), how)

    # -- engine -------------------------------------------------------------------------------------------------------

    def backward_started(
        self,
        task: GraphTask,
        roots: Sequence[Edge],
        gradients: Sequence[Tensor | None],
        accumulate: bool,
        inputs: Sequence[Edge] = (),
        input_tensors: Sequence[object] = (),
    ) -> None:
        """Opens a backward."""
        self._enter(
            ev.BackwardStarted,
            self._graph_task(task),
            self._ends_of(roots),
            self._tensors_of(gradients),
            task.keep_graph,
            task.grad_mode,
            accumulate,
            task.reentrant_depth,
            self._ends_of(inputs),
            tuple(next((self._tensor(tensor) for tensor in _tensors_in(given)), None) for given in input_tensors),
        )

    def _ends_of(self, edges: Sequence[Edge]) -> tuple[tuple[int, int], ...]:
        return tuple((self._node(edge.function), edge.input_nr) for edge in edges if edge.function is not None)

    def thread_goes_on(self, ident: int) -> None:
        """What this thread does now belongs to the innermost open event of another, which waits for it."""
        self.note(("goes_on", ident))

    def backward_finished(self, task: GraphTask) -> None:
        """The graph task is complete."""
        self._add(ev.BackwardFinished, self._graph_task(task))
        self.leave()

    def _graph_task(self, task: GraphTask) -> int:
        """Numbered per recording: PyTorch's ids count per process."""
        with _introducing:
            return self._graph_tasks.setdefault(task.id, len(self._graph_tasks))

    def dependencies_counted(self, counts: Mapping[Node, int], min_topo_nr: int) -> None:
        """In order of discovery."""
        told = tuple((self._node(node), count) for node, count in counts.items())
        self._add(ev.DependenciesCounted, told, min_topo_nr)

    def exec_info_populated(self, task: GraphTask) -> None:
        """``exec_info`` is complete; what has been come to is in ``dependencies``."""
        infos = [(self._node(node), info) for node, info in task.exec_info.items()]
        captures = tuple((node, input_nr, place) for node, info in infos for input_nr, place in info.captures)
        found = dict.fromkeys([task.root, *task.dependencies])
        pruned = tuple((self._node(node), _pruned_by(task, node)) for node in found if not task.should_execute(node))
        self._add(ev.ExecInfoPopulated, tuple(node for node, info in infos if info.needed), captures, pruned)

    @catches_itself
    def dependency_met(self, node: Node, left: int, defined: bool, skipped: bool) -> None:
        """One gradient less to wait for."""
        try:
            number = node._number
            number = number if number >= self.first_node else self._node_serial(node)
            if defined and not skipped:
                self.note(("dependency_met", number, left))
            else:
                self.note(("dependency_met_by_nothing", number, left, defined, skipped))
        except Exception as error:
            self.give_up(error)

    def node_skipped(self, node: Node) -> None:
        """Popped, and not needed."""
        self._add(ev.NodeSkipped, self._node(node))

    def formula_skipped(self, node: Node, edge: int) -> None:
        """A gradient that nobody needs is not computed."""
        self.note(("formula_skipped", self._node_serial(node), edge))

    @catches_itself
    def node_queued(self, node: Node, queue: Sequence[Node]) -> None:
        """Ready; ``queue`` in the order of popping, with the new one."""
        try:
            number, sequence_nr = self._node_serial(node), node.sequence_nr
            if len(queue) == 1:
                self.note(("node_queued_alone", number, sequence_nr, node.input_metadata))
            else:
                self.note(("node_queued", number, sequence_nr, node.input_metadata, self._waiting(queue)))
        except Exception as error:
            self.give_up(error)

    @catches_itself
    def node_started(self, node: Node, gradients: Sequence[Tensor | None], waiting: Sequence[Node]) -> None:
        """Opens the evaluation of a Node."""
        try:
            number, sequence_nr, inputs = self._node_serial(node), node.sequence_nr, node.input_metadata
            if len(gradients) == 1 and gradients[0] is not None and not waiting:
                self.note(("node_started_alone", number, sequence_nr, self.serial(gradients[0]), inputs))
            else:
                received, queue = self._serials(gradients), self._waiting(waiting)
                self.note(("node_started", number, sequence_nr, received, queue, inputs))
        except Exception as error:
            self.give_up(error)

    @catches_itself
    def node_finished(self, node: Node, gradients: Sequence[Tensor | None]) -> None:
        """The Node gave its gradients, and with that it is over."""
        try:
            number = self._node_serial(node)
            if len(gradients) == 2 and gradients[0] is not None and gradients[1] is not None:
                self.note(("node_finished_with_two", number, self.serial(gradients[0]), self.serial(gradients[1])))
            else:
                self.note(("node_finished", number, self._serials(gradients)))
        except Exception as error:
            self.give_up(error)

    def hook_ran(self, kind: str, node: Node, function: str, replaced: bool, kept: bool = False) -> None:
        """A hook was called."""
        self._add(ev.HookRan, kind, self._node(node), function, replaced, kept)

    def anomaly_found(self, node: Node, lines: str) -> None:
        """An error came up in a Node, in anomaly mode."""
        self._add(ev.AnomalyFound, self._node(node), lines)

    def gradient_reduced(self, before: Tensor, after: Tensor, shape: tuple[int, ...]) -> None:
        """A broadcast gradient was summed."""
        self._add(ev.GradientReduced, self._tensor(before), self._tensor(after), shape)

    @catches_itself
    def gradient_buffered(self, node: Node, input_nr: int, tensor: Tensor, how: str, why: str) -> None:
        """A gradient arrived in an input buffer."""
        try:
            number, gradient = node._number, tensor._number
            if number < self.first_node or gradient < self.first_tensor:
                number, gradient = self._node_serial(node), self.serial(tensor)
            self.note(("gradient_buffered", number, input_nr, gradient, how, why))
        except Exception as error:
            self.give_up(error)

    def gradient_accumulated(self, tensor: Tensor, gradient: Tensor, result: Tensor, how: str, why: str) -> None:
        """A leaf's .grad was written."""
        fields = self._tensor(tensor), self._tensor(gradient), self._tensor(result), how, why
        self._add(ev.GradientAccumulated, *fields)

    def gradient_captured(self, node: Node, input_nr: int, tensor: Tensor | None, position: int) -> None:
        """``grad()`` took a gradient."""
        self._add(ev.GradientCaptured, self._node(node), input_nr, self._tensor_or_none(tensor), position)

    def variables_released(self, node: Node) -> None:
        """Saved variables are gone."""
        self._add(ev.VariablesReleased, self._node(node))

    def _tensors_of(self, tensors: Iterable[Tensor | None]) -> tuple[int | None, ...]:
        return tuple(self._tensor_or_none(tensor) for tensor in tensors)

    def _serials(self, tensors: Iterable[Tensor | None]) -> tuple[int | None, ...]:
        first = self.first_tensor
        return tuple([t if t is None else t._number if t._number >= first else self.serial(t) for t in tensors])

    def _waiting(self, nodes: Sequence[Node]) -> tuple[tuple[int, int], ...]:
        return tuple([(self._node_serial(node), node.sequence_nr) for node in nodes])

    # -- registration -------------------------------------------------------------------------------------------------

    def registrations_change(self) -> None:
        """An operator's or the process's registrations are about to change: what is noted so far is settled now."""
        self.settle()
        self.transcript.registrations_change()

    def operator_defined(self, op: OperatorEntry) -> None:
        """``def``."""
        fallbacks = sum(cell.reason == FALLBACK for cell in op.table)
        filled = sum(cell.kernel is not None for cell in op.table)
        self._add(ev.OperatorDefined, op.name, str(op.schema), fallbacks, filled - fallbacks)

    def kernel_registered(self, op: OperatorEntry | None, key: DispatchKey, kernel: Kernel, removed: bool) -> None:
        """``impl`` or, without an operator, ``fallback``; or its removal."""
        self._add(ev.KernelRegistered, op.name if op else "", key.name, kernel.name, removed)

    def cells_recomputed(self, op: OperatorEntry, keys: Iterable[DispatchKey]) -> None:
        """Cells changed."""
        self._add(ev.CellsRecomputed, op.name, tuple(key.name for key in keys))

    # -- errors -------------------------------------------------------------------------------------------------------

    def error_raised(self, error: BaseException) -> None:
        """Told once, where it is first seen."""
        if error is not self._last_error:
            self._last_error = error
            self._add(ev.ErrorRaised, type(error).__name__, in_words(error))


def _pruned_by(task: GraphTask, node: Node) -> str:
    """What keeps a Node from being executed."""
    return "topological_nr" if node._topological_nr < task.min_topological_nr else "should_execute"


def in_words(value: object) -> str:
    """``str`` of a value that may hold tensors."""
    recorder.wording = True
    try:
        return str(value)
    finally:
        recorder.wording = False


def _tensors_in(value: Any) -> Iterator[Any]:
    """The tensors in what Python code returned."""
    if hasattr(value, "_ks"):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors_in(part)


def _note_of_thread(notes: list[Any], recording: int, note: tuple[Any, ...]) -> None:
    """Appends a note with its thread; in one piece, since another thread may note something at any moment."""
    ident = threading.get_ident()
    if ident == recording:
        notes.extend(note)
    else:
        notes.extend(("on_thread", ident, *note, "on_thread", recording))


_FAILED = ("failed",)
