"""Sets of dispatch keys as 64-bit integers, and PyTorch's named sets (``c10/core/DispatchKeySet.h``).

The machine works on raw integers with the functions here; ``DispatchKeySet`` is the value that the edges hand out. Bits
0 to 15 are backends, bit 15 + v is the functionality of value v.

Rule 1: subtraction and removal never clear a backend bit.
Rule 2: an alias, like Undefined, is the empty set; so every set "has" it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from dispatchviz.core import keys as k
from dispatchviz.core.keys import FULL_BACKEND_MASK, NUM_BACKENDS, BackendComponent, DispatchKey

FULL = (1 << (NUM_BACKENDS + len(k.FUNCTIONALITIES) - 1)) - 1


@cache
def of_key(key: DispatchKey) -> int:
    """The set of one key: its functionality bit and its backend bit; 0 for Undefined and aliases."""
    functionality = k.to_functionality(key)
    backend = k.to_backend(key)
    bits = 1 << (15 + functionality) if functionality else 0
    return bits | (1 << (backend - 1) if backend else 0)


def raw(*keys: DispatchKey) -> int:
    """The set of some keys."""
    result = 0
    for key in keys:
        result |= of_key(key)
    return result


def of_backend(backend: BackendComponent) -> int:
    """The set of a backend bit."""
    return 1 << (backend - 1) if backend else 0


def subtract(a: int, b: int) -> int:
    """``a - b``: clears functionality bits only."""
    return a & (FULL_BACKEND_MASK | ~b)


def highest_functionality(ks: int) -> DispatchKey:
    """The functionality with the highest priority; Undefined without any."""
    return DispatchKey((ks >> NUM_BACKENDS).bit_length())


def highest_backend(ks: int) -> BackendComponent:
    """The backend with the highest priority; InvalidBit without any."""
    return BackendComponent((ks & FULL_BACKEND_MASK).bit_length())


def highest(ks: int) -> DispatchKey:
    """``highestPriorityTypeId``: the runtime key that a dispatch picks."""
    return k.runtime_key(highest_functionality(ks), highest_backend(ks))


def _offsets() -> Iterator[tuple[int, int]]:
    """(first cell, mask of backend bits) per functionality."""
    cell = 0
    for name in k.FUNCTIONALITIES:
        per_backend = name in k.PER_BACKEND
        yield cell, FULL_BACKEND_MASK if per_backend else 0
        cell += NUM_BACKENDS if per_backend else 1


OFFSETS = tuple(_offsets())


def table_index(ks: int) -> int:
    """The cell that a set picks. A per-backend functionality without a backend bit picks the CPU cell."""
    offset, mask = OFFSETS[(ks >> NUM_BACKENDS).bit_length()]
    return offset + ((ks & mask) >> 1).bit_length()


def members(ks: int) -> Iterator[DispatchKey]:
    """The runtime keys of a set, low to high; a per-backend functionality gives a key per backend bit.

    RuntimeError for bit 63, which no key has.
    """
    if ks >> 63:
        raise RuntimeError("a key set has no bit 63")
    backends = [b for b in BackendComponent if b and ks >> (b - 1) & 1]
    for value in range(1, len(k.FUNCTIONALITIES)):
        if ks >> (15 + value) & 1:
            functionality = DispatchKey(value)
            if k.is_per_backend(functionality):
                yield from (k.runtime_key(functionality, backend) for backend in backends)
            else:
                yield functionality


def text(ks: int) -> str:
    """``DispatchKeySet(CPU, AutogradCPU)``"""
    return f"DispatchKeySet({', '.join(key.name for key in members(ks))})"


def full_after(key: DispatchKey) -> int:
    """Every bit below the functionality of a key, and PythonDispatcher, which is never masked out."""
    below = (1 << (15 + k.to_functionality(key))) - 1
    return below | of_key(DispatchKey.PythonDispatcher)


# -- named sets --------------------------------------------------------------------------------------------------------

autograd_dispatch_keyset = raw(
    DispatchKey.AutogradFunctionality, DispatchKey.AutogradOther, DispatchKey.AutogradNestedTensor
)
inplace_or_view_ks = raw(DispatchKey.ADInplaceOrView)
autograd_dispatch_keyset_with_ADInplaceOrView = autograd_dispatch_keyset | inplace_or_view_ks
after_autograd_keyset = full_after(DispatchKey.AutogradOther)
after_ADInplaceOrView_keyset = full_after(DispatchKey.ADInplaceOrView)
after_func_keyset = full_after(DispatchKey.Functionalize)
autocast_dispatch_keyset = raw(*(key for key in k.RUNTIME_KEYS if key.name.startswith("Autocast")))
default_included_set = raw(DispatchKey.BackendSelect, DispatchKey.ADInplaceOrView)
default_excluded_set = autocast_dispatch_keyset
autogradother_backends = FULL_BACKEND_MASK | raw(
    DispatchKey.FPGA, DispatchKey.Vulkan, DispatchKey.Metal, DispatchKey.Quantized, DispatchKey.CustomRNGKeyId,
    DispatchKey.MkldnnCPU, DispatchKey.Sparse, DispatchKey.SparseCsr,
)  # fmt: skip
backend_dispatch_keyset = autogradother_backends | raw(DispatchKey.Dense)
python_ks = raw(DispatchKey.Python, DispatchKey.PythonTLSSnapshot)
backend_select_mask = full_after(DispatchKey.BackendSelect)


# -- tensors -----------------------------------------------------------------------------------------------------------


def tensor_dispatch_key(device_type: str) -> int:
    """The set of ``computeDispatchKey`` for a strided tensor: the Dense key of the device."""
    return raw(DispatchKey[_DEVICE_KEYS[device_type]])


_DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}


@cache
def tensor_key_set(device_type: str, inference: bool) -> int:
    """The key set of a new strided tensor (``TensorImpl``'s constructor)."""
    backend = _DEVICE_KEYS[device_type]
    autocast = DispatchKey.__members__.get(f"Autocast{backend}")
    ks = tensor_dispatch_key(device_type) | (raw(autocast) if autocast is not None else 0)
    return ks if inference else ks | raw(DispatchKey.ADInplaceOrView, DispatchKey[f"Autograd{backend}"])


class DispatchKeySet:
    """An immutable set of keys with PyTorch's semantics; a build from a key, from several, or from a raw integer."""

    __slots__ = ("_raw",)

    def __init__(self, *keys: DispatchKey) -> None:
        self._raw = raw(*keys)

    @classmethod
    def from_raw_repr(cls, value: int) -> DispatchKeySet:
        """The set of a raw integer, unchecked."""
        result = cls()
        result._raw = value & ((1 << 64) - 1)
        return result

    def raw_repr(self) -> int:
        """The integer."""
        return self._raw

    def has(self, key: DispatchKey) -> bool:
        """Whether all bits of a key are in it; true for aliases and Undefined."""
        return self.has_all(DispatchKeySet(key))

    def has_all(self, other: DispatchKeySet) -> bool:
        """Whether every bit of the other is in it."""
        return self._raw & other._raw == other._raw

    def has_any(self, other: DispatchKeySet) -> bool:
        """Whether some bit of the other is in it."""
        return self._raw & other._raw != 0

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """With a key."""
        return self.from_raw_repr(self._raw | of_key(key))

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """Without the functionality of a key; its backend bit stays."""
        return self.from_raw_repr(subtract(self._raw, of_key(key)))

    def highestPriorityTypeId(self) -> DispatchKey:  # noqa: N802  PyTorch's name
        """The key that a dispatch picks."""
        return highest(self._raw)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._raw | other._raw)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._raw & other._raw)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(subtract(self._raw, other._raw))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._raw == other._raw

    __hash__ = None  # type: ignore[assignment]  # as in PyTorch

    def __iter__(self) -> Iterator[DispatchKey]:
        return members(self._raw)

    def __repr__(self) -> str:
        return text(self._raw)
