"""The elements of a tensor of an installed PyTorch, read from memory.

Nothing of PyTorch that a program could observe is called: no operator, no code of a subclass or mode, nothing that
makes a Python object of the storage (the engine adds in place only to memory without another holder), nothing that
copies memory on write or waits for a GPU.

Only tensors in CPU memory are read. No numbers are read of subclasses with a ``__torch_dispatch__``, fake and meta
tensors, wrappers of ``torch.func``, and sparse, nested and quantized tensors, nor while ``torch.jit.trace`` runs, which
would record that sizes are read.
"""

from __future__ import annotations

import functools
import operator
from ctypes import c_size_t, sizeof, string_at
from typing import Any, NamedTuple

import numpy as np

from dispatchviz.live.key_numbers import raw_of
from dispatchviz.live.tensor_numbers import MEMORY

READABLE = ("CPU", "AutogradCPU", "AutocastCPU", "ADInplaceOrView", "Conjugate", "Negative")
"""The keys that a tensor with readable memory may have."""

NAMES = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
"""The dtypes that NumPy has, by name."""
SMALL_NAMES = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
"""The dtypes that ``ml_dtypes`` adds."""


class Elements(NamedTuple):
    """The elements of a tensor, in contiguous order."""

    address: int
    """The address of the tensor's storage."""
    shape: tuple[int, ...]
    dtype: Any
    """PyTorch's dtype."""
    kind: np.dtype[Any]
    content: bytes
    bits: int
    """The bits of the key set that say that memory holds their conjugates or negatives."""

    @property
    def array(self) -> Any:
        """The elements as an array."""
        return np.frombuffer(self.content, self.kind).reshape(self.shape)


class MemoryReader:
    """The reader of elements."""

    def __init__(self, torch: Any) -> None:
        c, base = torch._C, torch._C.TensorBase
        self._key_set, self._raw = c._dispatch_keys, raw_of(c)
        keys = {name: self._raw(c.DispatchKeySet(c._dispatch_key_parse(name))) for name in READABLE}
        self._readable = keys["CPU"]
        self._unreadable = ~functools.reduce(operator.or_, keys.values())
        self._conjugate, self._negative = keys["Conjugate"], keys["Negative"]
        self._plain = frozenset((torch.Tensor, torch.nn.Parameter))
        self._function_modes, self._tracing = c._len_torch_function_stack, c._get_tracing_state
        self._without_functions = c.DisableTorchFunction
        self._numel, self._size, self._stride = base.numel, base.size, base.stride
        self._offset, self._is_contiguous, self._dtype = base.storage_offset, base.is_contiguous, base.dtype.__get__
        self._storage, self._address = getattr(c, "_storage_address", None), c._data_address
        self._types = _Types(torch)
        self._nbytes = None if self._storage is None else _place_of_nbytes(torch)
        self.is_able = self._nbytes is not None
        """False if this release lays out its storages in another way. Nothing is read then."""

    def of(self, tensor: Any, most: float) -> Elements | None:
        """Return the elements of a tensor with at most ``most`` of them; None if there are more or they cannot be
        read.
        """
        if type(tensor) in self._plain and not self._function_modes() and self._tracing() is None:
            count = self._numel(tensor)
            if type(count) is not int or count > most:
                return None
            raw = self._raw(self._key_set(tensor))
            return self._read(tensor, raw, most) if self._is_readable(raw) else None
        raw = self._raw(self._key_set(tensor))
        if not self._is_readable(raw):
            return None
        with self._without_functions():
            return self._read(tensor, raw, most)

    def address(self, tensor: Any) -> int:
        """Return the address of the storage of a tensor whose memory can be read; 0 for any other tensor."""
        return int(self._address(tensor)) if self._is_readable(self._raw(self._key_set(tensor))) else 0

    def _is_readable(self, raw: int) -> bool:
        return raw & self._readable == self._readable and not raw & self._unreadable and self._tracing() is None

    def _read(self, tensor: Any, raw: int, most: float) -> Elements | None:
        if not 0 < (count := self._numel(tensor)) <= most:
            return None
        dtype, address = self._dtype(tensor), self._address(tensor)
        kind = self._types[dtype]
        if kind is None or not address:
            return None
        size, offset, itemsize = tuple(self._size(tensor)), self._offset(tensor), kind.itemsize
        strides = None if self._is_contiguous(tensor) else self._stride(tensor)
        last = offset + (count - 1 if strides is None else _distance(size, strides))
        if not self._has_bytes(tensor, (last + 1) * itemsize):
            return None
        begin = address + offset * itemsize
        if strides is None:
            content = string_at(begin, count * itemsize)
        else:
            content = _strided(begin, size, tuple([one * itemsize for one in strides]), itemsize)
        elements = Elements(address, size, dtype, kind, content, raw & (self._conjugate | self._negative))
        return self._resolved(elements) if elements.bits else elements

    def is_empty(self, tensor: Any) -> bool:
        """Return whether a readable tensor has no elements. A comparison of a symbolic number would make a guard, and a
        subclass would run Python code, so both are left alone.
        """
        if not self._is_readable(self._raw(self._key_set(tensor))):
            return False
        with self._without_functions():
            count = self._numel(tensor)
            return type(count) is int and count == 0

    def fills(self, tensor: Any) -> bool:
        """Return whether a tensor has as many elements as its storage."""
        with self._without_functions():
            kind = self._types[self._dtype(tensor)]
            return kind is None or (
                self._has_bytes(tensor, 0) and not self._has_bytes(tensor, self._numel(tensor) * kind.itemsize + 1)
            )

    def _has_bytes(self, tensor: Any, nbytes: int) -> bool:
        """Return whether a tensor's storage is as large as the tensor needs. The program may have made it smaller."""
        if self._storage is None or self._nbytes is None:
            return False
        return bool(nbytes <= MEMORY[self._storage(tensor) // WORD + self._nbytes])

    def _resolved(self, elements: Elements) -> Elements:
        array = elements.array
        if elements.bits & self._conjugate:
            array = array.conj()
        return elements._replace(content=(-array if elements.bits & self._negative else array).tobytes())


WORD = sizeof(c_size_t)
"""The number of bytes of an address."""


class _Types(dict[Any, "np.dtype[Any] | None"]):
    """NumPy's dtypes by those of PyTorch. The first tensor that needs ``ml_dtypes`` imports it (up to a second)."""

    def __init__(self, torch: Any) -> None:
        super().__init__({getattr(torch, name): np.dtype(name) for name in NAMES if hasattr(torch, name)})
        self._small = {getattr(torch, name): name for name in SMALL_NAMES if hasattr(torch, name)}

    def __missing__(self, dtype: Any) -> np.dtype[Any] | None:
        kind = None
        if name := self._small.get(dtype):
            import ml_dtypes

            kind = np.dtype(getattr(ml_dtypes, name))
        self[dtype] = kind
        return kind


SIZES = (1009, 2003, 4001)
"""Sizes in bytes that no other word of a StorageImpl holds."""


def _place_of_nbytes(torch: Any) -> int | None:
    """Return the word of a ``c10::StorageImpl`` that holds its size in bytes; None if it cannot be found.

    No function of PyTorch returns the size without making a Python object of the storage. Those made here have one.
    """
    made = [torch.UntypedStorage(nbytes, device="cpu") for nbytes in SIZES]
    words = [one._cdata // WORD for one in made]
    places = [place for place in range(16) if tuple([MEMORY[word + place] for word in words]) == SIZES]
    return places[0] if len(places) == 1 else None


def _distance(size: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return the number of elements in memory from the first element of a tensor to the last one."""
    return sum([(many - 1) * stride for many, stride in zip(size, strides, strict=True)])


class _Strided:
    """Memory as NumPy's array interface describes it."""

    def __init__(self, **interface: Any) -> None:
        self.__array_interface__ = {"version": 3, **interface}


def _strided(begin: int, size: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bytes:
    """Return the bytes of a tensor that is not contiguous, by its strides in bytes."""
    interface = _Strided(data=(begin, True), shape=size, strides=strides, typestr=f"|V{itemsize}")
    return np.asarray(interface).tobytes()
