"""Events of the dispatcher. One call of an operator is one note and five events, since the entry that the dispatcher
picked and the sets that it used determine everything that it computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.builder_base import reads_note
from dispatchviz.core.record.builders.cell_text import CellText, CellTexts, key_name, texts_of_process
from dispatchviz.core.record.builders.python_builder import PythonBuilder
from dispatchviz.core.record.builders.shared_text import device_text, dtype_text, impl_text, meta_text
from dispatchviz.core.record.events import (
    Dispatched,
    FallthroughSkipped,
    GuardEntered,
    GuardLeft,
    ImplEntered,
    KernelEntered,
    KernelReturned,
    KernelSelected,
    KeySetComputed,
    MetaEntered,
    OutputAllocated,
    TensorCreated,
    VersionBumped,
)
from dispatchviz.core.record.function_source import source_of

if TYPE_CHECKING:
    from dispatchviz.core.device.device import Device
    from dispatchviz.core.record.note_types import ArgumentSets, Size
    from dispatchviz.core.table.operator_entry import Cell
    from dispatchviz.core.tensor.dtype import DType


class CallBuilder(PythonBuilder):
    """The builder of events of calls, guards and structured kernels."""

    def __init__(self) -> None:
        super().__init__()
        self._cells = self.texts_of_cells()
        self._sources = _Sources()
        self._sets: dict[int, int] = {}
        """Exclude sets within guards. Without this, each call of a guard would make another, equal integer."""

    @staticmethod
    def texts_of_cells() -> CellTexts:
        """Return the texts of entries to begin with. Entries of the model are the same in each recording."""
        return texts_of_process()

    def registrations_change(self) -> None:
        """Drop the cached texts of entries, which are no longer valid."""
        self._cells.forget()

    # -- calls --------------------------------------------------------------------------------------------------------

    @reads_note
    def called(
        self,
        how: ev.CallKind,
        cell: Cell,
        ks: int,
        included: int,
        excluded: int,
        arguments: ArgumentSets,
        generator: int,
    ) -> None:
        """Append a full dispatch, from the arguments' sets to the kernel's first line."""
        tensors, united = self.tensors, generator
        for _, _, keys in arguments:
            united |= keys
        sets = tuple([(name, tensors[tensor], keys) for name, tensor, keys in arguments])
        self._called(how, self._cells[cell], ks, included, excluded, sets, united, generator)

    @reads_note
    def called_with_one(self, cell: Cell, ks: int, included: int, excluded: int, tensor: int, keys: int) -> None:
        """Append a full dispatch of one tensor."""
        text = self._cells[cell]
        sets = ((text.parameters[0], self.tensors[tensor], keys),)
        self._called("call", text, ks, included, excluded, sets, keys, 0)

    @reads_note
    def called_with_two(
        self, cell: Cell, ks: int, included: int, excluded: int, tensor: int, keys: int, other: int, other_keys: int
    ) -> None:
        """Append a full dispatch of two tensors."""
        text, tensors = self._cells[cell], self.tensors
        name, other_name = text.parameters
        sets = (name, tensors[tensor], keys), (other_name, tensors[other], other_keys)
        self._called("call", text, ks, included, excluded, sets, keys | other_keys, 0)

    def _called(
        self,
        how: ev.CallKind,
        text: CellText,
        ks: int,
        included: int,
        excluded: int,
        sets: ArgumentSets,
        united: int,
        generator: int,
    ) -> None:
        """Append five events, or four if no key fell through."""
        if self.moved:  # ``_next``, without a call
            self.line_event()
        events = self.events
        append, seq = events.append, len(events)
        call = text.calls[ks, (united | included) & (_BACKENDS | ~excluded)]
        append(Dispatched(seq, self.open, how, text.operator, ks, call.key))
        if sets == text.last_sets:
            sets = text.last_sets
        else:
            text.last_sets = sets
        append(KeySetComputed(seq + 1, seq, sets, included, excluded, call.mask, ks, generator))
        if call.skipped is None:
            self._picked(text, ks, seq, seq + 2)
        else:
            append(FallthroughSkipped(seq + 2, seq, call.skipped))
            self._picked(text, ks, seq, seq + 3)

    def _picked(self, t: CellText, ks: int, call: int, seq: int) -> None:
        """Append the entry that was picked, as event ``seq``, and the first line of its kernel."""
        append, entered = self.events.append, seq + 1
        append(
            KernelSelected(
                seq, call, t.operator, t.key, t.index, t.kernel, t.reason, t.source, t.registered, t.candidates
            )
        )
        append(KernelEntered(entered, call, t.entered, t.pytorch_file, ks, t.file, t.line, t.end_line))
        self.open = entered

    @reads_note
    def redispatched(self, how: ev.CallKind, cell: Cell, ks: int) -> None:
        """Append a redispatch, which uses the key set that was passed."""
        text, seq = self._cells[cell], self._next()
        self.events.append(Dispatched(seq, self.open, how, text.operator, ks, key_name(ks)))
        self._picked(text, ks, seq, seq + 1)

    @reads_note
    def redispatched_typed(self, cell: Cell, ks: int) -> None:
        """Append a redispatch of a typed kernel, the usual kind."""
        self.redispatched("redispatch", cell, ks)

    @reads_note
    def redispatched_within(
        self, cell: Cell, ks: int, guard: str, included: int, old_excluded: int, excluded: int
    ) -> None:
        """Append a guard, and within it the usual redispatch."""
        if self.moved:
            self.line_event()
        events, text, excluded = self.events, self._cells[cell], self._sets.setdefault(excluded, excluded)
        append, seq = events.append, len(events)
        append(GuardEntered(seq, self.open, guard, included, included, old_excluded, excluded))
        append(Dispatched(seq + 1, seq, "redispatch", text.operator, ks, key_name(ks)))
        self._picked(text, ks, seq + 1, seq + 2)

    @reads_note
    def returned(self, tensors: tuple[int, ...]) -> None:
        """Append the kernel's return, which ends the call."""
        numbers = self.tensors
        self._event(ev.KernelReturned, tuple([numbers[tensor] for tensor in tensors]))
        self._call_over()

    @reads_note
    def returned_one(self, tensor: int) -> None:
        """Append the return of one tensor."""
        if self.moved:
            self.line_event()
        events = self.events
        events.append(KernelReturned(len(events), self.open, self._alone[tensor]))
        self._call_over()

    @reads_note
    def returned_from_within(self, tensor: int, guard: str, included: int, excluded: int) -> None:
        """Append the return of one tensor and the end of the guard."""
        self.returned_one(tensor)
        events, around = self.events, self.open
        events.append(GuardLeft(len(events), around, guard, included, excluded))
        if around is not None:
            self.open = events[around].parent

    @reads_note
    def failed(self) -> None:
        """End a kernel that raised, its meta or impl function, and the call."""
        while self.open is not None and isinstance(self.events[self.open], ev.MetaEntered | ev.ImplEntered):
            self.leave()
        self._call_over()

    def _call_over(self) -> None:
        """End the kernel, the call, and the binding if the call was all that it had to do."""
        seq, events = self.open, self.events
        if seq is not None:
            seq = events[seq].parent
        if seq is not None:
            seq = events[seq].parent
        self.open = seq
        if seq in self._over_with_call:
            self.leave_unless_over()

    @reads_note
    def no_node_made(self, why: ev.NoNodeReason) -> None:
        """Append that the running autograd kernel records no Node."""
        seq = self.open
        while seq is not None and type(self.events[seq]) is not Dispatched:
            seq = self.events[seq].parent
        call = None if seq is None else self.events[seq]
        self._event(ev.NoNodeMade, call.operator if isinstance(call, Dispatched) else "", why)

    # -- guards -------------------------------------------------------------------------------------------------------

    @reads_note
    def guard_entered(self, guard: str, old_included: int, included: int, old_excluded: int, excluded: int) -> None:
        """Append a guard."""
        seq, excluded = self._next(), self._sets.setdefault(excluded, excluded)
        self.events.append(GuardEntered(seq, self.open, guard, old_included, included, old_excluded, excluded))
        self.open = seq

    @reads_note
    def guard_excludes(self, guard: str, included: int, old_excluded: int, excluded: int) -> None:
        """Append a guard that only excludes keys."""
        self.guard_entered(guard, included, included, old_excluded, excluded)

    @reads_note
    def guard_left(self, guard: str, included: int, excluded: int) -> None:
        """Append the end of the innermost guard."""
        self.events.append(GuardLeft(self._next(), self.open, guard, included, excluded))
        self.leave()

    # -- structured kernels -------------------------------------------------------------------------------------------

    @reads_note
    def meta_entered(self, family: str) -> None:
        """Append the beginning of a structured meta function."""
        seq = self._next()
        self.events.append(MetaEntered(seq, self.open, meta_text(family)))
        self.open = seq

    @reads_note
    def impl_entered(self, kernel: str, impl: Callable[..., Any], tensors: tuple[int, ...]) -> None:
        """End the meta function and append the beginning of the impl function."""
        self.leave()
        file, line, end_line = self._sources[impl]
        numbers = self._alone[tensors[0]] if len(tensors) == 1 else tuple([self.tensors[tensor] for tensor in tensors])
        seq = self._next()
        self.events.append(ImplEntered(seq, self.open, impl_text(kernel), numbers, file, line, end_line))
        self.open = seq

    @reads_note
    def output_allocated(
        self,
        variant: ev.StructuredVariant,
        tensor: int,
        resized: bool,
        shape: Size,
        dtype: DType,
        method: ev.SetOutputMethod,
        proxy: int | None,
    ) -> None:
        """Append an output."""
        place = None if proxy is None else self.tensors[proxy]
        number, seq = self.tensors[tensor], self._next()
        event = OutputAllocated(seq, self.open, variant, number, resized, method, place, shape, dtype_text(dtype))
        self.events.append(event)

    @reads_note
    def proxy_copied(self, proxy: int, output: int) -> None:
        """Append that a proxy's values are copied to the output."""
        self._event(ev.ProxyCopied, self.tensors[proxy], self.tensors[output])

    @reads_note
    def output_created(
        self, number: int, shape: Size, stride: Size, dtype: DType, device: Device, ks: int, storage: int
    ) -> None:
        """Append a new tensor that is a structured kernel's output."""
        self.tensor_created(number, "new", shape, stride, dtype, device, ks, storage, False, False, "")
        self.output_passed(number, shape, dtype, "functional")

    @reads_note
    def output_passed(self, number: int, shape: Size, dtype: DType, variant: ev.StructuredVariant) -> None:
        """Append the given tensor to which a structured kernel's output will be written."""
        self.output_allocated(variant, number, False, shape, dtype, "set_output_raw_strided", None)

    @reads_note
    def alike_computed(
        self,
        family: str,
        kernel: str,
        impl: Callable[..., Any],
        number: int,
        shape: Size,
        stride: Size,
        dtype: DType,
        device: Device,
        ks: int,
        storage: int,
    ) -> None:
        """Append a structured kernel of operands that are alike: meta function, new output, impl function."""
        seq, append, call = self._next(), self.events.append, self.open
        tensor, place, name = self.tensors[number], device_text(device), dtype_text(dtype)
        append(MetaEntered(seq, call, meta_text(family)))
        append(
            TensorCreated(
                seq + 1, seq, tensor, "new", shape, stride, name, place, ks, self.storages[storage], False, False, ""
            )
        )
        method: ev.SetOutputMethod = "set_output_raw_strided"
        append(OutputAllocated(seq + 2, seq, "functional", tensor, False, method, None, shape, name))
        file, line, end_line = self._sources[impl]
        append(ImplEntered(seq + 3, call, impl_text(kernel), self._alone[number], file, line, end_line))

    @reads_note
    def alike_in_place(
        self, family: str, kernel: str, impl: Callable[..., Any], number: int, shape: Size, dtype: DType
    ) -> None:
        """Append a structured kernel of operands that are alike, which writes to the first."""
        seq, append, call = self._next(), self.events.append, self.open
        append(MetaEntered(seq, call, meta_text(family)))
        output = self.tensors[number]
        method: ev.SetOutputMethod = "set_output_raw_strided"
        append(OutputAllocated(seq + 1, seq, "in-place", output, False, method, None, shape, dtype_text(dtype)))
        file, line, end_line = self._sources[impl]
        append(ImplEntered(seq + 2, call, impl_text(kernel), self._alone[number], file, line, end_line))

    # -- tensors ------------------------------------------------------------------------------------------------------

    @reads_note
    def tensor_created(
        self,
        number: int,
        how: ev.TensorOrigin,
        shape: Size,
        stride: Size,
        dtype: DType,
        device: Device,
        ks: int,
        storage: int,
        requires_grad: bool,
        wrapped_number: bool,
        value: str,
    ) -> None:
        """Append a tensor that appears for the first time."""
        number, storage = self.tensors[number], -1 if storage < 0 else self.storages[storage]
        place, name, seq = device_text(device), dtype_text(dtype), self._next()
        event = TensorCreated(
            seq, self.open, number, how, shape, stride, name, place, ks, storage, requires_grad, wrapped_number, value
        )
        self.events.append(event)

    @reads_note
    def version_bumped(self, tensor: int, before: int, after: int, counter: int) -> None:
        """Append a new version."""
        number, count, seq = self.tensors[tensor], self.counters[counter], self._next()
        self.events.append(VersionBumped(seq, self.open, number, before, after, count))


class _Sources(dict[Callable[..., Any], tuple[str, int, int]]):
    """The file and lines of impl functions."""

    def __missing__(self, impl: Callable[..., Any]) -> tuple[str, int, int]:
        source = self[impl] = source_of(impl)
        return source


_BACKENDS = 0xFFFF
