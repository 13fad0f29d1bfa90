"""The numbers of small tensors, in recordings that are asked for them: as text, whenever they may have become others.

A tensor's numbers are said when it is met as an argument or a result, and again when something is written to its
memory, by whichever tensor that happens: the recorder knows which of the tensors that it has spoken of are alive, and
keeps none of them alive. Memory that NumPy or the program has in its hands too can change unseen: of tensors on that
nothing more is said, and that this is so is said once.

Numbers on a GPU are copied to the host, for which the recording waits until the GPU has made them; the event says so.

Not here: at which step which numbers hold (``explain/trace_index/tensor_numbers.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from dispatchviz.core.device.array_library import is_on_gpu, on_host
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.recorder_base import RecorderBase, tensors_in
from dispatchviz.core.record.recorders.result_hash import writes_nothing
from dispatchviz.core.tensor.conj_neg_bits import resolved

if TYPE_CHECKING:
    from dispatchviz.core.schema.function_schema import FunctionSchema
    from dispatchviz.core.table.operator_entry import OperatorEntry
    from dispatchviz.core.tensor.tensor import Tensor

WRITTEN_TOO = ("running_mean", "running_var")
"""Parameters that batch norm writes to though its schema does not say so."""


class NumberRecorder(RecorderBase):
    """Numbers of tensors."""

    numbers = 0
    """Tensors of so many elements at most are looked at; to be set before the recording begins."""
    most_numbers = 0
    """How many times numbers are told; the last ones do not hold afterwards. 0: no limit."""
    _told: int
    """How many times numbers were told."""
    _said: dict[int, tuple[int, str]]
    """Serial number of a tensor to its storage's and its text."""
    _on: dict[int, WeakValueDictionary[int, Tensor]]
    """Storage to the tensors on it that were spoken of, by their numbers: to compare tensors would call an operator."""
    _unwritten: set[int]
    """Storages that nobody has written to yet: what is in them is chance."""

    def begin(self) -> None:
        """Nothing is said yet."""
        super().begin()
        self._said, self._on, self._unwritten, self._told = {}, {}, set(), 0

    def numbers_before(self, args: Sequence[Any], /) -> None:
        """A call begins with these arguments."""
        for tensor in tensors_in(args):
            self._say(tensor)

    def numbers_after(self, op: OperatorEntry, args: Sequence[Any], result: Any, /) -> None:
        """A kernel is about to return something; its arguments are known unless it is boxed."""
        for tensor in tensors_in(list(_written(op.schema, args))):
            self._wrote(tensor)
        if writes_nothing(op.schema) and not any(each.alias for each in op.schema.returns):
            self._unwritten.update(map(self._storage_of, tensors_in(result)))
        elif op.schema.name == "aten::lift_fresh" or not any(each.alias for each in op.schema.returns):
            # of numbers that Python code has written, or that the kernel has computed
            self._unwritten.difference_update(map(self._storage_of, tensors_in(result)))
        for tensor in tensors_in(result):
            self._say(tensor)

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
        text = self._text(tensor)
        if text and self._said.get(tensor._number) == (storage, text):
            return
        if mates or text:
            self._emit_numbers(tensor, storage, text, True)
        for mate in mates:
            if mate is not tensor and (text := self._text(mate)):
                self._emit_numbers(mate, storage, text, False)

    def _say(self, tensor: Tensor) -> None:
        """The numbers of a tensor, unless they were said."""
        storage = self._storage_of(tensor)
        if storage < 0 or tensor._storage.exposed or storage in self._unwritten or tensor._wrapped_number:
            return
        text = self._text(tensor)
        if text and self._said.get(tensor._number) != (storage, text):
            self._emit_numbers(tensor, storage, text, False)

    def _emit_numbers(self, tensor: Tensor, storage: int, text: str, written: bool) -> None:
        number = self._tensor(tensor)
        self._emit(ev.NumbersRecorded, number, storage, text, written, bool(text) and is_on_gpu(tensor._array))
        self._said[tensor._number] = storage, text
        self._on.setdefault(storage, WeakValueDictionary())[tensor._number] = tensor
        self._told += 1
        if self._told == self.most_numbers:
            self._tell_no_more()

    def _tell_no_more(self) -> None:
        """From now on any memory may change without being told: as memory that others have in their hands."""
        for storage, tensors in self._on.items():
            for tensor in list(tensors.values())[:1]:
                self._emit(ev.NumbersRecorded, self._tensor(tensor), storage, "", True)
        self.numbers = 0

    def _text(self, tensor: Tensor) -> str:
        small = tensor._array is not None and 0 < tensor._array.size <= self.numbers
        return text_of(on_host(resolved(tensor))) if small else ""

    def _storage_of(self, tensor: Tensor) -> int:
        """The number of its memory in this recording; -1 without."""
        self._tensor(tensor)
        storage = tensor._storage
        return -1 if storage.buffer is None else storage._number - self.first_storage


def text_of(array: Any) -> str:
    """All numbers, as NumPy writes each, in the brackets of Python's lists: ``[[0.1, 2.0], [3.0, nan]]``."""
    return f"[{', '.join(map(text_of, array))}]" if array.ndim else str(array[()])


def _written(schema: FunctionSchema, args: Sequence[Any]) -> Iterator[Any]:
    for parameter, value in zip(schema.arguments, args, strict=False):
        if value is not None and (parameter.is_write or parameter.name in WRITTEN_TOO):
            yield value
