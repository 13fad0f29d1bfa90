"""Registrations that are tried on a copy of an operator: a kernel added, a fallthrough added, a kernel removed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from dispatchviz.core.keys.key_set import AUTOGRAD_KEY
from dispatchviz.core.keys.keys import ALIAS_MEMBERS, DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import AMBIGUOUS, FALLBACK
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.cell_path import CallPath
from dispatchviz.explain.cells.pytorch_tables import SKIP, YOURS, copy_of
from dispatchviz.explain.keys.key_text import is_autograd
from dispatchviz.explain.keys.named_key_sets import backend_of
from dispatchviz.explain.sentences.table_claims import CallVisits, CellAfter

K = DispatchKey

IMPL, FALLTHROUGH, WITHOUT = "impl", "fallthrough", "without"
"""The registrations that are tried: a kernel of the reader, a fallthrough, and the removal of the active kernel."""


class Tried:
    """A registration tried on a copy, with the table before and after."""

    def __init__(self, what: str, how: str, under: DispatchKey, before: OperatorEntry, after: OperatorEntry) -> None:
        self.what = what
        self.how = how
        """``impl``, ``fallthrough`` or ``without``."""
        self.under = under
        self.before = before
        self.after = after

    @cached_property
    def effects(self) -> dict[DispatchKey, Cell]:
        """The entries whose kernel or reason changed, or that are now empty."""
        pairs = zip(self.before.table, self.after.table, strict=True)
        return {old.key: new for old, new in pairs if (old.kernel, old.reason) != (new.kernel, new.reason)}

    def holds(self, *cells: Cell) -> tuple[CellAfter, ...]:
        """The claims about the content of entries afterwards."""
        return tuple(
            CellAfter(self.before.name, self.how, str(self.under), str(cell.key), kernel_of(cell), cell.reason)
            for cell in cells
        )

    def visits(self, found: CallPath) -> tuple[CallVisits, ...]:
        """The claim that an ordinary call visits these entries afterwards."""
        keys = tuple(str(cell.key) for cell in found.cells)
        return (CallVisits(self.before.name, str(found.backend), keys, self.how, str(self.under)),)


def kernel_of(cell: Cell) -> str:
    """The name of the kernel of an entry; empty if it has none."""
    return cell.kernel.name if cell.kernel else ""


def kernels(op: OperatorEntry, cell: Cell, registry: Registry) -> Iterator[Tried]:
    """Try a kernel of the reader for each key and alias that reaches the entry."""
    for source in _sources(cell.key):
        tried = Tried(f'm.impl("{_short(op)}", your kernel)', IMPL, source, op, copy_of(op, registry))
        tried.after.register(source, YOURS)
        if source == cell.key or cell.key in tried.effects:
            yield tried


def _sources(key: DispatchKey) -> Iterator[DispatchKey]:
    """Yield the keys and aliases whose kernels may reach an entry: its own, its backend's, and every alias that covers
    it.
    """
    if key != K.Undefined:
        yield key
    backend = backend_of(key)
    if is_autograd(key.name) and backend is not None and AUTOGRAD_KEY[backend.backend] == key:
        yield backend
    yield from (alias for alias, members in ALIAS_MEMBERS.items() if key in members or key == K.Undefined)


def without(op: OperatorEntry, cell: Cell, registry: Registry) -> Iterator[Tried]:
    """Try to remove the kernel that fills the entry."""
    source, kernel = cell.source, cell.kernel
    if source is None or kernel is None or cell.reason in (FALLBACK, AMBIGUOUS) or kernel.fallthrough:
        return
    tried = Tried(f"without {kernel.name}", WITHOUT, source, op, copy_of(op, registry))
    tried.after.deregister(source, kernel)
    yield tried


def skipping(op: OperatorEntry, cell: Cell, registry: Registry) -> Iterator[Tried]:
    """Try a fallthrough for the key: calls skip it, redispatches do not."""
    if cell.key == K.Undefined or (cell.kernel is not None and cell.kernel.fallthrough):
        return
    tried = Tried(f'm.impl("{_short(op)}", fallthrough)', FALLTHROUGH, cell.key, op, copy_of(op, registry))
    tried.after.register(cell.key, SKIP)
    yield tried


def _short(op: OperatorEntry) -> str:
    return op.name.partition("::")[2]


def _kernel(cell: Cell) -> str:
    return cell.kernel.name if cell.kernel else ""
