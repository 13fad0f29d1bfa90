"""Sets of dispatch keys: their algebra on 64-bit numbers, the sets that PyTorch names, and the key sets of tensors.

This module mirrors ``c10/core/DispatchKeySet.h`` and ``c10/core/TensorOptions.h``. The machine works on raw integers
with the functions here. ``DispatchKeySet`` is the value that users see.

Rule 1: bits 0 to 15 are backends, bits 16 to 61 functionalities. A per-backend functionality counts for every backend
of the set, so {AutogradCPU, CUDA} and {AutogradCUDA, CPU} are one number.
Rule 2: removing keys never clears a backend bit.

Not here: the keys themselves and the keys that aliases stand for (``keys.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dispatchviz.core.keys.keys import (
    ALIASES,
    BACKEND_MASK,
    CUSTOMIZABLE,
    FUNCTIONALITIES,
    KEY_BITS,
    MASKS,
    NUM_BACKENDS,
    OFFSETS,
    BackendComponent,
    DispatchKey,
    runtime_key,
)

K = DispatchKey

FULL = (1 << NUM_BACKENDS + len(FUNCTIONALITIES)) - 1
"""Every backend and every functionality."""


# -- functions on raw sets --------------------------------------------------------------------------------------------


def raw(*keys: DispatchKey) -> int:
    """The set of the keys. Undefined and aliases add nothing."""
    joined = 0
    for key in keys:
        joined |= KEY_BITS[key]
    return joined


def highest(ks: int) -> DispatchKey:
    """The key that picks the kernel (``highestPriorityTypeId``).

    A per-backend functionality without any backend bit gives the placeholder that PyTorch prints as ``Undefined`` or
    ``AutogradUndefined``, although ``table_index`` then gives the entry for CPU.
    """
    return _HIGHEST[(ks >> NUM_BACKENDS).bit_length()][(ks & BACKEND_MASK).bit_length()]


def highest_functionality(ks: int) -> DispatchKey:
    """The highest functionality (``highestFunctionalityKey``); Undefined if no functionality bit is set."""
    return DispatchKey((ks >> NUM_BACKENDS).bit_length())


def highest_backend(ks: int) -> BackendComponent:
    """The highest backend (``highestBackendKey``); InvalidBit if no backend bit is set."""
    return BackendComponent((ks & BACKEND_MASK).bit_length())


def table_index(ks: int) -> int:
    """The index of the dispatch table entry that the set picks (``getDispatchTableIndexForDispatchKeySet``).

    Raise IndexError for bits 62 and 63, which PyTorch checks only in debug builds.
    """
    functionality = (ks >> NUM_BACKENDS).bit_length()
    return OFFSETS[functionality] + ((ks & MASKS[functionality]) >> 1).bit_length()


def members(ks: int) -> Iterator[DispatchKey]:
    """Yield the runtime keys, low to high. A per-backend functionality counts once for each backend bit of the set.

    Raise RuntimeError for bit 63, as in PyTorch. Bit 62 is ignored.
    """
    if ks >> 63:
        raise RuntimeError("next_functionality_ <= iterator::end_iter_mask_val INTERNAL ASSERT FAILED: bit 63 is set")
    backends = [backend for backend in BackendComponent if backend and ks >> backend - 1 & 1]
    for functionality in FUNCTIONALITIES:
        if ks & KEY_BITS[functionality]:
            if functionality in CUSTOMIZABLE:
                yield from (runtime_key(functionality, backend) for backend in backends)
            else:
                yield functionality


def full_after(key: DispatchKey) -> int:
    """The set of every bit strictly below the key's, and always PythonDispatcher (``DispatchKeySet(FULL_AFTER, key)``).

    Undefined and aliases give 15 backend bits, an accident of PyTorch's that is kept.
    """
    below = (1 << NUM_BACKENDS - 1 + key.functionality) - 1
    return below | KEY_BITS[K.PythonDispatcher]


def subtract(ks: int, other: int) -> int:
    """The set ``ks - other``: the functionalities of ``other`` are removed for every backend; backend bits stay."""
    return ks & (BACKEND_MASK | ~other)


def remove(ks: int, key: DispatchKey) -> int:
    """The set without the functionality bit of ``key`` (``remove``)."""
    return ks & ~(KEY_BITS[key] & ~BACKEND_MASK)


def text(ks: int) -> str:
    """The text ``DispatchKeySet(CPU, AutogradCPU)``, with the keys that iteration yields. It may show no key for a set
    that is not empty.
    """
    return f"DispatchKeySet({', '.join(map(str, members(ks)))})"


_NO_KEY = (K.StartOfDenseBackends,) * (NUM_BACKENDS + 1)

_HIGHEST: tuple[tuple[DispatchKey, ...], ...] = (
    *(tuple(runtime_key(K(f), backend) for backend in BackendComponent) for f in range(K.EndOfFunctionalityKeys + 1)),
    _NO_KEY,  # bit 63: PyTorch reads on past the functionalities
)
"""The highest key, by the number of significant bits of the functionality part and of the backend part."""


# -- sets that have a name --------------------------------------------------------------------------------------------

_AUTOCAST = tuple(key for key in FUNCTIONALITIES if key.name.startswith("Autocast"))

autograd_dispatch_keyset = raw(K.AutogradFunctionality, K.AutogradOther, K.AutogradNestedTensor)
"""The autograd keys, without backend bits: excluding them excludes autograd for all backends."""
autograd_dispatch_keyset_with_ADInplaceOrView = autograd_dispatch_keyset | raw(K.ADInplaceOrView)
autocast_dispatch_keyset = raw(*_AUTOCAST)
default_included_set = raw(K.BackendSelect, K.ADInplaceOrView)
"""The include set of a new thread."""
default_excluded_set = autocast_dispatch_keyset
"""The exclude set of a new thread."""
inplace_or_view_ks = raw(K.ADInplaceOrView)
after_autograd_keyset = full_after(K.AutogradOther)
"""The keys below autograd. AutogradOther is the lowest autograd key, so this set contains none of them."""
after_ADInplaceOrView_keyset = full_after(K.ADInplaceOrView)
after_func_keyset = remove(full_after(K.Functionalize), K.ADInplaceOrView)
from_Python_up_keyset = FULL & ((1 << NUM_BACKENDS) - 1 | ~full_after(K.Python))
"""Python and all keys of higher priority (``FULL - DispatchKeySet(FULL_AFTER, Python)``)."""
after_Python_keyset = FULL ^ (full_after(K.Python) | raw(K.Python))
"""Despite its name, everything above Python except PythonDispatcher (``PythonFallbackKernel.cpp``)."""
python_ks = raw(K.Python, K.PythonTLSSnapshot)
sparse_ks = raw(K.Sparse)
sparse_csr_ks = raw(K.SparseCsr)
mkldnn_ks = raw(K.MkldnnCPU)
functorch_transforms_ks = raw(K.FuncTorchBatched, K.FuncTorchVmapMode, K.Batched, K.VmapMode, K.FuncTorchGradWrapper)
functorch_batched_ks = raw(K.FuncTorchBatched)
backend_functionality_keys = raw(K.Dense, K.Quantized, K.Sparse, K.SparseCsr) | BACKEND_MASK
backend_dispatch_keyset = ALIASES[K.CompositeExplicitAutograd]
non_functional_backend_dispatch_keyset = ALIASES[K.CompositeExplicitAutogradNonFunctional]
math_dispatch_keyset = ALIASES[K.CompositeImplicitAutograd]
nested_dispatch_keyset = ALIASES[K.CompositeImplicitAutogradNestedTensor]
autogradother_backends = backend_dispatch_keyset & ~KEY_BITS[K.Dense]
"""Backends whose autograd key is AutogradOther (with all backend bits, though). The ambiguity check reads it."""


# -- from backends to autograd and autocast keys ----------------------------------------------------------------------

_NO_AUTOGRAD_KEY = (BackendComponent.HIPBit, BackendComponent.VEBit)


def _own_autograd_key(backend: BackendComponent) -> DispatchKey:
    if not backend or backend in _NO_AUTOGRAD_KEY:
        return K.AutogradOther
    return runtime_key(K.AutogradFunctionality, backend)


AUTOGRAD_KEY: dict[BackendComponent, DispatchKey] = {b: _own_autograd_key(b) for b in BackendComponent}
"""The autograd key of tensors by backend (``getAutogradRelatedKeySetFromBackend``); AutogradOther for HIP, VE and no
backend.
"""

AUTOCAST_KEY: dict[BackendComponent, DispatchKey] = {
    b: K.__members__.get("Autocast" + b.name.removesuffix("Bit"), K.Undefined) for b in BackendComponent
}
"""The autocast key by backend (``getAutocastRelatedKeySetFromBackend``); Undefined for backends without autocast."""

_NOT_CONSULTED = (*_NO_AUTOGRAD_KEY, BackendComponent.MTIABit)


def _consulted(key: DispatchKey) -> int:
    if key == K.AutogradOther:
        return autogradother_backends
    if key == K.AutogradNestedTensor:
        return raw(K.NestedTensor) | BACKEND_MASK
    if key.functionality != K.AutogradFunctionality or key.backend in (*_NOT_CONSULTED, BackendComponent.InvalidBit):
        return 0
    return raw(runtime_key(K.Dense, key.backend))


BACKENDS_OF_AUTOGRAD: dict[DispatchKey, int] = {key: _consulted(key) for key in K}
"""The backend keys whose kernels prevent a composite kernel from filling an autograd entry
(``getBackendKeySetFromAutograd``).

Empty for AutogradHIP, AutogradVE and AutogradMTIA, and for every key that is not an autograd key.
"""


# -- key sets of tensors ----------------------------------------------------------------------------------------------

_BACKEND_OF_DEVICE = {
    "cpu": "CPU", "cuda": "CUDA", "hip": "HIP", "xla": "XLA", "mps": "MPS", "ipu": "IPU", "xpu": "XPU", "hpu": "HPU",
    "ve": "VE", "lazy": "Lazy", "mtia": "MTIA", "maia": "MAIA", "privateuseone": "PrivateUse1", "meta": "Meta",
    "fpga": "FPGA", "vulkan": "Vulkan", "metal": "Metal",
}  # fmt: skip

_PREFIX_OF_LAYOUT = {
    "strided": "", "jagged": "", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsr",
    "sparse_bsr": "SparseCsr", "sparse_bsc": "SparseCsr",
}  # fmt: skip


def name_private_backend(device_type: str) -> None:
    """Let a device type with this name have the key PrivateUse1."""
    _BACKEND_OF_DEVICE[device_type] = "PrivateUse1"


def compute_dispatch_key(device_type: str, layout: str = "strided", dtype_is_quantized: bool = False) -> DispatchKey:
    """The backend key of a tensor with the given properties (``computeDispatchKey``).

    Raise NotImplementedError for a combination that has no key.
    """
    name = _BACKEND_OF_DEVICE.get(device_type)
    if name is None:
        raise NotImplementedError(f"Unsupported device type for dense layout: {device_type}")
    if layout == "mkldnn":
        return _mkldnn_key(device_type)
    if layout not in _PREFIX_OF_LAYOUT:
        raise NotImplementedError(f"Unsupported layout: {layout}; known are mkldnn, {', '.join(_PREFIX_OF_LAYOUT)}")
    prefix = _PREFIX_OF_LAYOUT[layout] or ("Quantized" if dtype_is_quantized else "")
    key = K.__members__.get(prefix + name)
    if key is None:
        raise NotImplementedError(f"Unsupported device type for {layout} layout: {device_type}")
    return key


def _mkldnn_key(device_type: str) -> DispatchKey:
    if device_type != "cpu":
        raise NotImplementedError(f"Unsupported device type for mkldnn layout: {device_type}")
    return K.MkldnnCPU


def tensor_key_set(device_type: str, inference: bool, layout: str = "strided", dtype_is_quantized: bool = False) -> int:
    """The raw set of a new tensor: its backend key and the keys that follow from it (``TensorImpl::TensorImpl``).

    Nothing here depends on ``requires_grad``: an Autograd key only means that the backend has an autograd layer.
    ``inference`` means that inference mode is on. Raise NotImplementedError as ``compute_dispatch_key`` does.
    """
    ks = raw(compute_dispatch_key(device_type, layout, dtype_is_quantized))
    backend = highest_backend(ks)
    ks |= raw(AUTOCAST_KEY[backend])
    if inference:
        return ks
    return ks | raw(K.ADInplaceOrView, AUTOGRAD_KEY[backend])


# -- the value at the edges -------------------------------------------------------------------------------------------

_UINT64_MAX = (1 << 64) - 1


class DispatchKeySet:
    """An immutable set with the semantics of ``c10::DispatchKeySet``. Every operation returns a new set.

    ``DispatchKeySet(key)``, ``DispatchKeySet(backend)``, ``DispatchKeySet([key, ...])``, ``from_raw_repr(integer)``.
    """

    __slots__ = ("_raw",)

    FULL: ClassVar[DispatchKeySet]

    def __init__(self, keys: DispatchKey | BackendComponent | list[DispatchKey] | tuple[DispatchKey, ...] = ()) -> None:
        if isinstance(keys, BackendComponent):
            self._raw = 1 << keys - 1 if keys else 0
        elif isinstance(keys, DispatchKey):
            self._raw = KEY_BITS[keys]
        else:
            self._raw = raw(*keys)

    @classmethod
    def from_raw_repr(cls, value: int) -> DispatchKeySet:
        """Return the set for any 64-bit number, without a check. Raise TypeError beyond 64 bits."""
        if not 0 <= value <= _UINT64_MAX:
            raise TypeError(f"a raw key set is an integer from 0 to 2**64 - 1, not {value}")
        made = cls.__new__(cls)
        made._raw = value
        return made

    @classmethod
    def full_after(cls, key: DispatchKey) -> DispatchKeySet:
        """Return the set of every key below ``key``, and PythonDispatcher."""
        return cls.from_raw_repr(full_after(key))

    def raw_repr(self) -> int:
        """Return the 64-bit number."""
        return self._raw

    def has(self, key: DispatchKey) -> bool:
        """Return whether all bits of the key are in the set. True for every alias and for Undefined, which have no
        bits.
        """
        return self._raw & KEY_BITS[key] == KEY_BITS[key]

    def has_all(self, other: DispatchKeySet) -> bool:
        """Return whether the set has all bits of ``other``: {AutogradCPU, CUDA} has AutogradCUDA."""
        return self._raw & other._raw == other._raw

    def has_any(self, other: DispatchKeySet) -> bool:
        """Return whether the set has some bit of ``other``."""
        # NB: in PyTorch, debug builds refuse sets that mix backend bits with per-backend functionalities here.
        return self._raw & other._raw != 0

    def has_backend(self, backend: BackendComponent) -> bool:
        """Return whether the backend's bit is set, by whichever functionality."""
        return self.has_all(DispatchKeySet(backend))

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set with the key. An alias adds nothing."""
        return self.from_raw_repr(self._raw | KEY_BITS[key])

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set without the key's functionality, for all backends. Backend bits stay."""
        return self.from_raw_repr(remove(self._raw, key))

    def remove_backend(self, backend: BackendComponent) -> DispatchKeySet:
        """Return the set without the backend's bit."""
        return self.from_raw_repr(self._raw & ~DispatchKeySet(backend)._raw)

    def empty(self) -> bool:
        """Return whether no bit is set. A set that prints as empty may have backend bits."""
        return self._raw == 0

    def highestPriorityTypeId(self) -> DispatchKey:
        """Return the key that picks the kernel."""
        return highest(self._raw)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._raw | other._raw)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._raw & other._raw)

    def __xor__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(self._raw ^ other._raw)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self.from_raw_repr(subtract(self._raw, other._raw))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._raw == other._raw

    __hash__ = None  # type: ignore[assignment]  # as in PyTorch

    def __iter__(self) -> Iterator[DispatchKey]:
        return members(self._raw)

    def __repr__(self) -> str:
        return text(self._raw)


DispatchKeySet.FULL = DispatchKeySet.from_raw_repr(FULL)
