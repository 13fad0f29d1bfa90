"""The recorder of an installed PyTorch. It is called for each kernel that runs, looks at the tensors and Nodes there,
and emits the notes that the model emits.

Not here: how kernels are watched (``watched_cells.py``), the engine (``engine_watch.py``), the Node of a result
(``node_watch.py``), how a program runs on it (``torch_engine.py``).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.changed_geometry import may_resize, recording_geometry
from dispatchviz.live.collectives import Collectives, is_collective
from dispatchviz.live.compiler_watch import CompilerWatch
from dispatchviz.live.dispatch_handlers import handler_step
from dispatchviz.live.earlier_names import EarlierNames
from dispatchviz.live.engine_watch import NO_RUN, EngineWatch, Evaluation, Pass
from dispatchviz.live.inference_numbers import InferenceNumbers
from dispatchviz.live.kernel_calls import hands_out_kernels
from dispatchviz.live.key_numbers import KeyNumbers, raw_of
from dispatchviz.live.live_events import LiveEventBuilder
from dispatchviz.live.local_sets import LocalSets
from dispatchviz.live.looking import Looking
from dispatchviz.live.node_watch import NodeWatch
from dispatchviz.live.number_watch import NumberWatch
from dispatchviz.live.part_plan import plan
from dispatchviz.live.plain_errors import as_in_pytorch
from dispatchviz.live.tensor_facts import TensorFacts
from dispatchviz.live.tensor_numbers import StorageNumbers, WeakNumbers
from dispatchviz.live.watched_cells import META, Step, WatchedCells
from dispatchviz.live.watched_operators import UnmetCell, WatchedCell, WatchedOperators
from dispatchviz.live.watched_parts import WatchedParts
from dispatchviz.live.wrapped_numbers import KINDS, WrappedNumbers
from dispatchviz.running.call_sites import Way, is_base, is_users, same_way, user_locations
from dispatchviz.running.held_tensors import HOLDS_NOTHING, is_module, is_tensor
from dispatchviz.running.recorded_part import Gate
from dispatchviz.running.variable_names import scope_of

if TYPE_CHECKING:
    from dispatchviz.core.record.event_filter import EventFilter, Only
    from dispatchviz.core.record.note_types import Arrival, Note
    from dispatchviz.live.live_notes import EmitLive, LiveNote, Sets
    from dispatchviz.running.program_source import Source
    from dispatchviz.running.recorded_part import RecordedPart


Kernel = tuple[WatchedCell, "Sets", "Kernel | None", int]
"""A running kernel: its cell, the tensors that its call was given, the kernel around it, its raw key set."""


class ThreadState:
    """The state of a thread."""

    __slots__ = (
        "depth",
        "evaluation",
        "grad_mode",
        "inside",
        "is_engines",
        "newest",
        "numbers",
        "run",
        "sets",
        "watched",
        "work",
    )

    def __init__(self, sets: Sequence[int]) -> None:
        self.sets = sets
        """The thread-local include and exclude sets. They are current whenever one is read (``local_sets.py``)."""
        self.watched = True
        self.is_engines = False
        """True if PyTorch's engine created the thread."""
        self.begin()

    def begin(self) -> None:
        """Begin outside of all kernels and backwards, at first and in a forked child."""
        self.inside: Kernel | None = None
        """The innermost kernel."""
        self.numbers: dict[int, int] = {}
        """Serial numbers of the wrapped numbers in the outermost call, by the ``id`` of the tensor."""
        self.newest = -1
        """The highest sequence number among the thread's own Nodes that were met."""
        self.evaluation: Evaluation | None = None
        self.grad_mode = True
        """Grad mode at the last outermost call."""
        self.depth = 0
        """The number of passes of the engine that the thread is in."""
        self.run = NO_RUN
        """The innermost pass."""
        self.work: Pass | None = None
        """The backward whose Nodes the thread evaluates."""


class _Threads(threading.local):
    """The state of each thread. It is a single attribute, because reading a ``threading.local`` is slow.

    Calls on the threads of ``at::parallel_for`` are not recorded: these threads belong to OpenMP, and their order is
    arbitrary.
    """

    def __init__(self, local_sets: LocalSets, cells: WatchedCells, only: int | None = None) -> None:
        """Create the state of a thread. ``only`` is the identifier of the only thread that is recorded, if one is."""
        self.state = ThreadState(local_sets.of_this_thread())
        if only not in (None, threading.get_ident()):
            self.state.watched = False
        if cells.in_parallel and _getframe(1).f_back is None:
            self.state.watched = False


class LiveRecorder(NumberWatch):
    """The recorder of an installed PyTorch, which is given as ``torch``."""

    hears_machine = False
    note: EmitLive

    def __init__(self, torch: Any) -> None:
        c = torch._C
        self.keys = KeyNumbers(c)
        local_sets = self._local_sets = LocalSets(c)
        self._defaults = local_sets.defaults
        super().__init__(LiveEventBuilder(self.keys, self._defaults))
        self._recording_thread = self.builder.thread
        self.torch = torch
        self.facts = TensorFacts(torch, self.keys)
        self.live_tensors = WeakNumbers()
        self._known = self.live_tensors.known
        self._requiring_grad = set[int]()
        """Serial numbers of the tensors for which an event says that they require grad."""
        self.live_storages = StorageNumbers(self.storage_numbers)
        self._named_before: dict[int, tuple[ref[Any], str]] = {}
        """The names that tensors had when the process was forked, by the ``id`` of each."""
        self.operators = WatchedOperators(c)
        self.cells: WatchedCells = WatchedCells(torch, self._step)
        self.looking: Looking | None = None
        """The switch of a recording of a part; None if everything is recorded."""
        self._threads = _Threads(local_sets, self.cells)
        self.wrapped = WrappedNumbers(torch, self.unwatched)
        self.origin: ev.TensorOrigin = "new"
        """The origin of tensors that no kernel was seen to return. It is "new" as long as the program made all
        tensors.
        """
        self._arrivals: dict[tuple[int, int], tuple[Way, Arrival]] = {}
        """The way by which a function of the program was called, and the note for it, by code object and
        instruction.
        """
        self._announces: dict[int, int] = {}
        """The owner of the code, by the ``id`` of a code object, which ``_codes`` keeps alive."""
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
        self._raw = raw_of(c)
        self._tensor_class = torch.Tensor
        kinds = c._functorch.TransformType
        self._differentiating = kinds.Grad, kinds.Jvp
        self.earlier = EarlierNames(self)
        self._module_calls = {torch.nn.Module._call_impl.__code__}
        self._make_step = steps(self)

    def record_part(self, only: Only, script: Source | None = None, /) -> RecordedPart:
        """Prepare for a recording of a part. Return the part to instrument in the script."""
        super().record_part(only, script)
        chosen = plan(only, script)
        if not chosen.opener or not hands_out_kernels(self.torch._C):
            return chosen.part()._replace(lines=())
        gate = Gate()
        cells = WatchedParts(self.torch, self._step, self.operators, self.numbers_in_transform)
        cells.looking = self.looking = Looking(self, chosen, gate)
        self.cells, self.keys.hidden = cells, cells.gate_bits
        self._threads = _Threads(self._local_sets, cells, self._recording_thread)
        self._make_step = steps(self)
        self.begins_suspended, self.origin = True, "known before"
        return chosen.part()._replace(gate=gate)

    def chosen(self, only: Only | None, /) -> EventFilter | None:
        """Return the filter of the recorded events, for the conditions that do not open the part."""
        return super().chosen(only if self.looking is None or only is None else self.looking.plan.filtered)

    def missed(self, only: Only, chosen: EventFilter | None, /) -> tuple[str, ...]:
        """Return a remark for each condition that selected nothing."""
        if self.looking is None:
            return super().missed(only, chosen)
        if not self.looking.parts:
            return (self.looking.missed(self.iterations.most),)
        return () if chosen is None else tuple(chosen.seen.remarks(self.looking.plan.filtered))

    def begin_in_child(self) -> None:
        """Begin a recording of its own in a forked child. All tensors and Nodes were there before."""
        self.notes.clear()
        self._named_before = self.names.by_tensor()
        self.note = self.notes.extend
        self._build_with(LiveEventBuilder(self.keys, self._defaults))
        self._recording_thread, self.origin = self.builder.thread, "known before"
        self.live_tensors.forget_all()
        self.live_storages.forget_all()
        self._requiring_grad.clear()
        self.nodes.begin()
        self.engine.begin_in_child()
        self.collectives.begin_in_child()
        self.thread.begin()
        self.begin()

    @property
    def thread(self) -> ThreadState:
        """The state of the current thread."""
        return self._threads.state

    def _step(self, operator: str, key: str, call: Step, is_python: bool) -> Step:
        """Return our kernel for a cell."""
        cell = UnmetCell(self.operators, operator, key, is_python)
        if cell.is_autograd and operator.partition(".")[0] == RESETTING:
            call = self.nodes.resetting(call)
        elif may_resize(operator, key):
            call = recording_geometry(self, cell, call)
        elif is_collective(operator, key):
            call = self.collectives.step(operator, call)
        return self._make_step(cell, handler_step(self, cell, call) if key == "Python" else call)

    def unwatched(self, function: Callable[[], Any], /) -> Any:
        """Return the result of a function of ours, without recording its kernels."""
        thread = self.thread
        before, thread.watched = thread.watched, False
        try:
            return function()
        finally:
            thread.watched = before

    def numbers_in_transform(self, args: tuple[Any, ...], /) -> Callable[[Any], Any]:
        """Return a function that makes tensors of the numbers in a call that transforms of ``torch.func`` are about to
        see.
        """
        stack = self.torch._C._functorch.get_interpreter_stack() or ()
        if not any(one.key() in self._differentiating for one in stack):
            return self.wrapped.of
        tensors = [one for one in args if isinstance(one, self._tensor_class)]
        return lambda number: self.wrapped.differentiated(number, tensors)

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
        is_inner = self.thread.inside is not None
        on = -1 if storage is None else self.live_storages.of(storage, alive, made or is_inner)
        if self.numbers and not made and is_inner and self.live_storages.newest != newest:
            self.memory_allocated(on)
        self.note(("tensor_met", number, how, size, stride, dtype, device, ks, on, requires_grad, value))
        if requires_grad:
            self._requiring_grad.add(number)
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
        super().name_bound(name, cast("Any", tensor), iteration)

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
        if cell.is_select:
            self.device_chosen(kwargs)
        own, given, local = self._raw(args[0]), self._sets(cell, args, kwargs), thread.sets
        generator = None if cell.operator.generator is None else cell.operator.generator_among(args, kwargs)
        kind = "" if generator is None else generator.device.type
        thread.inside = cell, given, thread.inside, own
        if generator is None:
            self.note(("kernel_called", cell, own, local[0], local[1], given))
        else:
            self.note(("kernel_called_with_generator", cell, own, local[0], local[1], given, kind))
        if self.numbers:
            self.numbers_given(cell, args, kwargs)

    def device_chosen(self, kwargs: Mapping[str, Any], /) -> None:
        """Watch the kernels at Meta if a kernel at BackendSelect is about to choose the meta device."""
        if "meta" in str(kwargs.get("device")):
            self.cells.meet(META)

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

    def _python_calls(self, frame: FrameType | None, args: tuple[Any, ...]) -> None:
        """Note the program's line in a Python kernel that makes a call, unless the file announces its lines."""
        while frame is not None and frame.f_code.co_filename != OURS:
            if is_users(frame.f_code):
                if frame.f_code.co_filename not in self.announced:
                    self._line_calls(frame, args)
                return
            frame = frame.f_back

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
        tensors = _tensors_of(result, self._tensor_class)
        known = self.live_tensors.get
        serials = [n if (n := known(one)) >= 0 else self._returned(one) for one in tensors]
        if cell.is_autograd and self._grad_mode():
            self.nodes.look_at(tensors, cell, sets)
        return tuple(serials)

    def kernel_failed(self, thread: ThreadState, around: Kernel | None, /) -> None:
        """Note that a kernel raised, or that an exception from outside came before it began or after it returned.

        ``around`` was the innermost kernel before. Until it is so again, no note has closed this kernel.
        """
        while thread.inside is not around and thread.inside is not None:
            cell, _, thread.inside, _ = thread.inside
            self.note(("kernel_failed", cell))

    # -- a recording of a part ----------------------------------------------------------------------------------------

    def line_selected(self, /) -> None:
        """Begin to record at a selected line."""
        if self.looking is not None:
            self.looking.line(_getframe(2))

    def line_not_selected(self, /) -> None:
        """End recording at another line of the frame whose selected line began it."""
        if self.looking is not None:
            self.looking.leaves_line(_getframe(2))

    def left(self, frame: FrameType, /) -> None:
        """Note that a frame is about to end or wait, which also ends its selected line."""
        super().left(frame)
        if self.looking is not None:
            self.looking.leaves_line(frame)

    def selection_changed(self, inside: bool, /) -> None:
        """Note that the selected iterations begin or end."""
        if self.looking is None:
            super().selection_changed(inside)
        else:
            self.looking.iterations_changed(inside)

    def part_begins(self, frame: FrameType, /) -> None:
        """Note that recording begins at a frame, after a part of the program that was not recorded."""
        self._forget_frames()
        thread = self.thread
        thread.newest, thread.numbers = self.nodes.part_begins(), {}
        self.note(("part_begins",))
        self.earlier.look(frame)

    def modules_around(self, frame: FrameType, /) -> int:
        """Note the calls of modules around a frame. Return how many there are."""
        inner: FrameType | None = frame
        found: list[FrameType] = []
        while inner is not None and not is_base(inner, self.base):
            found += [inner] if inner.f_code in self._module_calls else []
            inner = inner.f_back
        for one in reversed(found):
            self.note(("frame_resumed", user_locations(one, self.base)))
            module = one.f_locals["self"]
            self._emit_span(ev.ModuleCalled, self.module_name(module), type(module).__name__)
        self._top = 0
        return len(found)

    def module_name(self, module: Any, /) -> str:
        """Return the path of a module, as the program's variables give it."""
        name = super().module_name(module)
        if name or self.looking is None:
            return name
        return self.earlier.module_name(module) or self.looking.paths.path(module)

    def part_ends(self, modules: int, /) -> None:
        """Note that recording ends, within that many calls of modules."""
        for _ in range(modules):
            self.module_left(False)
        self.earlier.forget()

    def wrote(self, text: str) -> None:
        """Record output, unless a part runs that is not recorded."""
        if recorder.suspended is not self:
            super().wrote(text)

    # -- the user's code ----------------------------------------------------------------------------------------------

    def line_calls(self, frames: int = 4, /) -> Note | None:
        """Note that the program's line makes a call: its first kernel is about to run, or the engine. Return the note,
        which holds until the line ends.

        ``frames`` is the number of frames of this package on the stack.
        """
        return self._line_calls(_getframe(frames))

    def _line_calls(self, frame: FrameType | None, arguments: Sequence[object] = ()) -> Note | None:
        if len(self.notes) > self.many_notes:
            self.hand_over()
        if self.names.seen_again:
            self.names.see_again()
        while frame is not None:
            code = frame.f_code
            announced = self._announces.get(id(code))
            if announced is None:
                announced = self._announces[id(code)] = self._announcing(code)
            if announced == ANNOUNCED and self._top == id(frame):
                note: Note = ("called_from_line", code, frame.f_lasti)
                self.note(note)
                return note
            if announced != OTHER:
                note = self._line_calls_anew(frame, announced)
                if announced == USERS:
                    self._name_held(frame, arguments)
                return note
            if is_base(frame, self.base):
                return None
            frame = frame.f_back
        return None

    def _line_calls_anew(self, frame: FrameType, announced: int) -> Note:
        """Note a call from another frame than last time, or from one that does not announce its lines."""
        place = id(frame.f_code), frame.f_lasti
        known = self._arrivals.get(place)
        if announced == USERS and known is not None and same_way(frame, known[0]):
            self._top, self._top_code = id(frame), frame.f_code
            self.note(known[1])
            return known[1]
        note = self._arrival(frame)
        self._arrivals[place] = self._found_way, note
        self.note(note)
        return note if announced == USERS else ("called_from_line", frame.f_code, frame.f_lasti)

    def _name_held(self, frame: FrameType, arguments: Sequence[object]) -> None:
        """Note the names of tensors and modules in a frame that does not report them. A module that is being made gets
        more parameters later, which nothing reports.
        """
        scope, names = scope_of(frame.f_code), self.names
        if names.changed:
            names.look_again()
        is_made = frame.f_code.co_name == "__init__"
        for name, value in list(frame.f_locals.items()):
            if type(value) in HOLDS_NOTHING:
                continue
            if not is_tensor(value):
                if not is_made and is_module(value):
                    names.bind(scope, name, value)
            elif not names.holds((scope, name), value) and (
                self.live_tensors.get(value) >= self.first_tensor or any(value is one for one in arguments)
            ):
                names.bind(scope, name, value)

    def _announcing(self, code: CodeType) -> int:
        self._codes.append(code)
        return OTHER if not is_users(code) else ANNOUNCED if code.co_filename in self.announced else USERS


HIDING = "hide_warnings.<locals>._showwarning"
"""The function with which PyTorch hides warnings (``torch/_logging/_internal.py``)."""

RESETTING = "aten::set_"
"""The operator whose autograd kernel resets the AccumulateGrad of the tensor that it writes to
(``RESET_GRAD_ACCUMULATOR`` in ``tools/autograd/gen_variable_type.py``). ``resize_`` refuses tensors that require grad.
"""

OURS = LiveRecorder._line_calls.__code__.co_filename
"""The file of the frames of our kernels."""

OTHER, USERS, ANNOUNCED = 0, 1, 2
"""The owner of a frame's code: another's, the user's, or the user's with lines that are announced."""


def _tensors_of(result: Any, kind: type) -> list[Any]:
    if isinstance(result, (tuple, list)):
        found: list[Any] = []
        for part in result:
            found += [part] if isinstance(part, kind) else _tensors_of(part, kind)
        return found
    return []


MakeStep = Callable[[WatchedCell, Step], Step]
"""A function from a cell and the caller of its original kernel to the kernel that replaces it."""


def steps(watch: LiveRecorder) -> MakeStep:
    """Return a function that makes our kernels, which notify the recorder and then call the original kernel.

    There are thousands of kernels, so they share the variables that are bound here (the garbage collector looks at each
    variable). Each runs often, so ``SafetyNet`` is inlined, and so are the two most common notes. With these in methods
    of the recorder, 1,000 recorded adds and their backward took a tenth longer (73 ms instead of 66,
    ``benchmarks/live.py``).
    """
    wrapped, numbers_for, threads = watch.wrapped.of, watch.numbers_in_transform, watch._threads
    called, returned, failed, falls = watch._kernel_called, watch._kernel_returned, watch.kernel_failed, watch._failed
    raw, known, grad_mode, past = watch._raw, watch._known, watch._grad_mode, InferenceNumbers(watch.torch).onward

    def make(cell: WatchedCell, call: Step) -> Step:
        def step(*args: Any, **kwargs: Any) -> Any:  # the key set comes first, so all are passed on unchanged
            given = args
            for value in args:
                if type(value) in KINDS:
                    given = cell.operator.with_tensors(args, numbers_for(args) if cell.is_in_front else wrapped)
                    if (onward := past(cell, args, kwargs)) is not None:
                        return onward(*given, **kwargs)
                    args = args if cell.is_python else given
                    break
            recorded = recorder.listening is watch and (thread := threads.state).watched
            before = thread.inside if recorded else None
            try:
                if recorded:
                    try:
                        inside = before
                        if (
                            inside is not None
                            and (around := inside[0]).operator is cell.operator
                            and around is not cell
                            and not around.calls_again
                            and not (around.is_python and raw(args[0]) & ~inside[3])  # it calls it with other tensors
                        ):
                            if cell.is_select:
                                watch.device_chosen(kwargs)
                            own, local = raw(args[0]), thread.sets
                            thread.inside = cell, inside[1], inside, own
                            watch.note(("kernel_redispatched", cell, own, local[0], local[1]))
                        else:
                            called(cell, given, kwargs, thread)
                    except Exception as fault:
                        falls(fault, LiveRecorder._kernel_called, cell, given, kwargs, thread)
                result = call(*args, **kwargs)
                if type(result) in KINDS and cell.operator.one_tensor and not cell.is_python:
                    result = wrapped(result)
                if recorded:
                    try:
                        if watch.numbers:
                            watch.numbers_returned(cell, args, kwargs, result)
                        if watch.hashes:
                            watch.results_hashed(cell, result)
                        one, inside = known.get(id(result)), thread.inside
                        if one is None or inside is None or one() is not result or (cell.is_autograd and grad_mode()):
                            returned(result, thread)
                        else:
                            thread.inside = inside[2]
                            watch.note(("kernel_returned_one", one.number))
                    except Exception as fault:
                        falls(fault, LiveRecorder._kernel_returned, result, thread)
                return result
            except BaseException as error:
                if recorded:
                    if watch.numbers:
                        watch.numbers_returned(cell, args, kwargs, ())
                    failed(thread, before)
                as_in_pytorch(error, watch.cells)
                raise

        return step

    return make
