"""Events of the dispatcher. One call of an operator is one note and five events: what the dispatcher computed is a
function of the cell that it picked and the sets that went in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.cell_text import CellTexts, key_name
from dispatchviz.core.record.builders.python_builder import PythonBuilder
from dispatchviz.core.record.function_source import source_of

if TYPE_CHECKING:
    from dispatchviz.core.device.device import Device
    from dispatchviz.core.record.note_types import ArgumentSets, Size
    from dispatchviz.core.table.operator_entry import Cell
    from dispatchviz.core.tensor.dtype import DType


class CallBuilder(PythonBuilder):
    """Calls, guards, structured kernels."""

    def __init__(self) -> None:
        super().__init__()
        self._cells = CellTexts()

    def registrations_change(self) -> None:
        """The cached texts of cells are no longer valid."""
        self._cells.forget()

    # -- calls --------------------------------------------------------------------------------------------------------

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
        """A full dispatch, from the arguments' sets to the kernel's first line."""
        op = cell.operator
        self._span(ev.Dispatched, how, op.name, ks, key_name(ks))
        first = self.first_tensor
        sets = self._as_last_time(id(cell), tuple([(name, tensor - first, keys) for name, tensor, keys in arguments]))
        mask, seq = op.mask_for(ks), len(self.events)
        computed = ev.KeySetComputed(seq, self.open, sets, included, excluded, mask, ks, generator)
        self.events.append(computed)
        base = computed.without_excluded
        if base & ~ks:
            self._event(ev.FallthroughSkipped, self._cells.skipped(op, base, base & ~ks))
        self._picked(cell, ks)

    def _picked(self, cell: Cell, ks: int) -> None:
        """The cell, and the first line of its kernel."""
        text = self._cells.of(cell)
        self._event(ev.KernelSelected, *text.selected)
        self._span(ev.KernelEntered, text.kernel, text.file, ks, *text.source)

    def called_with_one(self, cell: Cell, ks: int, included: int, excluded: int, tensor: int, keys: int) -> None:
        """The same where there is one tensor."""
        ((name, _),) = cell.operator.tensor_parameters
        self.called("call", cell, ks, included, excluded, ((name, tensor, keys),), 0)

    def called_with_two(
        self, cell: Cell, ks: int, included: int, excluded: int, tensor: int, keys: int, other: int, other_keys: int
    ) -> None:
        """The same where there are two."""
        (name, _), (other_name, _) = cell.operator.tensor_parameters
        self.called("call", cell, ks, included, excluded, ((name, tensor, keys), (other_name, other, other_keys)), 0)

    def redispatched(self, how: ev.CallKind, cell: Cell, ks: int) -> None:
        """A redispatch: the set is the one that was passed."""
        self._span(ev.Dispatched, how, cell.operator.name, ks, key_name(ks))
        self._picked(cell, ks)

    def redispatched_typed(self, cell: Cell, ks: int) -> None:
        """The usual one."""
        self.redispatched("redispatch", cell, ks)

    def redispatched_within(
        self, cell: Cell, ks: int, guard: str, included: int, old_excluded: int, excluded: int
    ) -> None:
        """A guard, and within it the usual redispatch."""
        self.guard_excludes(guard, included, old_excluded, excluded)
        self.redispatched("redispatch", cell, ks)

    def returned(self, tensors: tuple[int, ...]) -> None:
        """The kernel came back, and with it the call."""
        self._event(ev.KernelReturned, tuple([tensor - self.first_tensor for tensor in tensors]))
        self._call_over()

    def returned_one(self, tensor: int) -> None:
        """The kernel returned one tensor."""
        self.returned((tensor,))

    def returned_from_within(self, tensor: int, guard: str, included: int, excluded: int) -> None:
        """The kernel returned one tensor, and the guard is over too."""
        self.returned((tensor,))
        self.guard_left(guard, included, excluded)

    def failed(self) -> None:
        """The kernel raised: it is over, and so are its meta or impl function and the call."""
        while self.open is not None and isinstance(self.events[self.open], ev.MetaEntered | ev.ImplEntered):
            self.leave()
        self._call_over()

    def _call_over(self) -> None:
        """The kernel is over, and so is the call, and the binding if that was all it had to do."""
        seq, events = self.open, self.events
        if seq is not None:
            seq = events[seq].parent
        if seq is not None:
            seq = events[seq].parent
        self.open = seq
        if seq in self._over_with_call:
            self.leave_unless_over()

    def no_node_made(self, why: ev.NoNodeReason) -> None:
        """The autograd kernel that runs records nothing."""
        seq = self.open
        while seq is not None and not isinstance(self.events[seq], ev.Dispatched):
            seq = self.events[seq].parent
        call = None if seq is None else self.events[seq]
        self._event(ev.NoNodeMade, call.operator if isinstance(call, ev.Dispatched) else "", why)

    # -- guards -------------------------------------------------------------------------------------------------------

    def guard_entered(self, guard: str, old_included: int, included: int, old_excluded: int, excluded: int) -> None:
        """A guard."""
        self._span(ev.GuardEntered, guard, old_included, included, old_excluded, excluded)

    def guard_excludes(self, guard: str, included: int, old_excluded: int, excluded: int) -> None:
        """A guard that only excludes."""
        self.guard_entered(guard, included, included, old_excluded, excluded)

    def guard_left(self, guard: str, included: int, excluded: int) -> None:
        """The innermost guard is over."""
        self._event(ev.GuardLeft, guard, included, excluded)
        self.leave()

    # -- structured kernels -------------------------------------------------------------------------------------------

    def meta_entered(self, family: str) -> None:
        """A structured meta function begins."""
        self._span(ev.MetaEntered, f"structured_{family}::meta")

    def impl_entered(self, kernel: str, impl: Callable[..., Any], tensors: tuple[int, ...]) -> None:
        """The meta function is over, the impl function begins."""
        self.leave()
        numbers = tuple([tensor - self.first_tensor for tensor in tensors])
        self._span(ev.ImplEntered, f"structured_{kernel}::impl", numbers, *source_of(impl))

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
        """An output."""
        proxy_number = None if proxy is None else proxy - self.first_tensor
        number = tensor - self.first_tensor
        self._event(ev.OutputAllocated, variant, number, resized, method, proxy_number, shape, repr(dtype))

    def proxy_copied(self, proxy: int, output: int) -> None:
        """A proxy's values on their way to the output."""
        self._event(ev.ProxyCopied, proxy - self.first_tensor, output - self.first_tensor)

    def output_created(
        self, number: int, shape: Size, stride: Size, dtype: DType, device: Device, ks: int, storage: int
    ) -> None:
        """A new tensor that is a structured kernel's output."""
        self.tensor_created(number, "new", shape, stride, dtype, device, ks, storage, False, False)
        self.output_allocated("functional", number, False, shape, dtype, "set_output_raw_strided", None)

    def output_passed(self, number: int, shape: Size, dtype: DType, variant: ev.StructuredVariant) -> None:
        """The tensor that a structured kernel's output shall be written to."""
        self.output_allocated(variant, number, False, shape, dtype, "set_output_raw_strided", None)

    # -- tensors ------------------------------------------------------------------------------------------------------

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
    ) -> None:
        """A tensor appears for the first time."""
        number -= self.first_tensor
        storage = -1 if storage < 0 else storage - self.first_storage
        geometry = shape, stride, repr(dtype), str(device)
        self._event(ev.TensorCreated, number, how, *geometry, ks, storage, requires_grad, wrapped_number)

    def version_bumped(self, tensor: int, before: int, after: int, counter: int) -> None:
        """A version."""
        self._event(ev.VersionBumped, tensor - self.first_tensor, before, after, counter - self.first_counter)
