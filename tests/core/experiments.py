"""Small private operators for experiments, and PyTorch's own in a private registry."""

from __future__ import annotations

import functools
from typing import Any

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.library import Library, Registry
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.pytorch_registrations import pytorch_fallbacks, pytorch_registry
from truth import records


@functools.cache
def tables() -> dict[str, Any]:
    """The digests of all of PyTorch's computed tables, and some full tables
    (``truth/recorders/dispatch_tables.py``).
    """
    return records.read("dispatch_tables")  # type: ignore[no-any-return]


@functools.cache
def pytorch() -> Registry:
    """All operators of a CPU build with exactly PyTorch's registrations."""
    return pytorch_registry("cpu")


@functools.cache
def recorded() -> Registry:
    """All operators of the build whose tables are recorded."""
    return pytorch_registry(tables()["build"])


def with_fallbacks() -> Registry:
    """A registry with nothing but PyTorch's backend fallbacks."""
    registry = Registry()
    for key, only in pytorch_fallbacks():
        registry.set_fallback(key, only)
    return registry


def kernel(name: str, **facts: Any) -> Kernel:
    """A typed kernel that returns its name."""
    return Kernel(name, lambda ks, *args: name, f"registered at {name}", **facts)


def operator(*keys: DispatchKey, registry: Registry | None = None) -> OperatorEntry:
    """Return ``test::op`` with a kernel per key, each named after its key, registered in this order."""
    library = Library("FRAGMENT", "test", registry=registry or Registry(), where="test.py:1")
    op = library.def_("op(Tensor self) -> Tensor")
    for key in keys:
        library.impl("op", kernel(key.name), key)
    return op


def stored(op: OperatorEntry, key: DispatchKey) -> tuple[str, str | None]:
    """The reason and kernel of a stored entry."""
    cell = op.table[op.cell_of(key)]
    return cell.reason, cell.kernel.name if cell.kernel else None


def recomputed(op: OperatorEntry, key: DispatchKey) -> tuple[str, str | None]:
    """The reason and kernel of the entry as it would be now."""
    cell = op.compute(key)
    return cell.reason, cell.kernel.name if cell.kernel else None
