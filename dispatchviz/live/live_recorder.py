"""The recorder of a real PyTorch: it is told of each kernel that runs, looks at the tensors and Nodes there, and emits
the notes that the model emits.

Not here: how kernels are watched (``watched_cells.py``), what the engine does (``engine_watch.py``), which Node a
result has (``node_watch.py``), how a program runs on it (``torch_engine.py``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from sys import _getframe
from types import FrameType
from typing import Any

from dispatchviz.call_sites import is_base, is_users
from dispatchviz.core.record import events as ev
from dispatchviz.core.seam import recorder
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

Sets = tuple[tuple[str, int, int], ...]
"""Of each tensor argument: parameter, serial number, key set."""

CALLING_AGAIN = frozenset(
    (
        *("FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchVmapMode", "FuncTorchBatched"),
        *("FuncTorchDynamicLayerBackMode", "Functionalize", "AutocastCPU", "AutocastCUDA", "Python"),
    )
)
"""Kernels there never redispatch: whatever they do is a call."""


class OpenStep:
    """A kernel that runs."""

    __slots__ = ("arguments", "excluded", "guarded", "included", "key", "numbers", "operator")

    def __init__(self, operator: str, key: str, included: int, excluded: int, arguments: dict[str, int]) -> None:
        self.operator, self.key = operator, key
        self.included, self.excluded = included, excluded
        self.arguments = arguments
        """Serial numbers of its tensors, by parameter."""
        self.numbers: dict[int, int] = {}
        """Serial numbers of the wrapped numbers of the outermost call, by the ``id`` of the tensor."""
        self.guarded = False
        """A guard was derived around it."""


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
        self.cells = WatchedCells(c, lambda name, key, call: make_step(self, self.operators.of(name), key, call))
        self.wrapped = WrappedNumbers(torch, self.unwatched)
        self.origin: ev.TensorOrigin = "new"
        """Of tensors that no kernel was seen to return: all there is was made by the program."""
        self.thread = _Thread()
        self.nodes = NodeWatch(self)
        self.engine = EngineWatch(self)
        self._current_node = c._current_autograd_node
        self._included, self._excluded = c._dispatch_tls_local_include_set, c._dispatch_tls_local_exclude_set
        self._key_set = c._dispatch_keys
        self._no_torch_function = c.DisableTorchFunctionSubclass

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
        return number if number >= 0 else self.introduced(tensor, self.origin)

    def _tensor(self, tensor: Any) -> int:
        return self._serial(tensor) - self.first_tensor

    def introduced(self, tensor: Any, how: ev.TensorOrigin, value: str = "", /) -> int:
        """Numbers a tensor that is met for the first time."""
        number = next(self.tensor_numbers)
        self.live_tensors.set(tensor, number)
        shape, stride, dtype, device, ks, storage, requires_grad = self.facts.of(tensor)
        if ks & self.cells.waiting:
            self.cells.meet(ks)
        on = -1 if storage is None else self._storage_number(storage)
        fields = shape, stride, dtype, device, ks, on, requires_grad, bool(value), value
        self._emit(ev.TensorCreated, number - self.first_tensor, how, *fields)
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
        around = open_steps[-1] if open_steps else None
        if not open_steps:
            self._outermost()
        numbers = self.keys
        included, excluded = numbers[self._included().raw_repr()], numbers[self._excluded().raw_repr()]
        guarded = around is not None and (around.excluded != excluded or around.included != included)
        if guarded:
            self._guard(around, included, excluded)
        ks, cell = numbers[keys.raw_repr()], operator.cell(key)
        if around is not None and around.operator == operator.name and _goes_on(around.key, key):
            step = OpenStep(operator.name, key, included, excluded, around.arguments)
            step.numbers = around.numbers
            self.note(("redispatched", "redispatch", cell, ks))
        else:
            wrapped = {} if around is None else around.numbers
            sets = self._argument_sets(operator, args, kwargs, wrapped)
            step = OpenStep(operator.name, key, included, excluded, {name: number for name, number, _ in sets})
            step.numbers = wrapped
            self.note(("called", "call", cell, ks, included, excluded, sets, 0))
        step.guarded = guarded
        open_steps.append(step)
        return step

    def _argument_sets(
        self, operator: WatchedOperator, args: tuple[Any, ...], kwargs: Mapping[str, Any], wrapped: dict[int, int]
    ) -> Sets:
        """The tensors among the arguments, with their key sets."""
        known, key_set, numbers, texts = self.live_tensors.get, self._key_set, self.keys, self.wrapped.texts
        sets = []
        for name, tensor in operator.given(args, kwargs):
            if id(tensor) in texts:
                number = wrapped.get(id(tensor), -1)
                if number < 0:
                    number = wrapped[id(tensor)] = self.introduced(tensor, "new", texts[id(tensor)])
            else:
                number = known(tensor)
                if number < 0:
                    number = self.introduced(tensor, self.origin)
            sets.append((name, number, numbers[key_set(tensor).raw_repr()]))
        return tuple(sets)

    def _guard(self, around: OpenStep, included: int, excluded: int) -> None:
        """The thread's sets are others than those in which the kernel around began."""
        name = guard_name(around.included, included, around.excluded, excluded)
        self.note(("guard_entered", name, around.included, included, around.excluded, excluded))

    def _outermost(self) -> None:
        """A kernel that no other one calls: of a line of the program's, of a Node, of the engine between Nodes."""
        if not self.thread.depth:
            self.arrives()
        elif self.thread.evaluation is not None and self._current_node() is None:
            self.engine.close()

    def kernel_returned(self, step: OpenStep, operator: WatchedOperator, result: Any, /) -> None:
        """It came back."""
        self.thread.open.pop()
        tensors = [result] if isinstance(result, self.torch.Tensor) else _tensors_of(result, self.torch.Tensor)
        known = self.live_tensors.get
        serials = []
        for tensor in tensors:
            number = known(tensor)
            if number < 0:
                number = self.introduced(tensor, "new")
            serials.append(number)
        if step.key[:8] == "Autograd":
            self.nodes.look_at(tensors, operator, step.arguments)
        self.note(("returned", tuple(serials)))
        self._left(step)

    def kernel_failed(self, step: OpenStep, /) -> None:
        """It raised."""
        while self.thread.open and self.thread.open.pop() is not step:
            pass
        self.note(("failed",))
        self._left(step)

    def _left(self, step: OpenStep) -> None:
        if step.guarded:
            around = self.thread.open[-1]
            name = guard_name(around.included, step.included, around.excluded, step.excluded)
            self.note(("guard_left", name, around.included, around.excluded))

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


def _goes_on(around: str, key: str) -> bool:
    """Whether a kernel of the operator within another one is its redispatch: at its own key it would have called again,
    as forward formulas do."""
    return around != key and around not in CALLING_AGAIN


def _tensors_of(result: Any, kind: type) -> list[Any]:
    if isinstance(result, (tuple, list)):
        found = []
        for part in result:
            found += [part] if isinstance(part, kind) else _tensors_of(part, kind)
        return found
    return []


def make_step(watch: LiveRecorder, operator: WatchedOperator, key: str, call: Step) -> Step:
    """The kernel that tells the recorder and does what ``call`` does."""
    numbers, with_tensors = operator.numbers, operator.with_tensors
    wrapped, thread = watch.wrapped.of, watch.thread
    result_of = _with_tensor(wrapped) if operator.one_tensor else None
    entered, returned, failed = watch.kernel_entered, watch.kernel_returned, watch.kernel_failed

    def step(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if numbers:
            args = with_tensors(args, wrapped)
        if recorder.active is not watch or not thread.watched:
            result = call(keys, *args, **kwargs)
            return result if result_of is None else result_of(result)
        opened = entered(operator, key, keys, args, kwargs)
        try:
            result = call(keys, *args, **kwargs)
        except BaseException:
            if opened is not None:
                failed(opened)
            raise
        if result_of is not None:
            result = result_of(result)
        if opened is not None:
            returned(opened, operator, result)
        return result

    return step


def _with_tensor(wrapped: Callable[[complex], Any]) -> Callable[[Any], Any]:
    """A result, a tensor for a number."""
    return lambda value: value if type(value) not in _NUMBERS else wrapped(value)


_NUMBERS = frozenset((bool, int, float, complex))
