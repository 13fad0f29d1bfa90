"""The recorder of a real PyTorch: it is told of each kernel that runs, looks at the tensors and Nodes there, and emits
the notes that the model emits.

Not here: how kernels are watched (``watched_cells.py``), what the engine does (``engine_watch.py``), which Node a
result has (``node_watch.py``), how a program runs on it (``torch_engine.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.changed_geometry import may_resize, telling_geometry
from dispatchviz.live.dispatch_handlers import handler_step
from dispatchviz.live.engine_watch import NO_RUN, EngineWatch, Evaluation, Pass
from dispatchviz.live.inference_numbers import InferenceNumbers
from dispatchviz.live.key_numbers import KeyNumbers, raw_of
from dispatchviz.live.live_events import LiveEventBuilder
from dispatchviz.live.local_sets import LocalSets
from dispatchviz.live.node_watch import NodeWatch
from dispatchviz.live.plain_errors import as_in_pytorch
from dispatchviz.live.tensor_facts import TensorFacts
from dispatchviz.live.tensor_numbers import StorageNumbers, WeakNumbers
from dispatchviz.live.watched_cells import META, Step, WatchedCells
from dispatchviz.live.watched_operators import UnmetCell, WatchedCell, WatchedOperators
from dispatchviz.live.wrapped_numbers import KINDS, WrappedNumbers
from dispatchviz.running.call_sites import is_base, is_users
from dispatchviz.running.program_recorder import ProgramRecorder, Way, same_way

if TYPE_CHECKING:
    from dispatchviz.core.record.note_types import Arrival, Note
    from dispatchviz.live.live_notes import EmitLive, LiveNote, Sets


Kernel = tuple[WatchedCell, "Sets", "Kernel | None", int]
"""A kernel that runs: its cell, the tensors that its call was given, the kernel around it, its raw key set."""


class ThreadState:
    """What a thread is in."""

    __slots__ = ("depth", "evaluation", "inside", "is_engines", "newest", "numbers", "run", "sets", "watched", "work")

    def __init__(self, sets: Sequence[int]) -> None:
        self.sets = sets
        """The included and the excluded key set, as they are whenever one is read (``local_sets.py``)."""
        self.inside: Kernel | None = None
        """The innermost kernel."""
        self.numbers: dict[int, int] = {}
        """Serial numbers of the wrapped numbers of the outermost call, by the ``id`` of the tensor."""
        self.newest = -1
        """The highest sequence number of its own Nodes that was met."""
        self.watched = True
        self.evaluation: Evaluation | None = None
        self.depth = 0
        """So many passes of the engine it is in."""
        self.run = NO_RUN
        """The innermost one."""
        self.is_engines = False
        """The engine of PyTorch made it."""
        self.work: Pass | None = None
        """The backward that it evaluates Nodes of."""


class _Threads(threading.local):
    """Each has a state. What is in a ``threading.local`` takes long to reach, so there is one thing in it.

    What a kernel calls on the threads of ``at::parallel_for`` is not told: these are OpenMP's, in the order of nothing.
    """

    def __init__(self, local_sets: LocalSets, cells: WatchedCells) -> None:
        self.state = ThreadState(local_sets.of_this_thread())
        if cells.in_parallel and _getframe(1).f_back is None:
            self.state.watched = False


class LiveRecorder(ProgramRecorder):
    """Numbers the objects of a real PyTorch; ``torch`` is the installed one."""

    hears_machine = False
    note: EmitLive

    def __init__(self, torch: Any) -> None:
        c = torch._C
        self.keys = KeyNumbers(c)
        local_sets = LocalSets(c)
        super().__init__(LiveEventBuilder(self.keys, local_sets.defaults))
        self._recording_thread = self.builder.thread
        self.torch = torch
        self.facts = TensorFacts(torch, self.keys)
        self.live_tensors = WeakNumbers()
        self._known = self.live_tensors.known
        self._requiring_grad = set[int]()
        """Serial numbers of tensors of which an event says that they require grad."""
        self.live_storages = StorageNumbers(self.storage_numbers)
        self.operators = WatchedOperators(c)
        self.cells = WatchedCells(torch, self._step)
        self._threads = _Threads(local_sets, self.cells)
        self.wrapped = WrappedNumbers(torch, self.unwatched)
        self.origin: ev.TensorOrigin = "new"
        """Of tensors that no kernel was seen to return: all there is was made by the program."""
        self._arrivals: dict[tuple[int, int], tuple[Way, Arrival]] = {}
        """By code object and instruction of the user's: from where its function was called, and the note of that."""
        self._announces: dict[int, int] = {}
        """By ``id`` of a code object, which ``_codes`` keeps alive."""
        self.nodes = NodeWatch(self)
        self.engine = EngineWatch(self)
        self._grad_mode = c.is_grad_enabled if hasattr(c, "is_grad_enabled") else torch.is_grad_enabled
        """Without it a kernel makes no Node, and to ask a view that was written to would make one."""
        self._current_node = c._current_autograd_node
        self._key_set = c._dispatch_keys
        self._raw = raw_of(c)
        self._tensor_class = torch.Tensor
        kinds = c._functorch.TransformType
        self._differentiating = kinds.Grad, kinds.Jvp
        self._make_step = steps(self)

    @property
    def thread(self) -> ThreadState:
        """That of the thread that asks."""
        return self._threads.state

    def _step(self, operator: str, key: str, call: Step, is_python: bool) -> Step:
        """The kernel of ours for a cell."""
        cell = UnmetCell(self.operators, operator, key, is_python)
        if cell.is_autograd and operator.partition(".")[0] == RESETTING:
            call = self.nodes.resetting(call)
        elif may_resize(operator, key):
            call = telling_geometry(self, cell, call)
        return self._make_step(cell, handler_step(self, cell, call) if key == "Python" else call)

    def unwatched(self, function: Callable[[], Any], /) -> Any:
        """The result of a function of ours whose kernels are not told."""
        thread = self.thread
        before, thread.watched = thread.watched, False
        try:
            return function()
        finally:
            thread.watched = before

    def numbers_in_transform(self, args: tuple[Any, ...], /) -> Callable[[Any], Any]:
        """What makes tensors of the numbers in a call that transforms of ``torch.func`` are about to see."""
        stack = self.torch._C._functorch.get_interpreter_stack() or ()
        if not any(one.key() in self._differentiating for one in stack):
            return self.wrapped.of
        tensors = [one for one in args if isinstance(one, self._tensor_class)]
        return lambda number: self.wrapped.differentiated(number, tensors)

    def guarded(self, function: Callable[[], Any], /) -> Any:
        """The result of a function that tells; None if it fails, which ends the recording."""
        return function()

    def note_of(self, ident: int, note: LiveNote, /) -> None:
        """Append a note of the thread with that identifier; 0 is this one."""
        if ident:
            self.notes.extend(("on_thread", ident, *note, "on_thread", self._recording_thread))
        else:
            self.note(note)

    # -- numbers ------------------------------------------------------------------------------------------------------

    def number_of(self, tensor: Any, /) -> int:
        """Its serial number; -1 if it has none."""
        return self.live_tensors.get(tensor)

    def serial(self, tensor: Any, /) -> int:
        """Serial number of a tensor; meeting one that was there before is an event."""
        return self._serial(tensor)

    def _serial(self, tensor: Any) -> int:
        known = self._known.get(id(tensor))
        return known.number if known is not None and known() is tensor else self._introduced(tensor, self.origin)

    def _tensor(self, tensor: Any) -> int:
        return self._serial(tensor) - self.first_tensor

    def _introduced(
        self, tensor: Any, how: ev.TensorOrigin, value: str = "", kept: bool = True, made: bool = False
    ) -> int:
        """Number a tensor that is met for the first time; ``made``: a kernel returned it."""
        number = next(self.tensor_numbers)
        alive = self.live_tensors.set(tensor, number) if kept else ref(tensor)
        size, stride, dtype, device, ks, storage, requires_grad = self.facts.of(tensor)
        if value:
            ks = self.keys[self.wrapped.key_set(tensor)]
        if ks & self.cells.waiting:
            self.cells.meet(ks)
        on = -1 if storage is None else self.live_storages.of(storage, alive, made)
        self.note(("tensor_met", number, how, size, stride, dtype, device, ks, on, requires_grad, value))
        if requires_grad:
            self._requiring_grad.add(number)
        return number

    def leaf_requires_grad(self, tensor: Any, /) -> None:
        """A leaf that requires grad gets a name: an event, unless it is known. What sets the flag calls no operator."""
        number = self._serial(tensor)
        if number not in self._requiring_grad:
            self._requiring_grad.add(number)
            self._emit(ev.RequiresGradSet, number - self.first_tensor, True, False)

    def name_bound(self, name: str, tensor: Any, turn: int = 0, /) -> None:
        """A variable names a tensor; the Node of a custom Function is met then. A tensor of the model is none here."""
        if not isinstance(tensor, self._tensor_class):
            return
        self.nodes.look_at_bound(tensor)
        super().name_bound(name, tensor, turn)

    # -- kernels ------------------------------------------------------------------------------------------------------

    def _kernel_called(
        self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any], thread: ThreadState
    ) -> None:
        """A kernel is about to run that a call selected; the first argument is its key set. What follows from the cell
        and the raw sets, the builder does."""
        if thread.inside is None:
            self._call_begins(thread)
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

    def device_chosen(self, kwargs: Mapping[str, Any], /) -> None:
        """A kernel at BackendSelect is about to look up the backend of a device: what it then calls is to be seen."""
        if "meta" in str(kwargs.get("device")):
            self.cells.meet(META)

    def _call_begins(self, thread: ThreadState) -> None:
        """The outermost one of a line, or of a Node. Beyond the frame of ``step`` is that of whoever called it."""
        frame = _getframe(2).f_back
        if thread.depth:
            if thread.evaluation is not None and self._current_node() is None:
                self.engine.close(thread)
            run, top, note = thread.run
            has_more_to_do = len(self.notes) > self.many_notes or self.names.seen_again
            if self._top == top and frame is not None and id(frame.f_back) == run and not has_more_to_do:
                self.note(note)
                return
        self._arrives(frame)

    def _sets(self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sets:
        """The tensors among the arguments, with their key sets."""
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
        """Its key set; of a wrapped number the one that PyTorch's has, which ours may have more than."""
        return (
            self.wrapped.key_set(tensor) if id(tensor) in self.wrapped.texts else int(self._raw(self._key_set(tensor)))
        )

    def _given(self, tensor: Any) -> int:
        known = self.live_tensors.get(tensor)
        return known if known >= 0 else self._unknown(tensor)

    def _unknown(self, tensor: Any) -> int:
        """The serial number of an argument that has none yet. A wrapped number is of each outermost call a tensor of
        its own: ours is kept for the next time."""
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
        """It came back."""
        if thread.inside is None:
            return  # to enter it failed
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
        """The serial number of a result that has none yet; the kernel may hand back a wrapped number that it got."""
        if id(tensor) in self.wrapped.texts:
            return self._unknown(tensor)
        return self._introduced(tensor, "new", "", True, True)

    def _returned_others(self, cell: WatchedCell, sets: Sets, result: Any) -> tuple[int, ...]:
        """Serial numbers of the tensors in a result that is no tensor."""
        tensors = _tensors_of(result, self._tensor_class)
        known = self.live_tensors.get
        serials = [n if (n := known(one)) >= 0 else self._returned(one) for one in tensors]
        if cell.is_autograd and self._grad_mode():
            self.nodes.look_at(tensors, cell, sets)
        return tuple(serials)

    def kernel_failed(self, thread: ThreadState, around: Kernel | None, /) -> None:
        """It raised, or an exception from outside came before it began or after it returned. ``around`` was the
        innermost kernel before; as long as it is not again, no note has closed this one."""
        while thread.inside is not around and thread.inside is not None:
            cell, _, thread.inside, _ = thread.inside
            self.note(("kernel_failed", cell))

    # -- the user's code ----------------------------------------------------------------------------------------------

    def arrives(self, frames: int = 4, /) -> Note | None:
        """The program's line calls something: the first kernel in it is about to run, or the engine. Gives the note
        that says so as long as the line goes on.

        So many frames are of this package.
        """
        return self._arrives(_getframe(frames))

    def _arrives(self, frame: FrameType | None) -> Note | None:
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
                return self._arrives_anew(frame, announced)
            if is_base(frame, self.base):
                return None
            frame = frame.f_back
        return None

    def _arrives_anew(self, frame: FrameType, announced: int) -> Note:
        """From another frame than last time, or one that does not say when it goes on to another line."""
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

    def _announcing(self, code: CodeType) -> int:
        self._codes.append(code)
        return OTHER if not is_users(code) else ANNOUNCED if code.co_filename in self.announced else USERS


RESETTING = "aten::set_"
"""The operator whose autograd kernel resets the AccumulateGrad of what it writes to
(``RESET_GRAD_ACCUMULATOR`` in ``tools/autograd/gen_variable_type.py``; ``resize_`` refuses what requires grad)."""

OTHER, USERS, ANNOUNCED = 0, 1, 2
"""Whose code a frame runs, and whether it announces its lines."""


def _tensors_of(result: Any, kind: type) -> list[Any]:
    if isinstance(result, (tuple, list)):
        found: list[Any] = []
        for part in result:
            found += [part] if isinstance(part, kind) else _tensors_of(part, kind)
        return found
    return []


MakeStep = Callable[[WatchedCell, Step], Step]
"""Of a cell and what calls the kernel there: the kernel to put in its place."""


def steps(watch: LiveRecorder) -> MakeStep:
    """Make kernels that tell the recorder and do what was done before: thousands, so what they share is bound out here
    (the collector looks at each variable). Each runs often, so ``SafetyNet`` is written out in it, and so are the two
    commonest notes: with these in methods of the recorder, 1,000 recorded adds and their backward took a tenth longer
    (73 ms instead of 66, ``benchmarks/live.py``).
    """
    wrapped, numbers_for, threads = watch.wrapped.of, watch.numbers_in_transform, watch._threads
    called, returned, failed, falls = watch._kernel_called, watch._kernel_returned, watch.kernel_failed, watch._failed
    raw, known, grad_mode, past = watch._raw, watch._known, watch._grad_mode, InferenceNumbers(watch.torch).onward

    def make(cell: WatchedCell, call: Step) -> Step:
        def step(*args: Any, **kwargs: Any) -> Any:  # the key set is the first: so all are handed on as they came
            given = args
            for value in args:
                if type(value) in KINDS:
                    given = cell.operator.with_tensors(args, numbers_for(args) if cell.is_in_front else wrapped)
                    if (onward := past(cell, args, kwargs)) is not None:
                        return onward(*given, **kwargs)
                    args = args if cell.is_python else given
                    break
            told = recorder.listening is watch and (thread := threads.state).watched
            before = thread.inside if told else None
            try:
                if told:
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
                if told:
                    try:
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
                if told:
                    failed(thread, before)
                as_in_pytorch(error, watch.cells)
                raise

        return step

    return make
