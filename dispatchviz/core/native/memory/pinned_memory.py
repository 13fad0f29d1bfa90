"""``pin_memory``, ``is_pinned``: page-locked memory, from which a GPU copies asynchronously
(``aten/src/ATen/native/Memory.cpp``).

NB: pinned memory is ordinary memory with a flag. PyTorch's build without CUDA refuses to pin.
"""

from __future__ import annotations

import numpy

from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Storage, Tensor, extent


def is_pinned(self: Tensor, device: Device | None = None) -> bool:
    """Return whether the memory is pinned, which is possible on the CPU only."""
    return self._storage.kind == "pinned"


def pin_memory(self: Tensor, device: Device | None = None) -> Tensor:
    """self if it is pinned, else a pinned copy."""
    return self if ops.is_pinned.call(self, device) else ops._pin_memory.call(self, device)


def _pin_memory(self: Tensor, device: Device | None = None) -> Tensor:
    """A copy of the same geometry in pinned memory. Raise RuntimeError for a tensor that is not on the CPU."""
    if self._device.type != "cpu":
        kind = f"torch.cuda.{self._dtype.legacy}Tensor" if self._device.type == "cuda" else "torch.Tensor"
        raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
    empty = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    storage = Storage(numpy.empty(extent(self._size, self._stride), self._dtype.numpy), kind="pinned")
    ops.set__source_Storage_storage_offset.call(empty, storage, 0, self._size, self._stride)
    ops.copy_.call(empty, self, False)
    return empty
