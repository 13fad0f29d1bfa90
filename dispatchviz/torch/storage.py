"""``torch.storage``: the memory under a tensor, as bytes or as numbers (``torch/storage.py``).

NB: storages can be read and copied, but not resized, sliced or filled.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batched_tensor import BatchedTensorImpl
from dispatchviz.core.layers.functorch.tensor_wrapper import TensorWrapperImpl
from dispatchviz.core.python_side.py_interpreter import interpreter
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Storage, Tensor, expose
from dispatchviz.torch._namespace import torch

_LEGACY = {
    dtypes.float64: "Double",
    dtypes.float32: "Float",
    dtypes.float16: "Half",
    dtypes.bfloat16: "BFloat16",
    dtypes.int64: "Long",
    dtypes.int32: "Int",
    dtypes.int16: "Short",
    dtypes.int8: "Char",
    dtypes.uint8: "Byte",
    dtypes.bool_: "Bool",
    dtypes.complex64: "ComplexFloat",
    dtypes.complex128: "ComplexDouble",
}
"""The first part of the name of a dtype's storage class."""


class UntypedStorage:
    """A storage of bytes."""

    def __init__(self, storage: Storage, device: Device) -> None:
        self._storage = storage
        self.device = device

    def _content(self) -> bytes:
        """Return the bytes, for a pickle."""
        buffer = self._storage.buffer
        host = buffer.get() if hasattr(buffer, "get") else buffer
        return b"" if host is None else bytes(host.tobytes())

    def nbytes(self) -> int:
        """Return the size in bytes."""
        buffer = self._storage.buffer
        return 0 if buffer is None else int(buffer.nbytes)

    def size(self) -> int:
        """Return the size in bytes."""
        return self.nbytes()

    def element_size(self) -> int:
        """Return 1, the size of a byte."""
        return 1

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        buffer = self._storage.buffer
        return 0 if buffer is None else int(buffer.ctypes.data if hasattr(buffer, "ctypes") else buffer.data.ptr)

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    @property
    def is_cuda(self) -> bool:
        """True if the storage is on the GPU."""
        return self.device.type == "cuda"

    def is_shared(self) -> bool:
        """Return whether the storage is in shared memory: on the GPU, or after ``share_memory_``."""
        return self.is_cuda or self._storage.kind == "shared"

    def share_memory_(self) -> Any:
        """Copy the bytes into memory that processes share (``THPStorage_shareFd``). Return the storage itself.

        NB: the copy is not used. The storage keeps its memory and is marked as shared.
        """
        if not self.is_shared():
            if self.device.type != "cpu":
                raise RuntimeError("_share_fd_: only available on CPU")
            self.clone()
            self._storage.kind = "shared"
        return self

    def is_pinned(self, device: object = "cuda") -> bool:
        """Return whether a GPU copies from the storage without waiting."""
        return self._storage.kind == "pinned"

    def clone(self) -> UntypedStorage:
        """Return a copy, written by ``copy_`` (``THPStorage_copy_``). Raise RuntimeError for a storage without
        memory.
        """
        buffer = self._storage.buffer
        if buffer is None and self.device.type != "meta":
            raise RuntimeError("Attempted to call copy_() on an invalid python storage.")
        made = UntypedStorage(
            Storage(None if buffer is None else array_module(self.device.type).empty(buffer.shape, buffer.dtype)),
            self.device,
        )
        ops.copy_.call(made._as_tensor(), self._as_tensor(), False)
        return made

    __copy__ = clone

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        copies = memo.setdefault("torch", {})
        if self._cdata not in copies:
            copies[self._cdata] = self.clone()
        return copies[self._cdata]  # type: ignore[no-any-return]

    def _as_tensor(self) -> Tensor:
        """Return the bytes as a tensor, as ``at::storage_copy`` sees them."""
        made = ops.empty_memory_format.call((0,), dtypes.uint8, None, self.device)
        return ops.set__source_Storage.call(made, self._storage)

    def tolist(self) -> list[int]:
        """Return the bytes as ints."""
        return list(self)

    def __len__(self) -> int:
        return self.nbytes()

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"index {at} out of range for storage of size {len(self)}")
        return ops.item.call(ops.select_int.call(self._as_tensor(), 0, at))

    def __iter__(self) -> Iterator[int]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return _listed(list(self)) + f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


def _listed(values: list[Any]) -> str:
    return "".join(f" {value}\n" for value in values)


class TypedStorage:
    """A view of an ``UntypedStorage`` as numbers of one dtype."""

    def __init__(self, wrap_storage: UntypedStorage, dtype: DType) -> None:
        self._untyped_storage = wrap_storage
        self.dtype = dtype

    @property
    def device(self) -> Device:
        """The device."""
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """Return the storage as bytes."""
        return self._untyped_storage

    def tolist(self) -> list[Any]:
        """Return the numbers."""
        return list(self)

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.dtype.itemsize

    def element_size(self) -> int:
        """Return the size of a number in bytes."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._untyped_storage.data_ptr()

    @property
    def is_cuda(self) -> bool:
        """True if the storage is on the GPU."""
        return self._untyped_storage.is_cuda

    def is_shared(self) -> bool:
        """Return whether the storage is in shared memory."""
        return self._untyped_storage.is_shared()

    def is_pinned(self, device: object = "cuda") -> bool:
        """Return whether a GPU copies from the storage without waiting."""
        return self._untyped_storage.is_pinned()

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        numbers = torch.tensor([], dtype=self.dtype, device=self.device).set_(self)
        return numbers[index % len(self)].item()

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __copy__(self) -> TypedStorage:
        return TypedStorage(self._untyped_storage.clone(), self.dtype)

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(copy.deepcopy(self._untyped_storage, memo), self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (self._untyped_storage._content(), self.dtype.name, self.device)

    def __repr__(self) -> str:
        kind = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return _listed([*self]) + kind


def _loaded(content: bytes, dtype: str, device: Device) -> TypedStorage:
    """Return a storage from a pickle."""
    known = next(one for one in dtypes.ALL if one.name == dtype)
    buffer = array_module(device.type).asarray(numpy.frombuffer(bytearray(content), known.numpy))
    return TypedStorage(UntypedStorage(Storage(buffer), device), known)


interpreter.storage = UntypedStorage
for _class in (UntypedStorage, TypedStorage):
    _class.__module__ = "torch.storage"

LEGACY_CLASSES: dict[str, type] = {
    f"{word}Storage": type(f"{word}Storage", (TypedStorage,), {"dtype": dtype, "__module__": "torch"})
    for dtype, word in _LEGACY.items()
}
"""``torch.FloatStorage`` and the others, which saved files name."""


def legacy_class(dtype: DType) -> type:
    """Return the legacy storage class that represents a dtype in a file."""
    return LEGACY_CLASSES[f"{_LEGACY[dtype]}Storage"]


def storage_of(self: Tensor) -> UntypedStorage:
    """Return the storage of a tensor, for internal use. Raise NotImplementedError for a tensor of ``vmap`` or ``grad``,
    which has none.
    """
    if isinstance(self._impl, (BatchedTensorImpl, TensorWrapperImpl)):
        kind = "BatchedTensorImpl" if isinstance(self._impl, BatchedTensorImpl) else "TensorWrapper"
        raise NotImplementedError(f"Cannot access storage of {kind}")
    return UntypedStorage(self._storage, self._device)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """``Tensor.untyped_storage``"""
    made = storage_of(self)
    expose(self)
    return made


def storage(self: Tensor) -> TypedStorage:
    """``Tensor.storage``. Warn that it is deprecated."""
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage directly, "
        "use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=2,
    )
    return TypedStorage(untyped_storage(self), self._dtype)
