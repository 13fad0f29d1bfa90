"""The recorder of an installed PyTorch. It is called for each kernel that runs, looks at the tensors and Nodes there,
and emits the notes that the model emits.

Not here: how kernels are watched (``watched_cells.py``), the engine (``engine_watch.py``), the Node of a result
(``node_watch.py``), how a program runs on it (``torch_engine.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import _getframe
from typing import TYPE_CHECKING, Any
from weakref import ref

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.changed_geometry import may_resize, recording_geometry
from dispatchviz.live.collectives import Collectives, is_collective
from dispatchviz.live.compiler_watch import CompilerWatch
from dispatchviz.live.dispatch_handlers import handler_step
from dispatchviz.live.earlier_names import EarlierNames
from dispatchviz.live.engine_watch import EngineWatch
from dispatchviz.live.inference_numbers import InferenceNumbers
from dispatchviz.live.kernel_steps import steps
from dispatchviz.live.key_numbers import KeyNumbers, raw_of
from dispatchviz.live.line_watch import LineWatch
from dispatchviz.live.live_events import LiveEventBuilder
from dispatchviz.live.local_sets import LocalSets
from dispatchviz.live.looking import Looking
from dispatchviz.live.node_watch import NodeWatch
from dispatchviz.live.number_watch import NumberWatch
from dispatchviz.live.part_plan import plan
from dispatchviz.live.part_watch import PartWatch
from dispatchviz.live.plain_errors import plainly
from dispatchviz.live.tensor_facts import TensorFacts, tensors_in
from dispatchviz.live.tensor_numbers import StorageNumbers, WeakNumbers
from dispatchviz.live.thread_states import Kernel, ThreadState, ThreadStates
from dispatchviz.live.watched_cells import OF_DEVICES, Step, WatchedCells
from dispatchviz.live.watched_operators import UnmetCell, WatchedCell, WatchedOperators
from dispatchviz.live.watched_parts import WatchedParts
from dispatchviz.live.wrapped_numbers import WrappedNumbers
from dispatchviz.live.zero_numbers import MAKING_ZEROS, ZeroNumbers
from dispatchviz.running.recorded_part import Gate

if TYPE_CHECKING:
    from dispatchviz.core.record.event_filter import Only
    from dispatchviz.live.live_notes import EmitLive, LiveNote, Sets
    from dispatchviz.running.program_source import Source
    from dispatchviz.running.recorded_part import RecordedPart


class NoTensor:
    """The class of tensors before PyTorch is imported. It has no instances."""


class LiveRecorder(NumberWatch, LineWatch, PartWatch):
    """The recorder of an installed PyTorch.

    It records the program's lines from the beginning, and PyTorch from ``attach`` on, when the program has imported it.
    """

    hears_machine = False
    note: EmitLive
    torch: Any = None
    """The installed PyTorch; None as long as the program has not imported it."""
    records_parts = True
    """False if this release must be watched from beginning to end, so that a part is only filtered."""
    _tensor_class: Any = NoTensor

    def __init__(self) -> None:
        self.keys = KeyNumbers()
        super().__init__(LiveEventBuilder(self.keys))
        self._recording_thread = self.builder.thread
        self.live_tensors = WeakNumbers()
        self._known = self.live_tensors.known
        self._requiring_grad = set[int]()
        """Serial numbers of the tensors for which an event says that they require grad."""
        self.live_storages = StorageNumbers(self.storage_numbers)
        self._unsized = set[int]()
        """Serial numbers of tensors that a kernel made without elements, because it finds out their sizes later."""
        self._named_before: dict[int, tuple[ref[Any], str]] = {}
        """The names that tensors had when the process was forked, by the ``id`` of each."""
        self.origin: ev.TensorOrigin = "new"
        """The origin of tensors that no kernel was seen to return. It is "new" as long as the program made all
        tensors.
        """
        self.earlier = EarlierNames(self)

    def attach(self, torch: Any) -> None:
        """Prepare to record the installed PyTorch. None of its kernels may have run in the recording."""
        c = torch._C
        self.torch, local_sets = torch, LocalSets(c)
        self._raw = raw_of(c)
        self.keys.read(c)
        self.keys.defaults = local_sets.defaults
        self.facts = TensorFacts(torch, self.keys)
        self.operators = WatchedOperators(c)
        self.cells = self._cells()
        self._threads = ThreadStates(local_sets, self.cells, None if self.looking is None else self._recording_thread)
        self.wrapped = WrappedNumbers(torch, self.unwatched)
        self._inference_numbers = InferenceNumbers(torch)
        self._zero_numbers = ZeroNumbers(self)
        self.nodes = NodeWatch(self)
        self.engine = EngineWatch(self)
        self.compiler = CompilerWatch(self)
        self.collectives = Collectives(self)
        self._grad_mode = c.is_grad_enabled if hasattr(c, "is_grad_enabled") else torch.is_grad_enabled
        """PyTorch's test of grad mode. Without grad mode a kernel makes no Node, and reading ``grad_fn`` of a view that
        was written to would make one.
        """
        self._current_node = c._current_autograd_node
        self._key_set = c._dispatch_keys
        self._tensor_class = torch.Tensor
        kinds = c._functorch.TransformType
        self._differentiating = kinds.Grad, kinds.Jvp
        self._module_calls = {torch.nn.Module._call_impl.__code__}
        self._make_step = steps(self)
        self.read_numbers()

    def _cells(self) -> WatchedCells:
        """Return the entries to watch: all of them, or those that the part of the program calls."""
        if self.looking is None:
            return WatchedCells(self.torch, self._step)
        cells = WatchedParts(self.torch, self._step, self.operators, self.numbers_in_transform)
        cells.looking, self.keys.hidden = self.looking, cells.gate_bits
        return cells

    def record_part(self, only: Only, script: Source | None = None, /) -> RecordedPart:
        """Prepare for a recording of a part, before ``attach``. Return the part to instrument in the script."""
        super().record_part(only, script)
        chosen = plan(only, script)
        if not chosen.opener or not self.records_parts:
            return chosen.part()._replace(lines=())
        gate = Gate()
        self.looking = Looking(self, chosen, gate)
        self.begins_suspended, self.origin = True, "known before"
        return chosen.part()._replace(gate=gate)

    def begin_in_child(self) -> None:
        """Begin a recording of its own in a forked child. All tensors and Nodes were there before."""
        self.notes.clear()
        self._named_before = self.names.by_tensor()
        self.note = self.notes.extend
        self._build_with(LiveEventBuilder(self.keys))
        self._recording_thread, self.origin = self.builder.thread, "known before"
        if self.torch is not None:
            self._forget()
        self.begin()

    def _forget(self) -> None:
        self.live_tensors.forget_all()
        self.live_storages.forget_all()
        self._requiring_grad.clear()
        self._unsized.clear()
        self.nodes.begin()
        self.engine.begin_in_child()
        self.collectives.begin_in_child()
        self.thread.begin()

    def _step(self, operator: str, key: str, call: Step, is_python: bool) -> Step:
        """Return our kernel for a cell."""
        cell = UnmetCell(self.operators, operator, key, is_python)
        if cell.is_autograd and operator.partition(".")[0] == RESETTING:
            call = self.nodes.resetting(call)
        elif may_resize(operator, key):
            call = recording_geometry(self, cell, call)
        elif is_collective(operator, key):
            call = self.collectives.step(operator, call)
        elif key == "BackendSelect":
            call = self._choosing_device(call)
        if operator == MAKING_ZEROS:
            call = self._zero_numbers.keeping(call)
        return self._make_step(cell, handler_step(self, cell, call) if key == "Python" else call)

    def _choosing_device(self, call: Step) -> Step:
        """Wrap a kernel at BackendSelect, which may choose a device whose kernels are not watched yet."""

        def chooses(*args: Any, **kwargs: Any) -> Any:
            device = kwargs.get("device")
            bits = OF_DEVICES.get(device.type, 0) if device is not None else 0
            if bits and recorder.listening is self and self.thread.watched:
                self.guarded(lambda: self.cells.meet(bits))
            return call(*args, **kwargs)

        return chooses

    def unwatched(self, function: Callable[[], Any], /) -> Any:
        """Return the result of a function of ours, without recording its kernels."""
        thread = self.thread
        before, thread.watched = thread.watched, False
        try:
            return function()
        finally:
            thread.watched = before

    def _with_tensors(
        self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., Any] | None]:
        """Return the key set and the arguments of a call, with tensors for numbers where a tensor is expected, and the
        function that continues a call that is not recorded (``inference_numbers.py``).
        """
        wrapped = self.numbers_in_transform(args) if cell.is_in_front else self.wrapped.of
        if self._raw(args[0]) & self._zero_numbers.bit:
            wrapped = self._zero_numbers.among(cell, args, kwargs, wrapped)
        return cell.operator.with_tensors(args, wrapped), self._inference_numbers.onward(cell, args, kwargs)

    def numbers_in_transform(self, args: tuple[Any, ...], /) -> Callable[[Any], Any]:
        """Return a function that makes tensors of the numbers in a call that transforms of ``torch.func`` are about to
        see.
        """
        stack = self.torch._C._functorch.get_interpreter_stack() or ()
        if not any(one.key() in self._differentiating for one in stack):
            return self.wrapped.of
        tensors = [one for one in args if isinstance(one, self._tensor_class)]
        return lambda number: self.wrapped.differentiated(number, tensors)

    def correct(self, error: BaseException, /) -> None:
        """Remove our kernels from the text of an error that leaves the program."""
        if isinstance(error, NotImplementedError) and self.torch is not None:
            plainly(error, self.cells)

    def guarded(self, function: Callable[[], Any], /) -> Any:
        """Return the result of a function that emits notes. If it fails, return None and end the recording."""
        return function()

    def note_of(self, ident: int, note: LiveNote, /) -> None:
        """Append a note for the thread with this identifier, or for the current thread if it is 0."""
        if ident:
            self.notes.extend(("on_thread", ident, *note, "on_thread", self._recording_thread))
        else:
            self.note(note)

    # -- numbers ------------------------------------------------------------------------------------------------------

    def number_of(self, tensor: Any, /) -> int:
        """Return the serial number of a tensor, or -1 if it has none."""
        return self.live_tensors.get(tensor)

    def serial(self, tensor: Any, /) -> int:
        """Return the serial number of a tensor. If it existed before, meeting it is an event."""
        return self._serial(tensor)

    def _serial(self, tensor: Any) -> int:
        known = self._known.get(id(tensor))
        return known.number if known is not None and known() is tensor else self._introduced(tensor, self.origin)

    def _tensor(self, tensor: Any) -> int:
        return self._serial(tensor) - self.first_tensor

    def _introduced(
        self, tensor: Any, how: ev.TensorOrigin, value: str = "", kept: bool = True, made: bool = False
    ) -> int:
        """Number a tensor that is met for the first time. ``made`` is True if a kernel returned it."""
        number = next(self.tensor_numbers)
        alive = self.live_tensors.set(tensor, number) if kept else ref(tensor)
        size, stride, dtype, device, ks, storage, requires_grad = self.facts.of(tensor)
        if value:
            ks = self.keys[self.wrapped.key_set(tensor)]
        if ks & self.cells.waiting:
            self.cells.meet(ks)
        newest = self.live_storages.newest
        is_inner = self._threads.state.inside is not None
        on = -1 if storage is None else self.live_storages.of(storage, alive, made or is_inner)
        if self.numbers and not made and is_inner and self.live_storages.newest != newest:
            self.memory_allocated(on)
        self.note(("tensor_met", number, how, size, stride, dtype, device, ks, on, requires_grad, value))
        if requires_grad:
            self._requiring_grad.add(number)
        if is_inner and 0 in size:
            self._unsized.add(number)
        if how == "known before" and self.looking is not None:
            self.earlier.name(tensor)
        if self._named_before:
            self._name_again(tensor)
        return number

    def _name_again(self, tensor: Any) -> None:
        """Name a tensor as the parent of this process did."""
        named = self._named_before.pop(id(tensor), None)
        known = None if named is None else named[0]()
        if named is not None and known is not None and known is tensor:
            super().name_bound(named[1], known)

    def leaf_requires_grad(self, tensor: Any, /) -> None:
        """Emit the event that a leaf requires grad, unless it is known. A leaf is looked at when it gets a name,
        because setting the flag calls no operator.
        """
        number = self._serial(tensor)
        if number not in self._requiring_grad:
            self._requiring_grad.add(number)
            self._emit(ev.RequiresGradSet, number - self.first_tensor, True, False)

    def name_bound(self, name: str, tensor: Any, iteration: int = 0, /) -> None:
        """Record that a variable names a tensor. The Node of a custom Function is met then. Tensors of the model are
        ignored.
        """
        if not isinstance(tensor, self._tensor_class):
            return
        self.nodes.look_at_bound(tensor)
        super().name_bound(name, tensor, iteration)

    def warned(self, category: str, message: str, file: str, line: int) -> None:
        """Record that a warning is about to be shown. PyTorch hides that of ``.grad`` while it reads any tensor."""
        if getattr(warnings.showwarning, "__qualname__", "") != HIDING:
            super().warned(category, message, file, line)

    # -- kernels ------------------------------------------------------------------------------------------------------

    def _kernel_called(
        self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any], thread: ThreadState
    ) -> None:
        """Note that a kernel begins because a call selected it. The first argument is its key set. The builder derives
        the rest from the cell and the raw sets.
        """
        if thread.inside is None:
            if self.looking is not None and self.looking.is_in_node and self.engine.leaves_node(thread):
                return
            self._call_begins(thread, args)
        elif thread.inside[0].runs_python:
            self._python_calls(_getframe(2), args)
        own, given, local = self._raw(args[0]), self._sets(cell, args, kwargs), thread.sets
        generator = None if cell.operator.generator is None else cell.operator.generator_among(args, kwargs)
        kind = "" if generator is None else generator.device.type
        if generator is None:
            self.note(("kernel_called", cell, own, local[0], local[1], given))
        else:
            self.note(("kernel_called_with_generator", cell, own, local[0], local[1], given, kind))
        thread.inside = cell, given, thread.inside, own
        if self.numbers:
            self.numbers_given(cell, args, kwargs)

    def _call_failed(
        self,
        fault: Exception,
        around: Kernel | None,
        cell: WatchedCell,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        thread: ThreadState,
    ) -> None:
        """Complete the note of a call with more frames, after an error in it. ``around`` was the innermost kernel
        before. If that has changed, the call is noted, and a second note would be a call within the call.
        """
        try:
            if thread.inside is around:
                self._failed(fault, type(self)._kernel_called, cell, args, kwargs, thread)
            else:
                self._failed(fault, type(self).numbers_given, cell, args, kwargs)
        finally:
            del fault  # or this frame and the traceback hold each other

    def _call_begins(self, thread: ThreadState, args: tuple[Any, ...]) -> None:
        """Note the program's line at the outermost call of a line or of a Node, which has these arguments. The frame
        beyond that of ``step`` is the caller's.
        """
        frame = _getframe(2).f_back
        if thread.depth:
            if thread.evaluation is not None and self._current_node() is None:
                self.engine.close(thread)
            run, top, note = thread.run
            has_more_to_do = len(self.notes) > self.many_notes or self.names.seen_again
            if self._top == top and frame is not None and id(frame.f_back) == run and not has_more_to_do:
                self.note(note)
                return
        self._line_calls(frame, args)
        if not thread.depth and self._grad_mode() is not thread.grad_mode:
            thread.grad_mode = not thread.grad_mode
            is_inference = not thread.grad_mode and self.torch.is_inference_mode_enabled()
            self.grad_mode_changed(thread.grad_mode, "inference mode" if is_inference else "")

    def _sets(self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sets:
        """Return the tensors among the arguments, with their key sets."""
        known, key_set, raw, many = self._known, self._key_set, self._raw, len(args)
        sets: Sets = ()
        for place, name, is_list in cell.operator.tensors:
            value = args[place] if place < many else kwargs.get(name)
            numbered = known.get(id(value))
            if numbered is not None and numbered() is value:
                sets += name, numbered.number, raw(key_set(value))
            elif is_list:
                sets += tuple(self._listed(name, value or ()))
            elif value is not None:
                sets += name, self._unknown(value), self._set_of(value)
        return sets

    def _listed(self, name: str, tensors: Iterable[Any]) -> Iterator[str | int]:
        for at, one in enumerate(tensors):
            if one is not None:
                yield from (f"{name}[{at}]", self._given(one), self._set_of(one))

    def _set_of(self, tensor: Any) -> int:
        """Return the raw key set of a tensor. For a wrapped number it is that of PyTorch's own tensor, because ours may
        have more keys.
        """
        return (
            self.wrapped.key_set(tensor) if id(tensor) in self.wrapped.texts else int(self._raw(self._key_set(tensor)))
        )

    def _given(self, tensor: Any) -> int:
        known = self.live_tensors.get(tensor)
        return known if known >= 0 else self._unknown(tensor)

    def _unknown(self, tensor: Any) -> int:
        """Return the serial number of an argument that has none yet. A wrapped number counts as a new tensor in each
        outermost call, although ours is kept for the next one.
        """
        texts, thread = self.wrapped.texts, self.thread
        if id(tensor) not in texts:
            return self._introduced(tensor, self.origin)
        if thread.inside is None:
            thread.numbers = {}
        number = thread.numbers.get(id(tensor), -1)
        if number < 0:
            number = thread.numbers[id(tensor)] = self._introduced(tensor, "new", texts[id(tensor)], False)
        return number

    def _kernel_returned(self, result: Any, thread: ThreadState) -> None:
        """Note that a kernel returned."""
        if thread.inside is None:
            return  # entering it failed
        cell, sets, around, _ = thread.inside
        if isinstance(result, self._tensor_class):
            known = self._known.get(id(result))
            number = known.number if known is not None and known() is result else self._returned(result)
            if number in self._unsized:
                self._sized(result)
            if cell.is_autograd and self._grad_mode():
                self.nodes.look_at((result,), cell, sets)
            thread.inside = around
            self.note(("kernel_returned_one", number))
        else:
            serials = self._returned_others(cell, sets, result)
            thread.inside = around
            self.note(("kernel_returned", serials))

    def _returned(self, tensor: Any) -> int:
        """Return the serial number of a result that has none yet. A kernel may return a wrapped number that it was
        given.
        """
        if id(tensor) in self.wrapped.texts:
            return self._unknown(tensor)
        return self._introduced(tensor, "new", "", True, True)

    def _returned_others(self, cell: WatchedCell, sets: Sets, result: Any) -> tuple[int, ...]:
        """Return the serial numbers of the tensors in a result that is not a tensor."""
        tensors = tensors_in(result, self._tensor_class)
        known = self.live_tensors.get
        serials = [n if (n := known(one)) >= 0 else self._returned(one) for one in tensors]
        if not self._unsized.isdisjoint(serials):
            for one in tensors:
                self._sized(one)
        if cell.is_autograd and self._grad_mode():
            self.nodes.look_at(tensors, cell, sets)
        return tuple(serials)

    def _sized(self, tensor: Any) -> None:
        """Record the sizes that a kernel has given a tensor which it made without elements."""
        known = self._known.get(id(tensor))
        if known is None or known.number not in self._unsized or known() is not tensor:
            return
        new = self.facts.geometry(tensor)
        if new is None or 0 in new[0]:
            return
        self._unsized.discard(known.number)
        if new != known.reported:
            known.reported = new
            self._emit(ev.GeometryChanged, known.number - self.first_tensor, *new)

    def kernel_failed(
        self,
        cell: WatchedCell,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        thread: ThreadState,
        around: Kernel | None,
        /,
    ) -> None:
        """Note that a kernel raised, or that an exception from outside came before it began or after it returned. It
        may have written to some arguments.

        ``around`` was the innermost kernel before. Until it is so again, no note has closed this kernel.
        """
        if self.numbers:
            self.numbers_returned(cell, args, kwargs, ())
        while thread.inside is not around and thread.inside is not None:
            inner, _, thread.inside, _ = thread.inside
            self.note(("kernel_failed", inner))


HIDING = "hide_warnings.<locals>._showwarning"
"""The function with which PyTorch hides warnings (``torch/_logging/_internal.py``)."""

RESETTING = "aten::set_"
"""The operator whose autograd kernel resets the AccumulateGrad of the tensor that it writes to
(``RESET_GRAD_ACCUMULATOR`` in ``tools/autograd/gen_variable_type.py``). ``resize_`` refuses tensors that require grad.
"""
