"""``set_``: another storage, size and strides for a tensor (``aten/src/ATen/native/TensorFactories.cpp``,
``Resize.h``)."""

from __future__ import annotations

import numpy

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Size, Storage, Tensor, contiguous_strides, extent, numel, strided


def set_(self: Tensor, source: Storage) -> Tensor:
    """View a whole storage as a vector."""
    buffer = source.buffer
    length = 0 if buffer is None else int(buffer.nbytes) // self._dtype.itemsize
    return ops.set__source_Storage_storage_offset.call(self, source, 0, (length,), ())


def _check_storage_geometry(size: Size, stride: Size, offset: int) -> None:
    if stride and len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(length < 0 for length in size):
        raise RuntimeError("numel: integer multiplication overflow")
    if any(step < 0 for step in stride) and numel(size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")


def set_storage_cpu_(self: Tensor, source: Storage, storage_offset: int, size: Size, stride: Size) -> Tensor:
    """Set storage, size and strides; a storage that is too small grows. Raise RuntimeError for an invalid geometry and
    for a storage on another device.
    """
    size = tuple(size)
    _check_storage_geometry(size, tuple(stride), storage_offset)
    _check_one_device(self, source)
    stride = tuple(stride) or contiguous_strides(size)
    if source.buffer is not None:
        end = (storage_offset + extent(size, stride)) * self._dtype.itemsize if numel(size) else 0
        _grow(source, end)
        memory = source.buffer.reshape(-1).view(numpy.uint8)
        whole = memory[: memory.size // self._dtype.itemsize * self._dtype.itemsize].view(self._dtype.numpy)
        self._array = strided(whole, size, stride, storage_offset)
    self._storage, self._size, self._stride, self._offset = source, size, stride, storage_offset
    if recorder.active is not None:
        recorder.active.storage_set(self)
    return self


def _grow(storage: Storage, size: int) -> None:
    """Grow a storage to at least ``size`` bytes. NB: other tensors on this storage keep the old memory."""
    old = storage.buffer.reshape(-1)
    if old.nbytes >= size:
        return
    storage.buffer = type(old)(-(-size // old.itemsize), old.dtype)
    storage.buffer[: old.size] = old


def set_storage_cuda_(self: Tensor, source: Storage, storage_offset: int, size: Size, stride: Size) -> Tensor:
    """Set storage, size and strides, as on the CPU."""
    return set_storage_cpu_(self, source, storage_offset, size, stride)


def set_storage_meta__symint(self: Tensor, source: Storage, storage_offset: int, size: Size, stride: Size) -> Tensor:
    """Set storage, size and strides of a tensor without memory."""
    return set_storage_cpu_(self, source, storage_offset, size, stride)


def set__symint(self: Tensor, source: Tensor, storage_offset: int, size: Size, stride: Size = ()) -> Tensor:
    """Set a geometry on another tensor's memory, from its first element on.

    Raise RuntimeError unless that tensor is contiguous.
    """
    if not source._is_contiguous:
        raise RuntimeError("passed in tensor to be used as storage must be contiguous")
    source._storage.device = source._device
    offset = storage_offset + source._offset
    return ops.set__source_Storage_storage_offset.call(self, source._storage, offset, tuple(size), tuple(stride))


def set_tensor_(self: Tensor, source: Tensor) -> Tensor:
    """Take over another tensor's memory and geometry."""
    if self is source:
        return self
    source._storage.device = source._device
    geometry = source._storage, source._offset, source._size, source._stride
    return ops.set__source_Storage_storage_offset.call(self, *geometry)


def _check_one_device(self: Tensor, source: Storage) -> None:
    if self._storage is not source and source.device not in (None, self._device):
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self._device}" to a storage on different device '
            f'"{source.device}".  This is no longer allowed; the devices must match.'
        )


def set_cpu_(self: Tensor) -> Tensor:
    """Make self a vector of no elements, with an empty storage."""
    buffer = self._storage.buffer
    empty = Storage(None if buffer is None else type(buffer)((0,), buffer.dtype))
    return ops.set__source_Storage_storage_offset.call(self, empty, 0, (0,), ())


def set_cuda_(self: Tensor) -> Tensor:
    """Make self a vector of no elements, as on the CPU."""
    return set_cpu_(self)


def set_meta_(self: Tensor) -> Tensor:
    """Make self a vector of no elements, as on the CPU."""
    return set_cpu_(self)
