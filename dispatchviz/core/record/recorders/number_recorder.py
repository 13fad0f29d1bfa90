"""The numbers of small tensors, in recordings that request them: as text, whenever they may have changed.

A tensor's numbers are recorded when it is an argument or a result, and again when its memory is written through any
tensor. For that, the recorder knows which of the recorded tensors are alive, and keeps none of them alive. Numbers are
compared as bytes, and become text if they changed. Memory to which NumPy or the program has access can change unseen.
The recorder emits one event about that, and then no more numbers of tensors on this memory.

An installed PyTorch has more ways to write unseen (``live/number_watch.py``). Numbers that changed without a write are
then recorded as such.

Numbers on a GPU are copied to the host, for which the recording waits until the GPU has computed them. The event shows
that.

If a recording has a limit, its last event of this kind is marked: after it no memory's content is known. Calls are then
recorded without numbers, as fast as in a recording without them.

Not here: the steps at which numbers are valid (``explain/trace_index/tensor_numbers.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from dispatchviz.core.device.array_library import is_on_gpu, on_host
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.recorder_base import RecorderBase, tensors_in
from dispatchviz.core.record.recorders.result_hash import writes_nothing
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.conj_neg_bits import resolved

if TYPE_CHECKING:
    from dispatchviz.core.schema.function_schema import FunctionSchema
    from dispatchviz.core.table.operator_entry import OperatorEntry
    from dispatchviz.core.tensor.tensor import Tensor

WRITTEN_TOO = ("running_mean", "running_var")
"""Parameters that batch norm writes to although its schema does not declare it."""

Held = tuple[int, tuple[int, ...], bytes]
"""The numbers of a tensor: its storage, its shape, the bytes of its elements."""


class Effects(NamedTuple):
    """The effects of an operator on the memory of its arguments and results."""

    written: tuple[int, ...]
    """The positions of the arguments that it writes to."""
    unwritten: bool
    """True if its results are on new memory that it does not write to."""
    computes: bool
    """True if its results have numbers: its own, or those that Python code has written."""


class NumberRecorder(RecorderBase):
    """The recorder's methods for numbers of tensors."""

    numbers = 0
    """The largest number of elements of a recorded tensor. Set it before the recording begins."""
    most_numbers = 0
    """The largest number of times that numbers are recorded. After that, the last numbers are no longer valid. 0: no
    limit.
    """
    _emitted: int
    """The number of times that numbers were recorded."""
    _recorded: dict[int, Held]
    """The last recorded numbers of each tensor, by its serial number."""
    _on: dict[int, dict[int, ref[Tensor]]]
    """The recorded tensors on each storage, by their numbers, since comparing tensors would call an operator."""
    _unwritten: set[int]
    """Storages that have not been written to. Their content is arbitrary."""
    _effects: dict[OperatorEntry, Effects]
    """The effects of the operators that were called."""

    def begin(self) -> None:
        """Begin with no recorded numbers."""
        super().begin()
        self._recorded, self._on, self._unwritten, self._effects, self._emitted = {}, {}, set(), {}, 0

    def numbers_before(self, args: Sequence[Any], /) -> None:
        """Record the numbers of arguments when a call begins."""
        for value in args:
            if hasattr(value, "_ks"):
                self._record_numbers(value)
            elif isinstance(value, (list, tuple)):
                for tensor in tensors_in(value):
                    self._record_numbers(tensor)

    def numbers_after(self, op: OperatorEntry, args: Sequence[Any], result: Any, /) -> None:
        """Record the numbers of results and of written arguments when a kernel is about to return. The arguments are
        known unless it is boxed.
        """
        effects = self._effects.get(op)
        if effects is None:
            effects = self._effects[op] = effects_of(op.schema)
        for position in effects.written:
            for tensor in tensors_in(args[position] if position < len(args) else None):
                self._wrote(tensor)
        tensors = (result,) if hasattr(result, "_ks") else tuple(tensors_in(result))
        if effects.unwritten:
            self._unwritten.update(map(self._storage_of, tensors))
        elif effects.computes and self._unwritten:
            self._unwritten.difference_update(map(self._storage_of, tensors))
        for tensor in tensors:
            self._record_numbers(tensor)

    def memory_allocated(self, storage: int, /) -> None:
        """Note a new storage, by its serial number. Its content is arbitrary until it is written."""
        self._unwritten.add(storage - self.first_storage)

    def _number_tensor(self, tensor: Tensor, how: ev.TensorOrigin) -> int:
        is_fresh = self.numbers and how == "new" and tensor._storage._number < self.first_storage
        number = super()._number_tensor(tensor, how)
        if is_fresh:
            self.memory_allocated(tensor._storage._number)
        return number

    def memory_changed(self, tensor: Tensor, /) -> None:
        """Record that a tensor uses other memory, or reads it in another way: by its geometry or the bits of its key
        set.
        """
        if self.numbers and self._recorded.pop(tensor._number, None) is not None:
            self._emit(ev.NumbersRecorded, self._tensor(tensor), self._storage_of(tensor), "", False)
            self._record_numbers(tensor)

    def memory_written(self, tensor: Tensor, /) -> None:
        """Record that code other than a kernel has written to the tensor's memory."""
        if self.numbers:
            self._wrote(tensor)

    def memory_exposed(self, tensor: Tensor, /) -> None:
        """Record that NumPy or the program has access to the tensor's memory."""
        if self.numbers and (storage := self._storage_of(tensor)) >= 0:
            self._emit(ev.NumbersRecorded, self._tensor(tensor), storage, "", True)

    def _wrote(self, tensor: Tensor, unseen: bool = False) -> None:
        """Record the new numbers of all recorded tensors on the memory of a written tensor."""
        storage = self._storage_of(tensor)
        self._unwritten.discard(storage)
        if storage < 0 or self._is_exposed(tensor):
            return
        known = living(self._on.get(storage, {}))
        mates = [each for each in known if self._storage_of(each) == storage]
        array = self._small(tensor)
        held = None if array is None else held_numbers(storage, array)
        if held is not None and self._recorded.get(self._serial(tensor)) == held:
            return
        if mates or held is not None:
            self._emit_numbers(tensor, storage, array, held, True, unseen)
        for mate in mates:
            if mate is not tensor and (array := self._small(mate)) is not None:
                self._emit_numbers(mate, storage, array, held_numbers(storage, array), False, unseen)

    def _record_numbers(self, tensor: Tensor) -> None:
        """Record the numbers of a tensor, unless they were recorded already."""
        array, memory = tensor._array, tensor._storage
        if array is None or not 0 < array.size <= self.numbers or memory.exposed or tensor._wrapped_number:
            return
        storage = self._storage_of(tensor)
        if storage in self._unwritten or storage < 0:
            return
        array = on_host(resolved(tensor))
        held = held_numbers(storage, array)
        if self._recorded.get(tensor._number) != held:
            self._emit_numbers(tensor, storage, array, held, False)

    def _emit_numbers(
        self,
        tensor: Tensor,
        storage: int,
        array: Any | None,
        held: Held | None,
        written: bool,
        unseen: bool = False,
    ) -> None:
        """Emit the numbers; without numbers, for a tensor with too many, emit that the recorded ones are no longer
        valid.
        """
        if not self.numbers:  # the limit was reached
            return
        text, waited = ("", False) if array is None else (text_of(array), self._waits_for(tensor))
        number = self._serial(tensor)
        self._emit(ev.NumbersRecorded, number - self.first_tensor, storage, text, written, waited, False, unseen)
        if held is None:
            self._recorded.pop(number, None)
        else:
            self._recorded[number] = held
        mates = self._on.get(storage)
        if mates is None:
            mates = self._on[storage] = {}
        mates[number] = ref(tensor)
        self._emitted += 1
        if self._emitted == self.most_numbers:
            self._emit_last_numbers(tensor, storage)

    def _emit_last_numbers(self, tensor: Tensor, storage: int) -> None:
        """Emit the last event of numbers. After it, memory may change without an event."""
        self._emit(ev.NumbersRecorded, self._tensor(tensor), storage, "", True, False, True)
        self.numbers = 0
        self._recorded, self._on, self._unwritten = {}, {}, set()
        recorder.recorder_changes()

    def _small(self, tensor: Tensor) -> Any | None:
        """The elements of a small tensor, on the host; None for any other tensor."""
        array = tensor._array
        return on_host(resolved(tensor)) if array is not None and 0 < array.size <= self.numbers else None

    def _storage_of(self, tensor: Tensor) -> int:
        """The number of the tensor's memory in this recording; -1 without memory."""
        self._tensor(tensor)
        storage = tensor._storage
        return -1 if storage.buffer is None else storage._number - self.first_storage

    def _is_exposed(self, tensor: Tensor) -> bool:
        """Return whether NumPy or the program has access to the tensor's memory."""
        return tensor._storage.exposed

    def _waits_for(self, tensor: Tensor) -> bool:
        """Return whether the recording waits for a GPU to read the tensor."""
        return is_on_gpu(tensor._array)


def living(tensors: dict[int, ref[Tensor]]) -> list[Tensor]:
    """Return the tensors that live, and forget the others. A callback of a weak reference would forget them earlier,
    but an exception that a signal raises in it is lost.
    """
    found = []
    for number, known in list(tensors.items()):
        if (tensor := known()) is None:
            del tensors[number]
        else:
            found.append(tensor)
    return found


def held_numbers(storage: int, array: Any) -> Held:
    return storage, array.shape, array.tobytes()


def text_of(array: Any) -> str:
    """The text of all numbers, each as NumPy writes it, in the brackets of Python's lists: ``[[0.1, 2.0], [3.0,
    nan]]``.
    """
    if not array.ndim:
        return str(array[()])
    return f"[{', '.join(map(str if array.ndim == 1 else text_of, array))}]"


def effects_of(schema: FunctionSchema) -> Effects:
    """The effects of an operator, read from its schema. NB: the result of ``lift_fresh`` has numbers that Python
    wrote.
    """
    written = [at for at, each in enumerate(schema.arguments) if each.is_write or each.name in WRITTEN_TOO]
    aliases = any(each.alias for each in schema.returns)
    unwritten = writes_nothing(schema) and not aliases
    return Effects(tuple(written), unwritten, not unwritten and (not aliases or schema.name == "aten::lift_fresh"))
