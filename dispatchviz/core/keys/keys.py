"""Dispatch keys: every key of PyTorch 2.14 with its number, its bits, its table index, and the alias keys.

Mirrors ``c10/core/DispatchKey.h`` and the alias part of ``c10/core/DispatchKeySet.cpp``. A key is one of four things:

- a *functionality* (values 1 to 46), one bit of a set; the order of the values is the whole priority rule;
- a *runtime key* of a functionality that every backend has its own cell for (``AutogradCUDA``): two bits;
- a functionality that is itself a runtime key, because it has one cell (``BackendSelect``);
- an *alias*: a name under which kernels are registered for many runtime keys at once; it has no bits.

Not here: sets of keys (``key_set.py``).
"""

from __future__ import annotations

from enum import IntEnum
from itertools import accumulate

# fmt: off


class BackendComponent(IntEnum):
    """The backends of tensors. Each is bit ``value - 1`` of a key set; the highest one wins if several are set."""

    (InvalidBit, CPUBit, CUDABit, HIPBit, XLABit, MPSBit, IPUBit, XPUBit, HPUBit, VEBit, LazyBit, MTIABit, MAIABit,
     PrivateUse1Bit, PrivateUse2Bit, PrivateUse3Bit, MetaBit) = range(17)


class DispatchKey(IntEnum):
    """All keys with PyTorch's names and numbers. ``str(key)`` is the name that PyTorch prints."""

    # functionalities, low to high priority
    (Undefined, Dense, FPGA, Vulkan, Metal, Quantized, CustomRNGKeyId, MkldnnCPU, Sparse, SparseCsr, NestedTensor,
     BackendSelect, Fake, Python, FuncTorchDynamicLayerBackMode, Functionalize, Conjugate, Negative, ZeroTensor,
     ADInplaceOrView, AutogradOther, AutogradFunctionality, AutogradNestedTensor, Tracer, AutocastCPU, AutocastMTIA,
     AutocastMAIA, AutocastXPU, AutocastIPU, AutocastHPU, AutocastXLA, AutocastMPS, AutocastCUDA, AutocastPrivateUse1,
     FuncTorchBatched, BatchedNestedTensor, FuncTorchVmapMode, Batched, VmapMode, FuncTorchGradWrapper, DeferredInit,
     PythonTLSSnapshot, FuncTorchDynamicLayerFrontMode, TESTING_ONLY_GenericWrapper, TESTING_ONLY_GenericMode,
     PreDispatch, PythonDispatcher, EndOfFunctionalityKeys) = range(48)

    # runtime keys of the per-backend functionalities, each block after a placeholder
    (StartOfDenseBackends, CPU, CUDA, HIP, XLA, MPS, IPU, XPU, HPU, VE, Lazy, MTIA, MAIA,
     PrivateUse1, PrivateUse2, PrivateUse3, Meta) = range(48, 65)
    (StartOfQuantizedBackends, QuantizedCPU, QuantizedCUDA, QuantizedHIP, QuantizedXLA, QuantizedMPS, QuantizedIPU,
     QuantizedXPU, QuantizedHPU, QuantizedVE, QuantizedLazy, QuantizedMTIA, QuantizedMAIA, QuantizedPrivateUse1,
     QuantizedPrivateUse2, QuantizedPrivateUse3, QuantizedMeta) = range(65, 82)
    (StartOfSparseBackends, SparseCPU, SparseCUDA, SparseHIP, SparseXLA, SparseMPS, SparseIPU, SparseXPU, SparseHPU,
     SparseVE, SparseLazy, SparseMTIA, SparseMAIA, SparsePrivateUse1, SparsePrivateUse2, SparsePrivateUse3,
     SparseMeta) = range(82, 99)
    (StartOfSparseCsrBackends, SparseCsrCPU, SparseCsrCUDA, SparseCsrHIP, SparseCsrXLA, SparseCsrMPS, SparseCsrIPU,
     SparseCsrXPU, SparseCsrHPU, SparseCsrVE, SparseCsrLazy, SparseCsrMTIA, SparseCsrMAIA, SparseCsrPrivateUse1,
     SparseCsrPrivateUse2, SparseCsrPrivateUse3, SparseCsrMeta) = range(99, 116)
    (StartOfNestedTensorBackends, NestedTensorCPU, NestedTensorCUDA, NestedTensorHIP, NestedTensorXLA, NestedTensorMPS,
     NestedTensorIPU, NestedTensorXPU, NestedTensorHPU, NestedTensorVE, NestedTensorLazy, NestedTensorMTIA,
     NestedTensorMAIA, NestedTensorPrivateUse1, NestedTensorPrivateUse2, NestedTensorPrivateUse3,
     NestedTensorMeta) = range(116, 133)
    (StartOfAutogradFunctionalityBackends, AutogradCPU, AutogradCUDA, AutogradHIP, AutogradXLA, AutogradMPS,
     AutogradIPU, AutogradXPU, AutogradHPU, AutogradVE, AutogradLazy, AutogradMTIA, AutogradMAIA, AutogradPrivateUse1,
     AutogradPrivateUse2, AutogradPrivateUse3, AutogradMeta) = range(133, 150)

    # aliases
    (Autograd, CompositeImplicitAutograd, FuncTorchBatchedDecomposition, CompositeImplicitAutogradNestedTensor,
     CompositeExplicitAutograd, CompositeExplicitAutogradNonFunctional) = range(150, 156)

    def __str__(self) -> str:
        return _TEXT.get(self, self.name)

    @property
    def functionality(self) -> DispatchKey:
        """The functionality of a runtime key (AutogradFunctionality of AutogradCUDA); aliases have Undefined."""
        return _FUNCTIONALITY[self]

    @property
    def backend(self) -> BackendComponent:
        """The backend of a per-backend runtime key; InvalidBit for all others."""
        return _BACKEND[self]

    @property
    def bits(self) -> int:
        """The key as a raw set: its functionality bit and its backend bit; 0 for Undefined and aliases."""
        return KEY_BITS[self]

    @property
    def is_alias(self) -> bool:
        """True for an alias key (``isAliasDispatchKey``)."""
        return self >= DispatchKey.Autograd


# fmt: on

K = DispatchKey

NUM_BACKENDS = len(BackendComponent) - 1
BACKEND_MASK = (1 << NUM_BACKENDS) - 1
"""The bits of a raw set that name backends (``full_backend_mask``)."""

FIRST_BLOCK = K.StartOfDenseBackends
BLOCK = NUM_BACKENDS + 1
"""The length of a block of runtime keys: a placeholder and one key per backend."""

PER_BACKEND = (K.Dense, K.Quantized, K.Sparse, K.SparseCsr, K.NestedTensor, K.AutogradFunctionality)
"""Functionalities with an entry for each backend, in the order of their blocks."""

FUNCTIONALITIES = tuple(K(value) for value in range(1, K.EndOfFunctionalityKeys))
"""Every functionality that has a bit, low to high priority."""

CUSTOMIZABLE = frozenset(PER_BACKEND)


def runtime_key(functionality: DispatchKey, backend: BackendComponent) -> DispatchKey:
    """Return the runtime key: AutogradFunctionality and CUDABit give AutogradCUDA
    (``toRuntimePerBackendFunctionalityKey``).

    InvalidBit gives the placeholder of the block. A functionality without an entry per backend gives itself.
    """
    if functionality not in CUSTOMIZABLE:
        return functionality
    return K(FIRST_BLOCK + BLOCK * PER_BACKEND.index(functionality) + backend)


def _functionality_of(key: DispatchKey) -> DispatchKey:
    if key <= K.EndOfFunctionalityKeys:
        return key
    return K.Undefined if key >= K.Autograd else PER_BACKEND[(key - FIRST_BLOCK) // BLOCK]


def _backend_of(key: DispatchKey) -> BackendComponent:
    if FIRST_BLOCK <= key < K.Autograd:
        return BackendComponent((key - FIRST_BLOCK) % BLOCK)
    return BackendComponent.InvalidBit


def _bits_of(key: DispatchKey) -> int:
    functionality, backend = _functionality_of(key), _backend_of(key)
    bits = 1 << NUM_BACKENDS - 1 + functionality if functionality else 0
    return bits | (1 << backend - 1 if backend else 0)


def _text_of(key: DispatchKey) -> str:
    """The text that PyTorch prints. It composes the names of runtime keys, so the name of a placeholder ends in
    "Undefined".
    """
    if key == K.EndOfFunctionalityKeys:
        return "UnknownUnknown"
    if FIRST_BLOCK <= key < K.Autograd and not _backend_of(key):
        return (
            key.name.removeprefix("StartOf").removesuffix("Backends").replace("Functionality", "").replace("Dense", "")
            + "Undefined"
        )
    return key.name


_FUNCTIONALITY = {key: _functionality_of(key) for key in K}
_BACKEND = {key: _backend_of(key) for key in K}
_TEXT = {key: text for key in K if (text := _text_of(key)) != key.name}

KEY_BITS: dict[DispatchKey, int] = {key: _bits_of(key) for key in K}
"""Each key and its raw set."""

MASKS = tuple(BACKEND_MASK if functionality in CUSTOMIZABLE else 0 for functionality in (K.Undefined, *FUNCTIONALITIES))
"""The backend bits that choose among the entries of each functionality."""

OFFSETS = (0, *accumulate(NUM_BACKENDS if mask else 1 for mask in MASKS))[:-1]
"""The index of the first entry of each functionality (``offsetsAndMasks`` in ``DispatchKeySet.cpp``)."""


def _cells(functionality: DispatchKey) -> tuple[DispatchKey, ...]:
    if functionality not in CUSTOMIZABLE:
        return (functionality,)
    return tuple(runtime_key(functionality, backend) for backend in BackendComponent if backend)


RUNTIME_KEYS: tuple[DispatchKey, ...] = tuple(
    key for functionality in (K.Undefined, *FUNCTIONALITIES) for key in _cells(functionality)
)
"""The key of each of the 137 dispatch table entries, in their order."""

CELL: dict[DispatchKey, int] = {key: index for index, key in enumerate(RUNTIME_KEYS)}
"""The index of each runtime key's entry."""


def _join(*keys: DispatchKey) -> int:
    joined = 0
    for key in keys:
        joined |= KEY_BITS[key]
    return joined


def _alias_sets() -> dict[DispatchKey, int]:
    """Raw sets of runtime keys, as ``DispatchKeySet.cpp`` composes them."""
    autograd = _join(K.AutogradFunctionality, K.AutogradOther, K.AutogradNestedTensor) | BACKEND_MASK
    other_backends = (K.FPGA, K.Vulkan, K.Metal, K.Quantized, K.CustomRNGKeyId, K.MkldnnCPU, K.Sparse, K.SparseCsr)
    backends = _join(K.Dense, *other_backends) | BACKEND_MASK
    # structured kernels know no sparse layout, and XLA and Lazy functionalise by themselves
    functionalising = _join(K.XLA, K.Lazy) & BACKEND_MASK
    return {
        K.Autograd: autograd,
        K.CompositeImplicitAutograd: backends | autograd | K.NestedTensor.bits,
        K.FuncTorchBatchedDecomposition: K.FuncTorchBatched.bits,
        K.CompositeImplicitAutogradNestedTensor: _join(K.NestedTensor, K.AutogradNestedTensor) | BACKEND_MASK,
        K.CompositeExplicitAutograd: backends,
        K.CompositeExplicitAutogradNonFunctional: backends & ~K.Sparse.bits & ~functionalising,
    }


ALIASES: dict[DispatchKey, int] = _alias_sets()
"""Aliases and the raw set of the runtime keys that each stands for (``getRuntimeDispatchKeySet``)."""


def _included(key: DispatchKey, alias: DispatchKey) -> bool:
    return key != K.Undefined and KEY_BITS[key] & ALIASES[alias] == KEY_BITS[key]


ALIAS_MEMBERS: dict[DispatchKey, frozenset[DispatchKey]] = {
    alias: frozenset(key for key in RUNTIME_KEYS if _included(key, alias)) for alias in ALIASES
}
"""Aliases and their runtime keys."""


def included_in_alias(key: DispatchKey, alias: DispatchKey) -> bool:
    """Return whether a key is one of the alias's, or is the alias itself (``isIncludedInAlias``). Dense and other
    per-backend functionalities count as their runtime keys.

    An alias is included in every alias, since it has no bits: an accident of PyTorch's that is kept.
    """
    return key == alias or (alias in ALIASES and _included(key, alias))


def _unparsable() -> frozenset[str]:
    """Runtime keys that ``parseDispatchKey`` does not know: kernels for them cannot be registered by name."""
    forgotten = {
        "Quantized": "HIP XLA MPS IPU HPU VE Lazy MTIA MAIA PrivateUse2 PrivateUse3 Meta",
        "Sparse": "XLA IPU HPU Lazy MTIA MAIA PrivateUse2 PrivateUse3",
        "SparseCsr": "XLA IPU HPU Lazy MTIA MAIA PrivateUse2 PrivateUse3",
        "NestedTensor": "HIP XLA MPS IPU VE Lazy MTIA MAIA PrivateUse2 PrivateUse3",
        "Autograd": "HIP VE MTIA MAIA",
    }
    return frozenset(prefix + backend for prefix, backends in forgotten.items() for backend in backends.split())


_UNPARSABLE = _unparsable()
_PARSABLE: dict[str, DispatchKey] = {
    key.name: key for key in K if key.name not in _UNPARSABLE and not key.name.startswith(("StartOf", "EndOf"))
}


def parse_dispatch_key(text: str) -> DispatchKey:
    """Return the key with a name (``c10::parseDispatchKey``). Raise RuntimeError with PyTorch's text for an unknown
    name.

    As in PyTorch, 42 runtime keys cannot be named (``AutogradHIP``, ``QuantizedMeta``). ``DispatchKey[name]`` has all.
    """
    try:
        return _PARSABLE[text]
    except KeyError:
        raise RuntimeError(f"could not parse dispatch key: {text}") from None
