"""PyTorch's own dispatch tables: the registry of a build, and copies of operators on which to try registrations."""

from __future__ import annotations

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.registry import Registry

YOURS = Kernel("your kernel", None, "registered by you", boxed=True)
"""A kernel that the reader might register."""

SKIP = Kernel("fallthrough_kernel", None, "registered by you", boxed=True, fallthrough=True)
"""A fallthrough that the reader might register."""


def pytorch(build: str) -> Registry:
    """PyTorch's registrations in a build, ``cpu`` or ``cuda``, without those of a program."""
    from dispatchviz.core.table.pytorch_registrations import pytorch_registry

    return pytorch_registry(build)


def copy_of(op: OperatorEntry, registry: Registry) -> OperatorEntry:
    """Copy an operator with its registrations, to try registrations on the copy."""
    copy = type(op)(op.name, registry.fallbacks)
    copy.registrations = {key: list(kernels) for key, kernels in op.registrations.items()}
    copy.table  # noqa: B018  from here on a change recomputes what PyTorch recomputes
    return copy


def cell_of(op: OperatorEntry, key: DispatchKey) -> Cell:
    """The stored entry for a runtime key."""
    return op.table[op.cell_of(key)]


def served(op: OperatorEntry, source: DispatchKey) -> list[DispatchKey]:
    """The runtime keys whose entries hold a kernel of a key or alias; fallbacks do not count."""
    return [cell.key for cell in op.table if cell.source == source and cell.reason != "backend fallback"]
