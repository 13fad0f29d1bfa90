"""The numbers of small tensors, in recordings that are asked for them: as text, whenever they may have become others.

A tensor's numbers are said when it is met as an argument or a result, and again when something is written to its
memory, by whichever tensor that happens: the recorder knows which of the tensors that it has spoken of are alive, and
keeps none of them alive. Numbers are compared as bytes, and become text where they are others. Memory that NumPy or the
program has in its hands too can change unseen: of tensors on that nothing more is said, and that this is so is said
once.

Numbers on a GPU are copied to the host, for which the recording waits until the GPU has made them; the event says so.

Where a recording has a limit, the last event says that it is the last: from there on nothing is known of any memory.
Calls are recorded without a look at numbers afterwards, as fast as in a recording that was not asked for them.

Not here: at which step which numbers hold (``explain/trace_index/tensor_numbers.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

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
"""Parameters that batch norm writes to though its schema does not say so."""

Held = tuple[int, tuple[int, ...], bytes]
"""The numbers of a tensor: its storage, its shape, the bytes of its elements."""


class Effects(NamedTuple):
    """The effects of an operator on the memory of its arguments and results."""

    written: tuple[int, ...]
    """The positions of the arguments that it writes to."""
    unwritten: bool
    """Its results are on new memory that it does not write to."""
    computes: bool
    """Its results have numbers: its own, or those that Python code has written."""


class NumberRecorder(RecorderBase):
    """Numbers of tensors."""

    numbers = 0
    """The largest number of elements of a tensor that is looked at; set it before the recording begins."""
    most_numbers = 0
    """The largest number of times that numbers are recorded; the last ones do not hold afterwards. 0: no limit."""
    _told: int
    """How many times numbers were told."""
    _said: dict[int, Held]
    """Serial number of a tensor to what was said of it."""
    _on: dict[int, WeakValueDictionary[int, Tensor]]
    """Storage to the tensors on it that were spoken of, by their numbers: to compare tensors would call an operator."""
    _unwritten: set[int]
    """Storages that nobody has written to yet: what is in them is chance."""
    _effects: dict[OperatorEntry, Effects]
    """Those of the operators that were called."""

    def begin(self) -> None:
        """Nothing is said yet."""
        super().begin()
        self._said, self._on, self._unwritten, self._effects, self._told = {}, {}, set(), {}, 0

    def numbers_before(self, args: Sequence[Any], /) -> None:
        """A call begins with these arguments."""
        for value in args:
            if hasattr(value, "_ks"):
                self._say(value)
            elif isinstance(value, (list, tuple)):
                for tensor in tensors_in(value):
                    self._say(tensor)

    def numbers_after(self, op: OperatorEntry, args: Sequence[Any], result: Any, /) -> None:
        """A kernel is about to return something; its arguments are known unless it is boxed."""
        effects = self._effects.get(op)
        if effects is None:
            effects = self._effects[op] = _effects(op.schema)
        for position in effects.written:
            for tensor in tensors_in(args[position] if position < len(args) else None):
                self._wrote(tensor)
        tensors = (result,) if hasattr(result, "_ks") else tuple(tensors_in(result))
        if effects.unwritten:
            self._unwritten.update(map(self._storage_of, tensors))
        elif effects.computes and self._unwritten:
            self._unwritten.difference_update(map(self._storage_of, tensors))
        for tensor in tensors:
            self._say(tensor)

    def memory_allocated(self, storage: int, /) -> None:
        """A new storage, by its serial number: what is in it is chance until something is written there."""
        self._unwritten.add(storage - self.first_storage)

    def _number_tensor(self, tensor: Tensor, how: ev.TensorOrigin) -> int:
        is_fresh = self.numbers and how == "new" and tensor._storage._number < self.first_storage
        number = super()._number_tensor(tensor, how)
        if is_fresh:
            self.memory_allocated(tensor._storage._number)
        return number

    def memory_changed(self, tensor: Tensor, /) -> None:
        """It is another piece of memory now, or reads it in another way: by geometry, by the bits of its key set."""
        if self.numbers and self._said.pop(tensor._number, None) is not None:
            self._emit(ev.NumbersRecorded, self._tensor(tensor), self._storage_of(tensor), "", False)
            self._say(tensor)

    def memory_written(self, tensor: Tensor, /) -> None:
        """Something that is no kernel has written to it."""
        if self.numbers:
            self._wrote(tensor)

    def memory_exposed(self, tensor: Tensor, /) -> None:
        """Others have its memory in their hands from now on."""
        if self.numbers and (storage := self._storage_of(tensor)) >= 0:
            self._emit(ev.NumbersRecorded, self._tensor(tensor), storage, "", True)

    def _wrote(self, tensor: Tensor) -> None:
        """A tensor was written to: what is on its memory has new numbers."""
        storage = self._storage_of(tensor)
        self._unwritten.discard(storage)
        if storage < 0 or tensor._storage.exposed:
            return
        known = list(self._on[storage].values()) if storage in self._on else []
        mates = [each for each in known if self._storage_of(each) == storage]
        array = self._small(tensor)
        held = None if array is None else _held(storage, array)
        if held is not None and self._said.get(tensor._number) == held:
            return
        if mates or held is not None:
            self._tell(tensor, storage, array, held, True)
        for mate in mates:
            if mate is not tensor and (array := self._small(mate)) is not None:
                self._tell(mate, storage, array, _held(storage, array), False)

    def _say(self, tensor: Tensor) -> None:
        """The numbers of a tensor, unless they were said."""
        array, memory = tensor._array, tensor._storage
        if array is None or not 0 < array.size <= self.numbers or memory.exposed or tensor._wrapped_number:
            return
        storage = self._storage_of(tensor)
        if storage in self._unwritten or storage < 0:
            return
        array = on_host(resolved(tensor))
        held = _held(storage, array)
        if self._said.get(tensor._number) != held:
            self._tell(tensor, storage, array, held, False)

    def _tell(self, tensor: Tensor, storage: int, array: Any | None, held: Held | None, written: bool) -> None:
        """Numbers, or that those that were said are over: of a tensor with too many."""
        if not self.numbers:  # the limit was reached
            return
        text, waited = ("", False) if array is None else (text_of(array), is_on_gpu(tensor._array))
        self._emit(ev.NumbersRecorded, self._tensor(tensor), storage, text, written, waited)
        if held is None:
            self._said.pop(tensor._number, None)
        else:
            self._said[tensor._number] = held
        mates = self._on.get(storage)
        if mates is None:
            mates = self._on[storage] = WeakValueDictionary()
        mates[tensor._number] = tensor
        self._told += 1
        if self._told == self.most_numbers:
            self._tell_no_more(tensor, storage)

    def _tell_no_more(self, tensor: Tensor, storage: int) -> None:
        """From now on any memory may change without being told."""
        self._emit(ev.NumbersRecorded, self._tensor(tensor), storage, "", True, False, True)
        self.numbers = 0
        self._said, self._on, self._unwritten = {}, {}, set()
        recorder.recorder_changes()

    def _small(self, tensor: Tensor) -> Any | None:
        """The elements of a tensor that has few, on the host; None of any other."""
        array = tensor._array
        return on_host(resolved(tensor)) if array is not None and 0 < array.size <= self.numbers else None

    def _storage_of(self, tensor: Tensor) -> int:
        """The number of its memory in this recording; -1 without."""
        self._tensor(tensor)
        storage = tensor._storage
        return -1 if storage.buffer is None else storage._number - self.first_storage


def _held(storage: int, array: Any) -> Held:
    return storage, array.shape, array.tobytes()


def text_of(array: Any) -> str:
    """All numbers, as NumPy writes each, in the brackets of Python's lists: ``[[0.1, 2.0], [3.0, nan]]``."""
    if not array.ndim:
        return str(array[()])
    return f"[{', '.join(map(str if array.ndim == 1 else text_of, array))}]"


def _effects(schema: FunctionSchema) -> Effects:
    """Read the effects of an operator off its schema. NB: what ``lift_fresh`` returns has numbers that Python wrote."""
    written = [at for at, each in enumerate(schema.arguments) if each.is_write or each.name in WRITTEN_TOO]
    aliases = any(each.alias for each in schema.returns)
    unwritten = writes_nothing(schema) and not aliases
    return Effects(tuple(written), unwritten, not unwritten and (not aliases or schema.name == "aten::lift_fresh"))
