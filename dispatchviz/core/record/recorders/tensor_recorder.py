"""What happens to tensors: made, viewed, written to, wrapped for a transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.shared_text import device_text, dtype_text
from dispatchviz.core.record.recorders.recorder_base import RecorderBase

if TYPE_CHECKING:
    from dispatchviz.core.tensor.tensor import Tensor


class TensorRecorder(RecorderBase):
    """Tensors."""

    def tensor_created(self, tensor: Tensor, /) -> None:
        """A new tensor object."""
        if self.finds_callers:
            self.find_caller(True, True)
        self._introduce(tensor, "new")

    def view_made(self, tensor: Tensor, base: Tensor, creation_meta: ev.CreationMeta) -> None:
        """``as_view`` made it a differentiable view."""
        self._emit(ev.ViewMade, self._tensor(tensor), self._tensor(base), creation_meta)

    def geometry_changed(self, tensor: Tensor) -> None:
        """It already has the new one."""
        self._emit(ev.GeometryChanged, self._tensor(tensor), tensor._size, tensor._stride)
        self.memory_changed(tensor)

    def data_set(self, tensor: Tensor, before: int) -> None:
        """It already has all that the other tensor has; its key set was this one."""
        if before != tensor._ks:
            self.key_set_changed(tensor, before)
        self.storage_set(tensor)

    def storage_set(self, tensor: Tensor) -> None:
        """It is on another storage by now."""
        number, storage = self._tensor(tensor), self._storage(tensor)
        dtype, device = dtype_text(tensor._dtype), device_text(tensor._device)
        on = storage if storage < 0 else storage - self.first_storage
        self._emit(ev.GeometryChanged, number, tensor._size, tensor._stride, dtype, device, on)
        self.memory_changed(tensor)

    def memory_changed(self, tensor: Tensor, /) -> None:
        """For a recording of numbers."""

    def version_bumped(self, tensor: Tensor, before: int, /) -> None:
        """The counter already has the new value."""
        number, counter = tensor._number, tensor._version_counter
        if number < self.first_tensor or counter.number < self.first_counter:
            number = self._serial(tensor)
            self._counter(tensor)
        self.note(("version_bumped", number, before, counter.value, counter.number))

    def requires_grad_set(self, tensor: Tensor, detached: bool = False) -> None:
        """The flag already has the new value."""
        self._emit(ev.RequiresGradSet, self._tensor(tensor), tensor._requires_grad, detached)

    def grad_set(self, tensor: Tensor, retained: bool = False) -> None:
        """The attribute already has the new value."""
        result = None if tensor._grad is None else self._tensor(tensor._grad)
        self._emit(ev.GradSet, self._tensor(tensor), result, retained)

    def inplace_checked(self, tensor: Tensor, allowed: bool, why: ev.InplaceVerdict, /) -> None:
        """An autograd kernel is about to write to a tensor, or to refuse."""
        self._emit(ev.InplaceChecked, self._tensor(tensor), allowed, why)

    def key_set_changed(self, tensor: Tensor, before: int) -> None:
        """The set already has the new value."""
        self._emit(ev.KeySetChanged, self._tensor(tensor), before, tensor._ks)
        self.memory_changed(tensor)

    def batched_tensor_made(self, batched: Tensor, value: Tensor, bdim: int, level: int) -> None:
        """A dimension was hidden."""
        self.tensor_created(batched)
        self._emit(ev.BatchedTensorMade, self._tensor(batched), self._tensor(value), bdim, level)

    def tensor_wrapper_made(self, wrapper: Tensor, value: Tensor, level: int) -> None:
        """A level of ``grad`` got a tensor."""
        self.tensor_created(wrapper)
        self._emit(ev.TensorWrapperMade, self._tensor(wrapper), self._tensor(value), level)
