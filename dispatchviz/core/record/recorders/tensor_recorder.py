"""The recorder of tensors: their creation, views, writes, and wrapping for a transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.shared_text import device_text, dtype_text
from dispatchviz.core.record.recorders.recorder_base import RecorderBase

if TYPE_CHECKING:
    from dispatchviz.core.tensor.tensor import Tensor


class TensorRecorder(RecorderBase):
    """The recorder's methods for tensors."""

    def tensor_created(self, tensor: Tensor, /) -> None:
        """Record a new tensor object."""
        if self.finds_callers:
            self.find_caller(True, True)
        self._introduce(tensor, "new")

    def view_made(self, tensor: Tensor, base: Tensor, creation_meta: ev.CreationMeta) -> None:
        """Record that ``as_view`` made it a differentiable view."""
        self._emit(ev.ViewMade, self._tensor(tensor), self._tensor(base), creation_meta)

    def geometry_changed(self, tensor: Tensor) -> None:
        """Record the tensor's new geometry, which is already set."""
        self._emit(ev.GeometryChanged, self._tensor(tensor), tensor._size, tensor._stride)
        self.memory_changed(tensor)

    def data_set(self, tensor: Tensor, before: int) -> None:
        """Record that the tensor got all that another tensor has. ``before`` was its key set."""
        if before != tensor._ks:
            self.key_set_changed(tensor, before)
        self.storage_set(tensor)

    def storage_set(self, tensor: Tensor) -> None:
        """Record that the tensor is now on another storage."""
        number, storage = self._tensor(tensor), self._storage(tensor)
        dtype, device = dtype_text(tensor._dtype), device_text(tensor._device)
        on = storage if storage < 0 else storage - self.first_storage
        self._emit(ev.GeometryChanged, number, tensor._size, tensor._stride, dtype, device, on)
        self.memory_changed(tensor)

    def memory_changed(self, tensor: Tensor, /) -> None:
        """Note that the tensor's memory is another one, for a recording of numbers."""

    def version_bumped(self, tensor: Tensor, before: int, /) -> None:
        """Record the counter's new value, which is already set."""
        number, counter = tensor._number, tensor._version_counter
        if number < self.first_tensor or counter.number < self.first_counter:
            number = self._serial(tensor)
            self._counter(tensor)
        self.note(("version_bumped", number, before, counter.value, counter.number))

    def requires_grad_set(self, tensor: Tensor, detached: bool = False) -> None:
        """Record the flag's new value, which is already set."""
        self._emit(ev.RequiresGradSet, self._tensor(tensor), tensor._requires_grad, detached)

    def grad_set(self, tensor: Tensor, retained: bool = False) -> None:
        """Record the attribute's new value, which is already set."""
        result = None if tensor._grad is None else self._tensor(tensor._grad)
        self._emit(ev.GradSet, self._tensor(tensor), result, retained)

    def inplace_checked(self, tensor: Tensor, allowed: bool, why: ev.InplaceVerdict, /) -> None:
        """Record that an autograd kernel is about to write to a tensor, or to refuse."""
        self._emit(ev.InplaceChecked, self._tensor(tensor), allowed, why)

    def key_set_changed(self, tensor: Tensor, before: int) -> None:
        """Record the tensor's new key set, which is already set."""
        self._emit(ev.KeySetChanged, self._tensor(tensor), before, tensor._ks)
        self.memory_changed(tensor)

    def batched_tensor_made(self, batched: Tensor, value: Tensor, bdim: int, level: int) -> None:
        """Record that a dimension was hidden."""
        self.tensor_created(batched)
        self._emit(ev.BatchedTensorMade, self._tensor(batched), self._tensor(value), bdim, level)

    def tensor_wrapper_made(self, wrapper: Tensor, value: Tensor, level: int) -> None:
        """Record that a tensor was wrapped for a level of ``grad``."""
        self.tensor_created(wrapper)
        self._emit(ev.TensorWrapperMade, self._tensor(wrapper), self._tensor(value), level)
