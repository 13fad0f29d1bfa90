"""The registrations for one operator, in order: PyTorch's fallbacks, its definition, its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.initialization_order import initialization_order
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.registration import block_text
from dispatchviz.explain.codegen.generated_files import placed

DEFINITION, KERNEL, FALLBACK = "definition", "kernel", "fallback"
"""The kinds of registrations."""


class Registration(Struct, frozen=True):
    """One registration, from one block."""

    what: str
    """``definition``, ``kernel`` or ``fallback``."""
    block: str
    """The code, as C++ or Python writes it."""
    place: str
    """The place: ``FILE:LINE`` of the block, ``line 5`` of a program; empty if it is unknown."""
    key: DispatchKey | None = None
    """The key; None for a definition."""
    kernel: Kernel | None = None
    schema: str = ""
    """The schema of a definition."""
    removed: bool = False
    """True if the registration is undone."""
    step: int = -1
    """The step of the trace, if a program made it."""


def pytorch_registrations_of(op: OperatorEntry, registry: Registry) -> list[Registration]:
    """The registrations that PyTorch makes for an operator when it is loaded, and the fallbacks for all operators."""
    owner = registry.owners.get(op.name.partition("::")[0])
    kind = "DEF" if placed(op.debug) == owner else "FRAGMENT"
    block = block_text.definition(str(op.schema), op.debug, kind)
    defined = Registration(DEFINITION, block, placed(op.debug), schema=str(op.schema))
    return _in_order([*_fallbacks(registry), (op.debug, defined), *_kernels(op, kind)])


def pytorch_fallbacks_of(registry: Registry) -> list[Registration]:
    """The fallbacks alone."""
    return _in_order(_fallbacks(registry))


def _in_order(found: Iterable[tuple[str, Registration]]) -> list[Registration]:
    """Sort registrations by their places."""
    return [each for _, each in sorted(found, key=lambda pair: initialization_order(pair[0]))]


def _fallbacks(registry: Registry) -> Iterator[tuple[str, Registration]]:
    for key, kernel in registry.fallbacks.items():
        block = block_text.fallback(key, kernel)
        yield kernel.debug, Registration(FALLBACK, block, placed(kernel.debug), key, kernel)


def _kernels(op: OperatorEntry, kind: str) -> Iterator[tuple[str, Registration]]:
    for key, kernels in op.registrations.items():
        for kernel in reversed(kernels):  # the newest one is first
            block = block_text.kernel(op.name, key, kernel, kind if kernel.debug == op.debug else "IMPL")
            yield kernel.debug, Registration(KERNEL, block, placed(kernel.debug), key, kernel)
