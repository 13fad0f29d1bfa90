"""PyTorch's own registrations: what an unmodified PyTorch has put under which key of which operator.

The data (``native/registrations.json``) is written by ``scripts/snapshot_dispatch.py`` from an installed CPU build:
schemas, kernels with the place of their registration, backend fallbacks. The kernels have PyTorch's facts and no
function; whoever implements one replaces it by a copy with a function (``native_library.py``).

Not here: what PyTorch calls a kernel (``kernel_names.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from dispatchviz.core.kernel import Kernel
from dispatchviz.core.kernel_names import FALLTHROUGH, fallback_name, kernel_name
from dispatchviz.core.keys import DispatchKey

BOXED, UNBOXED, FALLS_THROUGH, TYPED = 1, 2, 4, 8
"""Flags of a registration: a boxed form, a typed form without symbolic sizes, a fallthrough, a C++ signature."""

CUDA_DEBUG = "registered at build/aten/src/ATen/RegisterCUDA.cpp"
"""The snapshot is of a CPU build; CUDA registrations come from native_functions.yaml, without a line."""

Row = tuple[int, int, int]
"""A registration: numbers of key and debug text, flags."""


class _Operator(msgspec.Struct, array_like=True, gc=False):
    """One operator in the file."""

    schema: str
    structured: bool
    rows: list[Row]
    """In the order of PyTorch's dump: by the keys' values, newest first."""


class _Snapshot(msgspec.Struct, gc=False):
    """The file."""

    torch: str
    keys: list[str]
    debug: list[str]
    fallbacks: list[Row]
    operators: dict[str, _Operator]


@cache
def _snapshot() -> _Snapshot:
    path = Path(__file__).parent / "native" / "registrations.json"
    return msgspec.json.decode(path.read_bytes(), type=_Snapshot)


def pytorch_version() -> str:
    """The release that the registrations are of."""
    return _snapshot().torch


def pytorch_operators() -> dict[str, str]:
    """Full name -> schema of every operator that the snapshot has."""
    return {name: operator.schema for name, operator in _snapshot().operators.items()}


def is_structured(name: str) -> bool:
    """Whether the operator's kernels are generated from a meta and an impl function; False if it is unknown."""
    operator = _snapshot().operators.get(name)
    return operator is not None and operator.structured


def pytorch_registrations(name: str, structured: bool | None = None) -> Iterator[tuple[DispatchKey, Kernel]]:
    """PyTorch's kernels of an operator, newest first under each key; nothing if it is unknown."""
    data = _snapshot()
    operator = data.operators.get(name)
    if operator is None:
        return
    structured = operator.structured if structured is None else structured
    rows = [(data.keys[key], data.debug[debug], flags) for key, debug, flags in operator.rows]
    composite = any(key == "CompositeImplicitAutograd" for key, _, _ in rows)
    for key, debug, flags in rows:
        through, boxed = flags & FALLS_THROUGH, not flags & TYPED
        called = FALLTHROUGH if through else kernel_name(name, key, debug, structured, boxed, composite)
        yield DispatchKey[key], _kernel(called, debug, flags)


def pytorch_fallbacks() -> Iterator[tuple[DispatchKey, Kernel]]:
    """PyTorch's 38 backend fallbacks."""
    data = _snapshot()
    for key, debug, flags in data.fallbacks:
        name = fallback_name(data.keys[key], bool(flags & FALLS_THROUGH))
        yield DispatchKey[data.keys[key]], _kernel(name, data.debug[debug], flags)


def _kernel(name: str, debug: str, flags: int) -> Kernel:
    return Kernel(
        name,
        None,
        debug,
        boxed=not flags & TYPED,
        fallthrough=bool(flags & FALLS_THROUGH),
        unboxed=bool(flags & UNBOXED),
        signature=bool(flags & TYPED),
    )
