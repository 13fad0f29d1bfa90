"""The recorder of a real PyTorch: it is told of each kernel that runs, looks at the tensors and Nodes there, and emits
the notes that the model emits.

Not here: how kernels are watched (``watched_cells.py``), what the engine does (``engine_watch.py``), which Node a
result has (``node_watch.py``), how a program runs on it (``torch_engine.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from sys import _getframe
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from dispatchviz.call_sites import is_base, is_users
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.live.engine_watch import EngineWatch, Evaluation
from dispatchviz.live.key_numbers import KeyNumbers
from dispatchviz.live.live_events import LiveEventBuilder
from dispatchviz.live.node_watch import NodeWatch
from dispatchviz.live.plain_errors import plainly
from dispatchviz.live.tensor_facts import TensorFacts
from dispatchviz.live.tensor_numbers import StorageNumbers, WeakNumbers
from dispatchviz.live.watched_cells import META, Step, WatchedCells
from dispatchviz.live.watched_operators import WatchedCell, WatchedOperators
from dispatchviz.live.wrapped_numbers import KINDS, WrappedNumbers
from dispatchviz.program_recorder import ProgramRecorder, Way, same_way

if TYPE_CHECKING:
    from dispatchviz.core.record.note_types import Arrival
    from dispatchviz.live.live_notes import EmitLive, Sets


class _Thread(threading.local):
    """What a thread is in."""

    def __init__(self) -> None:
        self.open: list[WatchedCell] = []
        self.sets: list[Sets] = []
        """Of each of those the tensors that it was called with."""
        self.numbers: dict[int, int] = {}
        """Serial numbers of the wrapped numbers of the outermost call, by the ``id`` of the tensor."""
        self.watched = True
        self.evaluation: Evaluation | None = None
        self.depth = 0
        """So many passes of the engine it is in."""


class LiveRecorder(ProgramRecorder):
    """Numbers the objects of a real PyTorch; ``torch`` is the installed one."""

    note: EmitLive

    def __init__(self, torch: Any) -> None:
        c = torch._C
        self.keys = KeyNumbers(c)
        super().__init__(LiveEventBuilder(self.keys))
        self.torch = torch
        self.facts = TensorFacts(torch, self.keys)
        self.live_tensors = WeakNumbers()
        self._known = self.live_tensors.known
        self.live_storages = StorageNumbers()
        self.operators = WatchedOperators(c)
        self.cells = WatchedCells(torch, self._step)
        self.wrapped = WrappedNumbers(torch, self.unwatched)
        self.origin: ev.TensorOrigin = "new"
        """Of tensors that no kernel was seen to return: all there is was made by the program."""
        self.thread = _Thread()
        self._arrivals: dict[tuple[int, int], tuple[Way, Arrival]] = {}
        """By code object and instruction of the user's: from where its function was called, and the note of that."""
        self._announces: dict[int, int] = {}
        """By ``id`` of a code object, which ``_codes`` keeps alive."""
        self.nodes = NodeWatch(self)
        self.engine = EngineWatch(self)
        self._current_node = c._current_autograd_node
        self._included, self._excluded = c._dispatch_tls_local_include_set, c._dispatch_tls_local_exclude_set
        self._key_set = c._dispatch_keys
        self._tensor_class = torch.Tensor
        kinds = c._functorch.TransformType
        self._differentiating = kinds.Grad, kinds.Jvp

    def _step(self, operator: str, key: str, call: Step, is_python: bool) -> Step:
        """The kernel of ours for a cell."""
        cell = WatchedCell(self.operators, operator, key)
        return make_python_step(self, cell, call) if is_python else make_step(self, cell, call)

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

    # -- numbers ------------------------------------------------------------------------------------------------------

    def number_of(self, tensor: Any, /) -> int:
        """Its serial number; -1 if it has none."""
        return self.live_tensors.get(tensor)

    def serial(self, tensor: Any, /) -> int:
        """Serial number of a tensor; meeting one that was there before is an event."""
        return self._serial(tensor)

    def _serial(self, tensor: Any) -> int:
        number = self.live_tensors.get(tensor)
        return number if number >= 0 else self._introduced(tensor, self.origin)

    def _tensor(self, tensor: Any) -> int:
        return self._serial(tensor) - self.first_tensor

    def _introduced(
        self, tensor: Any, how: ev.TensorOrigin, value: str = "", kept: bool = True, made: bool = False
    ) -> int:
        """Numbers a tensor that is met for the first time; ``made``: a kernel returned it."""
        number = next(self.tensor_numbers)
        if kept:
            self.live_tensors.set(tensor, number)
        size, stride, ks, storage = self.facts.of(tensor)
        if value:
            ks = self.keys[self.wrapped.key_set(tensor)]
        if ks & self.cells.waiting:
            self.cells.meet(ks)
        on = -1 if storage is None else self._storage_number(storage, tensor, made)
        self.note(
            ("tensor_met", number, how, size, stride, tensor.dtype, tensor.device, ks, on, tensor.requires_grad, value)
        )
        return number

    def _storage_number(self, address: int, tensor: Any, made: bool) -> int:
        number = self.live_storages.get(address, tensor, made)
        if number < 0:
            number = next(self.storage_numbers)
            self.live_storages.set(address, tensor, number)
        return number

    # -- kernels ------------------------------------------------------------------------------------------------------

    def kernel_entered(self, cell: WatchedCell, keys: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], /) -> None:
        """A kernel is about to run. What follows from the cell and the raw sets, the builder does."""
        thread, included, excluded = self.thread, self._included().raw_repr(), self._excluded().raw_repr()
        open_cells = thread.open
        if open_cells:
            around = open_cells[-1]
            if around.operator is cell.operator and around is not cell and not around.calls_again:
                self.note(("kernel_redispatched", cell, keys.raw_repr(), included, excluded))
                open_cells.append(cell)
                thread.sets.append(thread.sets[-1])
                return
        elif thread.depth:
            if thread.evaluation is not None and self._current_node() is None:
                self.engine.close()
            self.arrives()
        else:
            self.arrives()
        if cell.is_select and "meta" in str(kwargs.get("device")):
            self.cells.meet(META)
        sets, operator = self._sets(cell, args, kwargs), cell.operator
        generator = None if operator.generator is None else operator.generator_among(args, kwargs)
        if generator is None:
            self.note(("kernel_called", cell, keys.raw_repr(), included, excluded, sets))
        else:
            device = generator.device.type
            self.note(("kernel_called_with_generator", cell, keys.raw_repr(), included, excluded, sets, device))
        open_cells.append(cell)
        thread.sets.append(sets)

    def _sets(self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sets:
        """The tensors among the arguments, with their key sets."""
        known, key_set, texts = self._known, self._key_set, self.wrapped.texts
        sets = []
        for name, tensor in cell.operator.given(args, kwargs):
            one = known.get(id(tensor))
            if one is not None and one[0]() is tensor:
                number = one[1]
            elif id(tensor) in texts:
                sets.append((name, self._wrapped_number(tensor), self.wrapped.key_set(tensor)))
                continue
            else:
                number = self._introduced(tensor, self.origin)
            sets.append((name, number, key_set(tensor).raw_repr()))
        return tuple(sets)

    def _wrapped_number(self, tensor: Any) -> int:
        """Of each outermost call a tensor of its own: ours is kept for the next time."""
        thread = self.thread
        if not thread.open:
            thread.numbers = {}
        number = thread.numbers.get(id(tensor), -1)
        if number < 0:
            texts = self.wrapped.texts
            number = thread.numbers[id(tensor)] = self._introduced(tensor, "new", texts[id(tensor)], False)
        return number

    def kernel_returned(self, cell: WatchedCell, result: Any, /) -> None:
        """It came back."""
        self.thread.open.pop()
        sets = self.thread.sets.pop()
        if isinstance(result, self._tensor_class):
            number = self.live_tensors.get(result)
            if number < 0:
                number = self._introduced(result, "new", made=True)
            if cell.is_autograd:
                self.nodes.look_at((result,), cell, sets)
            self.note(("kernel_returned_one", number))
        else:
            self._returned_others(cell, sets, result)

    def _returned_others(self, cell: WatchedCell, sets: Sets, result: Any) -> None:
        tensors = _tensors_of(result, self._tensor_class)
        known = self.live_tensors.get
        serials = [n if (n := known(one)) >= 0 else self._introduced(one, "new", made=True) for one in tensors]
        if cell.is_autograd:
            self.nodes.look_at(tensors, cell, sets)
        self.note(("kernel_returned", tuple(serials)))

    def kernel_failed(self, cell: WatchedCell, /) -> None:
        """It raised."""
        self.thread.open.pop()
        self.thread.sets.pop()
        self.note(("kernel_failed",))

    # -- the user's code ----------------------------------------------------------------------------------------------

    def arrives(self, frames: int = 5, /) -> None:
        """The program's line calls something: the first kernel in it is about to run, or the engine.

        So many frames are of this package.
        """
        if len(self.notes) > self.many_notes:
            self.hand_over()
        if self.names.seen_again:
            self.names.see_again()
        frame: FrameType | None = _getframe(frames)
        while frame is not None:
            code = frame.f_code
            announced = self._announces.get(id(code))
            if announced is None:
                announced = self._announces[id(code)] = self._announcing(code)
            if announced == ANNOUNCED and self._top == id(frame):
                self.note(("called_from_line", code, frame.f_lasti))
                return
            if announced != OTHER:
                self._arrives_anew(frame, announced)
                return
            if is_base(frame, self.base):
                return
            frame = frame.f_back

    def _arrives_anew(self, frame: FrameType, announced: int) -> None:
        """From another frame than last time, or one that does not say when it goes on to another line."""
        place = id(frame.f_code), frame.f_lasti
        known = self._arrivals.get(place)
        if announced == USERS and known is not None and same_way(frame, known[0]):
            self._top, self._top_code = id(frame), frame.f_code
            self._entered.clear()
            self.note(known[1])
            return
        note = self._arrival(frame)
        self._arrivals[place] = self._found_way, note
        self.note(note)

    def _announcing(self, code: CodeType) -> int:
        self._codes.append(code)
        return OTHER if not is_users(code) else ANNOUNCED if code.co_filename in self.announced else USERS


OTHER, USERS, ANNOUNCED = 0, 1, 2
"""Whose code a frame runs, and whether it announces its lines."""


def _tensors_of(result: Any, kind: type) -> list[Any]:
    if isinstance(result, (tuple, list)):
        found: list[Any] = []
        for part in result:
            found += [part] if isinstance(part, kind) else _tensors_of(part, kind)
        return found
    return []


def make_step(watch: LiveRecorder, cell: WatchedCell, call: Step) -> Step:
    """The kernel that tells the recorder and does what ``call`` does."""
    wrapped, thread = watch.wrapped.of, watch.thread
    entered, returned, failed = watch.kernel_entered, watch.kernel_returned, watch.kernel_failed
    listens = recorder
    in_front, numbers_for = cell.key == "FuncTorchDynamicLayerFrontMode", watch.numbers_in_transform

    def step(keys: Any, *args: Any, **kwargs: Any) -> Any:
        operator = cell.operator
        if operator.numbers:
            args = operator.with_tensors(args, wrapped if not in_front else numbers_for(args))
        told = listens.active is watch and thread.watched
        if told:
            entered(cell, keys, args, kwargs)
        try:
            result = call(keys, *args, **kwargs)
        except BaseException as error:
            if told:
                failed(cell)
            if type(error) is NotImplementedError:
                plainly(error, watch.cells)
            raise
        if operator.one_tensor and type(result) in KINDS:
            result = wrapped(result)
        if told:
            returned(cell, result)
        return result

    return step


def make_python_step(watch: LiveRecorder, cell: WatchedCell, call: Step) -> Step:
    """The same before a function of Python's, which is handed numbers as they are."""
    wrapped, thread = watch.wrapped.of, watch.thread
    entered, returned, failed = watch.kernel_entered, watch.kernel_returned, watch.kernel_failed

    def step(keys: Any, *args: Any, **kwargs: Any) -> Any:
        told = recorder.active is watch and thread.watched
        if told:
            entered(cell, keys, cell.operator.with_tensors(args, wrapped), kwargs)
        try:
            result = call(keys, *args, **kwargs)
        except BaseException as error:
            if told:
                failed(cell)
            if type(error) is NotImplementedError:
                plainly(error, watch.cells)
            raise
        if told:
            returned(cell, result)
        return result

    return step
