"""The recorder of a real PyTorch: it is told of each kernel that runs, looks at the tensors and Nodes there, and emits
the notes that the model emits.

Not here: how kernels are watched (``watched_cells.py``), what the engine does (``engine_watch.py``), which Node a
result has (``node_watch.py``), how a program runs on it (``torch_engine.py``).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from sys import _getframe
from types import FrameType
from typing import Any

from dispatchviz.call_sites import is_base, is_users
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
from dispatchviz.core.table.operator_entry import Cell
from dispatchviz.live.derived_guards import guard_name
from dispatchviz.live.engine_watch import EngineWatch, Evaluation
from dispatchviz.live.key_numbers import KeyNumbers
from dispatchviz.live.live_events import LiveEventBuilder
from dispatchviz.live.node_watch import NodeWatch
from dispatchviz.live.tensor_facts import TensorFacts
from dispatchviz.live.tensor_numbers import WeakNumbers
from dispatchviz.live.watched_cells import META, WatchedCells
from dispatchviz.live.watched_operators import WatchedOperator, WatchedOperators
from dispatchviz.live.wrapped_numbers import WrappedNumbers
from dispatchviz.program_recorder import ProgramRecorder

Step = Callable[..., Any]
"""A kernel: takes the key set, then the arguments."""

CALLING_AGAIN = frozenset(
    (
        *("FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchVmapMode", "FuncTorchBatched"),
        *("FuncTorchDynamicLayerBackMode", "Functionalize", "AutocastCPU", "AutocastCUDA", "Python"),
    )
)
"""Kernels there never redispatch: whatever they do is a call."""


class OpenStep:
    """A kernel that runs."""

    __slots__ = ("arguments", "excluded", "guard", "included", "is_autograd", "key", "numbers", "operator")

    def __init__(
        self, operator: WatchedOperator, key: str, included: int, excluded: int, numbers: dict[int, int]
    ) -> None:
        self.operator, self.key = operator, key
        self.is_autograd = key[:8] == "Autograd"
        self.included, self.excluded = included, excluded
        self.arguments: dict[str, int] = {}
        """Serial numbers of its tensors, by parameter."""
        self.numbers = numbers
        """Serial numbers of the wrapped numbers of the outermost call, by the ``id`` of the tensor."""
        self.guard = ""
        """The guard that was derived around it."""


_guard = functools.cache(guard_name)


class _Thread(threading.local):
    """What a thread is in."""

    def __init__(self) -> None:
        self.open: list[OpenStep] = []
        self.watched = True
        self.evaluation: Evaluation | None = None
        self.depth = 0
        """So many passes of the engine it is in."""


class LiveRecorder(ProgramRecorder):
    """Numbers the objects of a real PyTorch; ``torch`` is the installed one."""

    def __init__(self, torch: Any) -> None:
        super().__init__(LiveEventBuilder())
        c = torch._C
        self.torch = torch
        self.keys = KeyNumbers(c)
        self.facts = TensorFacts(torch, self.keys)
        self.live_tensors = WeakNumbers()
        self.live_storages = WeakNumbers()
        self.operators = WatchedOperators(c)
        self.cells = WatchedCells(c, lambda name, key, call: make_step(self, name, key, call))
        self.wrapped = WrappedNumbers(torch, self.unwatched)
        self.origin: ev.TensorOrigin = "new"
        """Of tensors that no kernel was seen to return: all there is was made by the program."""
        self.thread = _Thread()
        self.nodes = NodeWatch(self)
        self.engine = EngineWatch(self)
        self._current_node = c._current_autograd_node
        self._included, self._excluded = c._dispatch_tls_local_include_set, c._dispatch_tls_local_exclude_set
        self._key_set = c._dispatch_keys
        self._tensor_class = torch.Tensor

    def unwatched(self, function: Callable[[], Any], /) -> Any:
        """The result of a function of ours whose kernels are not told."""
        thread = self.thread
        before, thread.watched = thread.watched, False
        try:
            return function()
        finally:
            thread.watched = before

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

    def _introduced(self, tensor: Any, how: ev.TensorOrigin, value: str = "") -> int:
        """Numbers a tensor that is met for the first time."""
        number = next(self.tensor_numbers)
        self.live_tensors.set(tensor, number)
        shape, stride, dtype, device, ks, storage, requires_grad = self.facts.of(tensor)
        if ks & self.cells.waiting:
            self.cells.meet(ks)
        on = -1 if storage is None else self._storage_number(storage)
        own = number - self.first_tensor
        fields = own, how, shape, stride, dtype, device, ks, on, requires_grad, bool(value), value
        self._emit(ev.TensorCreated, *fields)
        return number

    def _storage_number(self, storage: Any) -> int:
        number = self.live_storages.get(storage)
        if number < 0:
            number = next(self.storage_numbers)
            self.live_storages.set(storage, number)
        return number - self.first_storage

    # -- kernels ------------------------------------------------------------------------------------------------------

    def kernel_entered(
        self, operator: WatchedOperator, key: str, keys: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], /
    ) -> OpenStep | None:
        """A kernel is about to run."""
        if key == "BackendSelect" and "meta" in str(kwargs.get("device")):
            self.cells.meet(META)
        open_steps = self.thread.open
        numbers = self.keys
        ks, cell = numbers[keys.raw_repr()], operator.cell(key)
        included, excluded = numbers[self._included().raw_repr()], numbers[self._excluded().raw_repr()]
        if not open_steps:
            self._outermost()
            step = OpenStep(operator, key, included, excluded, {})
            self._called(step, cell, ks, args, kwargs)
        else:
            around = open_steps[-1]
            step = OpenStep(operator, key, included, excluded, around.numbers)
            if around.excluded != excluded or around.included != included:
                step.guard = _guard(around.included, included, around.excluded, excluded)
            if around.operator is operator and around.key != key and around.key not in CALLING_AGAIN:
                self._redispatched(step, around, cell, ks)
            else:
                self._enter_guard(step, around)
                self._called(step, cell, ks, args, kwargs)
        open_steps.append(step)
        return step

    def _called(self, step: OpenStep, cell: Cell, ks: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """A call from the outside: tensors, and the key set of each."""
        known, key_set, numbers, texts = self.live_tensors.get, self._key_set, self.keys, self.wrapped.texts
        arguments, sets = {}, []
        for name, tensor in step.operator.given(args, kwargs):
            number = self._wrapped_number(step, tensor) if id(tensor) in texts else known(tensor)
            if number < 0:
                number = self._introduced(tensor, self.origin)
            arguments[name] = number
            sets.append((name, number, numbers[key_set(tensor).raw_repr()]))
        step.arguments = arguments
        self.note(("called", "call", cell, ks, step.included, step.excluded, tuple(sets), 0))

    def _wrapped_number(self, step: OpenStep, tensor: Any) -> int:
        """Of each outermost call a tensor of its own: ours is kept for the next time."""
        number = step.numbers.get(id(tensor), -1)
        if number < 0:
            number = step.numbers[id(tensor)] = self._introduced(tensor, "new", self.wrapped.texts[id(tensor)])
        return number

    def _redispatched(self, step: OpenStep, around: OpenStep, cell: Cell, ks: int) -> None:
        step.arguments = around.arguments
        if step.guard and step.included == around.included:
            sets = around.included, around.excluded, step.excluded
            self.note(("redispatched_within", cell, ks, step.guard, *sets))
            return
        self._enter_guard(step, around)
        self.note(("redispatched_typed", cell, ks))

    def _enter_guard(self, step: OpenStep, around: OpenStep) -> None:
        """The thread's sets are others than those in which the kernel around began."""
        if step.guard:
            sets = around.included, step.included, around.excluded, step.excluded
            self.note(("guard_entered", step.guard, *sets))

    def _outermost(self) -> None:
        """A kernel that no other one calls: of a line of the program's, of a Node, of the engine between Nodes."""
        if not self.thread.depth:
            self.arrives()
        elif self.thread.evaluation is not None and self._current_node() is None:
            self.engine.close()

    def kernel_returned(self, step: OpenStep, result: Any, /) -> None:
        """It came back."""
        open_steps = self.thread.open
        open_steps.pop()
        if isinstance(result, self._tensor_class):
            number = self.live_tensors.get(result)
            if number < 0:
                number = self._introduced(result, "new")
            if step.is_autograd:
                self.nodes.look_at((result,), step)
            if step.guard and step.included == open_steps[-1].included:
                around = open_steps[-1]
                self.note(("returned_from_within", number, step.guard, around.included, around.excluded))
                return
            self.note(("returned_one", number))
        else:
            self._returned_others(step, result)
        self._left(step)

    def _returned_others(self, step: OpenStep, result: Any) -> None:
        tensors = _tensors_of(result, self._tensor_class)
        known = self.live_tensors.get
        serials = [n if (n := known(one)) >= 0 else self._introduced(one, "new") for one in tensors]
        if step.is_autograd:
            self.nodes.look_at(tensors, step)
        self.note(("returned", tuple(serials)))

    def kernel_failed(self, step: OpenStep, /) -> None:
        """It raised."""
        while self.thread.open and self.thread.open.pop() is not step:
            pass
        self.note(("failed",))
        self._left(step)

    def _left(self, step: OpenStep) -> None:
        if step.guard:
            around = self.thread.open[-1]
            self.note(("guard_left", step.guard, around.included, around.excluded))

    # -- the user's code ----------------------------------------------------------------------------------------------

    def arrives(self, /) -> None:
        """The program's line calls something: the first kernel in it is about to run, or the engine."""
        if len(self.notes) > self.many_notes:
            self.hand_over()
        if self.names.seen_again:
            self.names.see_again()
        frame: FrameType | None = _getframe(1)
        while frame is not None and not is_users(frame.f_code):
            if is_base(frame, self.base):
                return
            frame = frame.f_back
        if frame is not None:
            self.note(self._arrival(frame))


def _tensors_of(result: Any, kind: type) -> list[Any]:
    if isinstance(result, (tuple, list)):
        found = []
        for part in result:
            found += [part] if isinstance(part, kind) else _tensors_of(part, kind)
        return found
    return []


def make_step(watch: LiveRecorder, name: str, key: str, call: Step) -> Step:
    """The kernel that tells the recorder and does what ``call`` does."""
    operator: WatchedOperator | None = None
    wrapped, thread = watch.wrapped.of, watch.thread
    entered, returned, failed = watch.kernel_entered, watch.kernel_returned, watch.kernel_failed
    watched = recorder

    def unrecorded(keys: Any, args: tuple[Any, ...], kwargs: dict[str, Any], known: WatchedOperator) -> Any:
        result = call(keys, *args, **kwargs)
        return wrapped(result) if known.one_tensor and type(result) in _NUMBERS else result

    def step(keys: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal operator
        known = operator
        if known is None:
            known = operator = watch.operators.of(name)
        if known.numbers:
            args = known.with_tensors(args, wrapped)
        if watched.active is not watch or not thread.watched:
            return unrecorded(keys, args, kwargs, known)
        opened = entered(known, key, keys, args, kwargs)
        try:
            result = call(keys, *args, **kwargs)
        except BaseException:
            if opened is not None:
                failed(opened)
            raise
        if known.one_tensor and type(result) in _NUMBERS:
            result = wrapped(result)
        if opened is not None:
            returned(opened, result)
        return result

    return step


_NUMBERS = frozenset((bool, int, float, complex))
