"""Dispatch keys: backend bits, functionalities, runtime keys, aliases (``c10/core/DispatchKey.h``).

A key set has 16 backend bits and 46 functionality bits. Six functionalities exist once per backend; those pairs, and
the other functionalities by themselves, are the 137 runtime keys: the cells of an operator's table. Everything below
is derived from the two ordered lists of names.

Rule 1: a functionality further down the list has higher priority; so has a backend.
Rule 2: the value of a functionality is its position, its bit is 15 + value; the bit of a backend is its position.
Rule 3: runtime keys per backend follow the functionalities in blocks of 17 (a placeholder and 16 backends), aliases
come last.

Not here: sets of keys (``keyset.py``).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from enum import IntEnum
from functools import cache

BACKENDS = (
    "CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA",
    "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta",
)  # fmt: skip
"""Lowest bit first. Meta is last: its bit in a thread's included set must win over any real device."""

FUNCTIONALITIES = (
    "Undefined", "Dense", "FPGA", "Vulkan", "Metal", "Quantized", "CustomRNGKeyId", "MkldnnCPU", "Sparse", "SparseCsr",
    "NestedTensor", "BackendSelect", "Fake", "Python", "FuncTorchDynamicLayerBackMode", "Functionalize", "Conjugate",
    "Negative", "ZeroTensor", "ADInplaceOrView", "AutogradOther", "AutogradFunctionality", "AutogradNestedTensor",
    "Tracer", "AutocastCPU", "AutocastMTIA", "AutocastMAIA", "AutocastXPU", "AutocastIPU", "AutocastHPU", "AutocastXLA",
    "AutocastMPS", "AutocastCUDA", "AutocastPrivateUse1", "FuncTorchBatched", "BatchedNestedTensor",
    "FuncTorchVmapMode", "Batched", "VmapMode", "FuncTorchGradWrapper", "DeferredInit", "PythonTLSSnapshot",
    "FuncTorchDynamicLayerFrontMode", "TESTING_ONLY_GenericWrapper", "TESTING_ONLY_GenericMode", "PreDispatch",
    "PythonDispatcher",
)  # fmt: skip
"""Lowest priority first."""

PER_BACKEND = {
    "Dense": "",
    "Quantized": "Quantized",
    "Sparse": "Sparse",
    "SparseCsr": "SparseCsr",
    "NestedTensor": "NestedTensor",
    "AutogradFunctionality": "Autograd",
}
"""Functionalities that exist once per backend, and the prefix of their keys' names."""

ALIAS_NAMES = (
    "Autograd",
    "CompositeImplicitAutograd",
    "FuncTorchBatchedDecomposition",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)

NUM_BACKENDS = len(BACKENDS)
FULL_BACKEND_MASK = (1 << NUM_BACKENDS) - 1



class BackendComponent(IntEnum):
    """Backends as PyTorch counts them: from 1, 0 is "none"."""

    InvalidBit = 0
    CPUBit = 1
    CUDABit = 2
    HIPBit = 3
    XLABit = 4
    MPSBit = 5
    IPUBit = 6
    XPUBit = 7
    HPUBit = 8
    VEBit = 9
    LazyBit = 10
    MTIABit = 11
    MAIABit = 12
    PrivateUse1Bit = 13
    PrivateUse2Bit = 14
    PrivateUse3Bit = 15
    MetaBit = 16


class DispatchKey(IntEnum):
    """Every key with PyTorch's value: functionalities, then a block per per-backend functionality, then aliases."""

    Undefined = 0
    Dense = 1
    FPGA = 2
    Vulkan = 3
    Metal = 4
    Quantized = 5
    CustomRNGKeyId = 6
    MkldnnCPU = 7
    Sparse = 8
    SparseCsr = 9
    NestedTensor = 10
    BackendSelect = 11
    Fake = 12
    Python = 13
    FuncTorchDynamicLayerBackMode = 14
    Functionalize = 15
    Conjugate = 16
    Negative = 17
    ZeroTensor = 18
    ADInplaceOrView = 19
    AutogradOther = 20
    AutogradFunctionality = 21
    AutogradNestedTensor = 22
    Tracer = 23
    AutocastCPU = 24
    AutocastMTIA = 25
    AutocastMAIA = 26
    AutocastXPU = 27
    AutocastIPU = 28
    AutocastHPU = 29
    AutocastXLA = 30
    AutocastMPS = 31
    AutocastCUDA = 32
    AutocastPrivateUse1 = 33
    FuncTorchBatched = 34
    BatchedNestedTensor = 35
    FuncTorchVmapMode = 36
    Batched = 37
    VmapMode = 38
    FuncTorchGradWrapper = 39
    DeferredInit = 40
    PythonTLSSnapshot = 41
    FuncTorchDynamicLayerFrontMode = 42
    TESTING_ONLY_GenericWrapper = 43
    TESTING_ONLY_GenericMode = 44
    PreDispatch = 45
    PythonDispatcher = 46
    EndOfFunctionalityKeys = 47
    StartOfDenseBackends = 48
    CPU = 49
    CUDA = 50
    HIP = 51
    XLA = 52
    MPS = 53
    IPU = 54
    XPU = 55
    HPU = 56
    VE = 57
    Lazy = 58
    MTIA = 59
    MAIA = 60
    PrivateUse1 = 61
    PrivateUse2 = 62
    PrivateUse3 = 63
    Meta = 64
    StartOfQuantizedBackends = 65
    QuantizedCPU = 66
    QuantizedCUDA = 67
    QuantizedHIP = 68
    QuantizedXLA = 69
    QuantizedMPS = 70
    QuantizedIPU = 71
    QuantizedXPU = 72
    QuantizedHPU = 73
    QuantizedVE = 74
    QuantizedLazy = 75
    QuantizedMTIA = 76
    QuantizedMAIA = 77
    QuantizedPrivateUse1 = 78
    QuantizedPrivateUse2 = 79
    QuantizedPrivateUse3 = 80
    QuantizedMeta = 81
    StartOfSparseBackends = 82
    SparseCPU = 83
    SparseCUDA = 84
    SparseHIP = 85
    SparseXLA = 86
    SparseMPS = 87
    SparseIPU = 88
    SparseXPU = 89
    SparseHPU = 90
    SparseVE = 91
    SparseLazy = 92
    SparseMTIA = 93
    SparseMAIA = 94
    SparsePrivateUse1 = 95
    SparsePrivateUse2 = 96
    SparsePrivateUse3 = 97
    SparseMeta = 98
    StartOfSparseCsrBackends = 99
    SparseCsrCPU = 100
    SparseCsrCUDA = 101
    SparseCsrHIP = 102
    SparseCsrXLA = 103
    SparseCsrMPS = 104
    SparseCsrIPU = 105
    SparseCsrXPU = 106
    SparseCsrHPU = 107
    SparseCsrVE = 108
    SparseCsrLazy = 109
    SparseCsrMTIA = 110
    SparseCsrMAIA = 111
    SparseCsrPrivateUse1 = 112
    SparseCsrPrivateUse2 = 113
    SparseCsrPrivateUse3 = 114
    SparseCsrMeta = 115
    StartOfNestedTensorBackends = 116
    NestedTensorCPU = 117
    NestedTensorCUDA = 118
    NestedTensorHIP = 119
    NestedTensorXLA = 120
    NestedTensorMPS = 121
    NestedTensorIPU = 122
    NestedTensorXPU = 123
    NestedTensorHPU = 124
    NestedTensorVE = 125
    NestedTensorLazy = 126
    NestedTensorMTIA = 127
    NestedTensorMAIA = 128
    NestedTensorPrivateUse1 = 129
    NestedTensorPrivateUse2 = 130
    NestedTensorPrivateUse3 = 131
    NestedTensorMeta = 132
    StartOfAutogradFunctionalityBackends = 133
    AutogradCPU = 134
    AutogradCUDA = 135
    AutogradHIP = 136
    AutogradXLA = 137
    AutogradMPS = 138
    AutogradIPU = 139
    AutogradXPU = 140
    AutogradHPU = 141
    AutogradVE = 142
    AutogradLazy = 143
    AutogradMTIA = 144
    AutogradMAIA = 145
    AutogradPrivateUse1 = 146
    AutogradPrivateUse2 = 147
    AutogradPrivateUse3 = 148
    AutogradMeta = 149
    Autograd = 150
    CompositeImplicitAutograd = 151
    FuncTorchBatchedDecomposition = 152
    CompositeImplicitAutogradNestedTensor = 153
    CompositeExplicitAutograd = 154
    CompositeExplicitAutogradNonFunctional = 155


FIRST_ALIAS = DispatchKey.Autograd


def is_alias(key: DispatchKey) -> bool:
    """Whether a key stands for several runtime keys."""
    return key >= FIRST_ALIAS


def to_functionality(key: DispatchKey) -> DispatchKey:
    """The functionality of a runtime key: AutogradCUDA gives AutogradFunctionality; aliases give Undefined."""
    if key < DispatchKey.EndOfFunctionalityKeys:
        return key
    if key >= FIRST_ALIAS:
        return DispatchKey.Undefined
    block = (key - DispatchKey.StartOfDenseBackends) // (NUM_BACKENDS + 1)
    return DispatchKey[tuple(PER_BACKEND)[block]]


def to_backend(key: DispatchKey) -> BackendComponent:
    """The backend of a runtime key; InvalidBit for functionalities and aliases."""
    if key <= DispatchKey.EndOfFunctionalityKeys or key >= FIRST_ALIAS:
        return BackendComponent.InvalidBit
    return BackendComponent((key - DispatchKey.StartOfDenseBackends) % (NUM_BACKENDS + 1))


def is_per_backend(functionality: DispatchKey) -> bool:
    """Whether a functionality exists once per backend."""
    return functionality.name in PER_BACKEND


def runtime_key(functionality: DispatchKey, backend: BackendComponent) -> DispatchKey:
    """The pair as a key; without a backend the placeholder of the block, the functionality itself if it has no block."""
    if not is_per_backend(functionality):
        return functionality
    block = tuple(PER_BACKEND).index(functionality.name)
    return DispatchKey(DispatchKey.StartOfDenseBackends + block * (NUM_BACKENDS + 1) + backend)


def _runtime_keys() -> Iterator[DispatchKey]:
    for name in FUNCTIONALITIES:
        functionality = DispatchKey[name]
        if is_per_backend(functionality):
            yield from (runtime_key(functionality, b) for b in BackendComponent if b)
        else:
            yield functionality


RUNTIME_KEYS = tuple(_runtime_keys())
"""The 137 cells of a table, in order."""

@cache
def name_of(key: DispatchKey) -> str:
    """How PyTorch prints a key: a placeholder prints as its prefix and ``Undefined``."""
    if key is DispatchKey.EndOfFunctionalityKeys:
        return "UnknownUnknown"
    if key > DispatchKey.EndOfFunctionalityKeys and key < FIRST_ALIAS and to_backend(key) == 0:
        return f"{PER_BACKEND[to_functionality(key).name]}Undefined"
    return key.name


def parse_dispatch_key(name: str) -> DispatchKey:
    """A key by its name. ValueError with close names if there is none."""
    if name in DispatchKey.__members__ and name_of(DispatchKey[name]) == name:
        return DispatchKey[name]
    close = difflib.get_close_matches(name, DispatchKey.__members__, 3)
    hint = f"; did you mean {', '.join(close)}?" if close else ""
    raise ValueError(f"could not parse dispatch key: {name}{hint}")
