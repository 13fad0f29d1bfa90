"""All dispatch keys in their order: functionalities by priority, backends, aliases with the keys that they cover."""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.keys.keys import (
    ALIAS_MEMBERS,
    ALIASES,
    CUSTOMIZABLE,
    FUNCTIONALITIES,
    NUM_BACKENDS,
    OFFSETS,
    BackendComponent,
    DispatchKey,
)
from dispatchviz.explain.keys.key_text import backend_name, purpose


class KeyRow(NamedTuple):
    """A functionality, in the order of priority."""

    name: str
    value: int
    """The number of the enumerator in PyTorch."""
    bit: int
    cells: str
    """``86`` or ``1-16``."""
    meaning: str


class KeyOrder(NamedTuple):
    """All keys of a release."""

    functionalities: list[KeyRow]
    """Highest priority first."""
    backends: list[tuple[int, str]]
    """The bit and name of every backend, lowest priority first."""
    aliases: list[tuple[str, int, str]]
    """The name, number of keys and meaning of every alias."""


def key_order() -> KeyOrder:
    """All keys of the model."""
    return KeyOrder(key_rows(), backend_rows(), alias_rows())


def key_rows() -> list[KeyRow]:
    """Every functionality, highest priority first."""
    return [_row(key) for key in reversed(FUNCTIONALITIES)]


def _row(key: DispatchKey) -> KeyRow:
    first = OFFSETS[key]
    cells = f"{first}-{first + NUM_BACKENDS - 1}" if key in CUSTOMIZABLE else str(first)
    return KeyRow(key.name, int(key), key + NUM_BACKENDS - 1, cells, purpose(key))


def backend_rows() -> list[tuple[int, str]]:
    """The bit and name of every backend, lowest priority first."""
    return [(backend - 1, backend_name(backend)) for backend in BackendComponent if backend]


def alias_rows() -> list[tuple[str, int, str]]:
    """The name, number of keys and meaning of every alias."""
    return [(alias.name, len(ALIAS_MEMBERS[alias]), ALIAS_TEXTS[alias]) for alias in ALIASES]


K = DispatchKey

ALIAS_TEXTS = {
    K.Autograd: "the autograd keys of all backends",
    K.CompositeImplicitAutograd: (
        "every backend, in every layout, and their autograd keys (its kernels have no derivative of their own, because "
        "the operators that they call have theirs)"
    ),
    K.CompositeExplicitAutograd: (
        "every backend except nested tensors, but no autograd key (the derivative is registered separately, for "
        "Autograd)"
    ),
    K.CompositeExplicitAutogradNonFunctional: (
        "the keys of CompositeExplicitAutograd except the Sparse keys (COO), XLA and Lazy (its kernels rely on views "
        "or on writing to memory, like most kernels that allocate the output and call the operator's out= form)"
    ),
    K.CompositeImplicitAutogradNestedTensor: "the NestedTensor keys and AutogradNestedTensor",
    K.FuncTorchBatchedDecomposition: "FuncTorchBatched alone",
}
"""The keys that each alias covers, as a text."""
