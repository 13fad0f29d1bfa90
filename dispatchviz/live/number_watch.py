"""The numbers of small tensors of an installed PyTorch, and the hashes of results.

The rules are those of the model (``core/record/recorders/number_recorder.py``): arguments are read when a call begins,
results and written arguments when the kernel that computes returns. More code can write unseen here: NumPy, compiled
code, calls of C++ that no cell sees. The next read then finds other numbers, and records that no call wrote them. At
the end of the recording all tensors that still live are read once more.

Not here: how memory is read (``memory_reader.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dispatchviz.core.kernel.recorded_kernels import PASSING_ON
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.recorders.number_recorder import Effects, Held, effects_of, living
from dispatchviz.core.record.recorders.result_hash import has_own_numbers, hash_of
from dispatchviz.live.memory_reader import Elements, MemoryReader
from dispatchviz.live.tensor_facts import tensors_in
from dispatchviz.live.thread_states import ThreadRecorder

if TYPE_CHECKING:
    from dispatchviz.live.tensor_numbers import Numbered, StorageNumbers, WeakNumbers
    from dispatchviz.live.watched_operators import WatchedCell
    from dispatchviz.live.wrapped_numbers import WrappedNumbers

UNLIMITED = float("inf")


class CellEffects:
    """The effects of a kernel."""

    def __init__(self, cell: WatchedCell) -> None:
        own = cell.operator.cell(cell.key)
        schema = own.operator.schema
        self.passes_on = own.source in PASSING_ON
        """True if the kernel computes nothing itself: it passes the call on, or calls other operators."""
        self.effects: Effects = effects_of(schema)
        self.written = tuple([(at + 1, schema.arguments[at].name) for at in self.effects.written])
        """The position, after the key set, and the name of each argument that the operator writes to."""
        self.own_numbers = has_own_numbers(schema)
        self.resizes = "resize" in schema.name
        """True if the operator gives a tensor more memory, whose content is arbitrary."""


class NumberWatch(ThreadRecorder):
    """The recorder's methods for numbers."""

    torch: Any
    live_tensors: WeakNumbers
    live_storages: StorageNumbers
    wrapped: WrappedNumbers
    _tensor_class: type
    reader: MemoryReader | None = None
    """The reader of elements; None if neither numbers nor hashes are recorded."""

    def begin(self) -> None:
        """Begin with no recorded numbers."""
        super().begin()
        if self.torch is not None:
            self.read_numbers()

    def read_numbers(self) -> None:
        """Prepare to read numbers, if they are recorded."""
        self.reader = MemoryReader(self.torch) if self.numbers or self.hashes else None
        if self.reader is not None and not self.reader.is_able:
            self.numbers, self.hashes = 0, False

    def numbers_given(self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any], /) -> None:
        """Record the numbers of arguments when a call begins. The first argument is the key set."""
        for tensor in cell.operator.given(args, kwargs):
            if tensor is not None:
                self._record_numbers(tensor)

    def result_read(self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, /) -> None:
        """Record what a kernel has computed when it is about to return."""
        if self.numbers:
            self.numbers_returned(cell, args, kwargs, result)
        if self.hashes:
            self.results_hashed(cell, result)

    def numbers_returned(
        self, cell: WatchedCell, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, /
    ) -> None:
        """Record the numbers of results and of written arguments when a kernel is about to return."""
        known = cell.effects
        if known is None:
            known = cell.effects = CellEffects(cell)
        if known.passes_on:
            return
        for place, name in known.written:
            for tensor in tensors_in(args[place] if place < len(args) else kwargs.get(name), self._tensor_class):
                if not (known.resizes and self._has_new_memory(tensor)):
                    self._wrote(tensor)
        tensors = tensors_in(result, self._tensor_class)
        for tensor in tensors:
            if self.live_tensors.get(tensor) < 0:
                self._returned(tensor)
            self._sized(tensor)
        if known.effects.unwritten:
            self._unwritten.update(storage for storage in map(self._storage_of, tensors) if storage >= 0)
        elif known.effects.computes and self._unwritten:
            self._unwritten.difference_update(map(self._storage_of, tensors))
        for tensor in tensors:
            self._record_numbers(tensor)

    def results_hashed(self, cell: WatchedCell, result: Any, /) -> None:
        """Record the hashes of the numbers that a kernel is about to return."""
        if cell.effects is None:
            cell.effects = CellEffects(cell)
        own = cell.effects.own_numbers
        values = result if isinstance(result, (list, tuple)) else (result,)
        if len(own) != len(values):
            own = (all(own),) * len(values)
        for value, is_own in zip(values, own, strict=True):
            for tensor in tensors_in(value, self._tensor_class) if is_own else ():
                if self.live_tensors.get(tensor) < 0:
                    self._returned(tensor)
                self._hash(tensor)

    def raised(self, error: BaseException, traceback: str = "") -> tuple[str, int]:
        """Record that an exception leaves the program, after numbers that changed since their last use."""
        self.numbers_read_again()
        return super().raised(error, traceback)

    def end(self) -> None:
        """Record numbers that changed since their last use."""
        self.numbers_read_again()
        super().end()

    def numbers_read_again(self, /) -> None:
        """Read all recorded tensors that live, because code that is not seen may have written to them."""
        for mates in list(self._on.values()):
            for tensor in living(mates):
                self._record_numbers(tensor)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _returned(self, tensor: Any) -> int:
        raise NotImplementedError

    def _sized(self, tensor: Any) -> None:
        raise NotImplementedError

    def _has_new_memory(self, tensor: Any) -> bool:
        """Note the memory that a resized tensor has got. Return whether it is new."""
        newest = self.live_storages.newest
        storage = self._storage_of(tensor)
        if self.live_storages.newest == newest:
            return False
        self.memory_allocated(storage + self.first_storage)
        self._recorded.pop(self._serial(tensor), None)
        return True

    def _read(self, tensor: Any) -> Elements | None:
        return None if self.reader is None or not self.numbers else self.reader.of(tensor, self.numbers)

    def _is_empty(self, tensor: Any) -> bool:
        """Return whether a tensor has no elements. A kernel may give it some: ``where`` resizes its result."""
        return self.reader is not None and self.reader.is_empty(tensor)

    def _small(self, tensor: Any) -> Any | None:
        found = self._read(tensor)
        return None if found is None else found.array

    def _record_numbers(self, tensor: Any) -> None:
        known = self.live_tensors.known.get(id(tensor))
        if known is None or known() is not tensor:
            known = self._meet(tensor)
        if known is None or known.is_unread:
            return
        number, found = known.number, self._read(tensor)
        if found is None:
            known.is_unread = number not in self._recorded and not self._is_empty(tensor)
            return
        storage = self._storage_at(found.address, tensor)
        if storage in self._unwritten:
            return
        held: Held = storage, found.shape, found.content
        before, bits, known.bits = self._recorded.get(number), known.bits, found.bits
        if before is None or (bits != found.bits and before != held):
            self._emit_numbers(tensor, storage, found.array, held, False)
        elif before != held:
            self._wrote(tensor, unseen=self.thread.inside is None or self.thread.inside[2] is None)

    def _wrote(self, tensor: Any, unseen: bool = False) -> None:
        """Record the new numbers of all recorded tensors on the memory of a written tensor.

        A kernel may fill new memory part by part with calls of its own. The rest is arbitrary until it returns.
        """
        new = self._unwritten and self._storage_of(tensor) in self._unwritten
        if not (new and self._is_within_another() and self.reader is not None and not self.reader.fills(tensor)):
            super()._wrote(tensor, unseen)

    def _is_within_another(self) -> bool:
        """Return whether the running kernel was called by the kernel of another operator."""
        inside = self.thread.inside
        around = inside
        while around is not None and inside is not None and around[0].operator is inside[0].operator:
            around = around[2]
        return around is not None

    def _meet(self, tensor: Any) -> Numbered | None:
        """Return the number of a tensor that is met for the first time, and None for a wrapped number, whose tensor is
        ours.
        """
        if id(tensor) in self.wrapped.texts:
            return None
        self._serial(tensor)
        return self.live_tensors.known[id(tensor)]

    def _storage_of(self, tensor: Any) -> int:
        address = 0 if self.reader is None else self.reader.address(tensor)
        return self._storage_at(address, tensor) if address else -1

    def _storage_at(self, address: int, tensor: Any) -> int:
        self._serial(tensor)
        return self.live_storages.at(address, self.live_tensors.known[id(tensor)]) - self.first_storage

    def _is_exposed(self, tensor: Any) -> bool:
        return False

    def _waits_for(self, tensor: Any) -> bool:
        return False

    def _hash(self, tensor: Any) -> None:
        found = None if self.reader is None else self.reader.of(tensor, UNLIMITED)
        if found is None:
            return
        now = self._tensor(tensor), hash_of(found.dtype, found.shape, found.array)
        if self._last_hash != now:
            self._last_hash = now
            self._emit(ev.ResultHashed, *now)
