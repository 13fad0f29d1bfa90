"""An operator's dispatch table as a value: every entry with its kernel, the rule that filled it, and its state.

Not here: the tables in a trace of another release (``recorded_table.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import AMBIGUOUS, FALLBACK
from dispatchviz.core.table.pytorch_registrations import implemented, implemented_fallbacks
from dispatchviz.explain.keys.key_text import grouped_keys_text

HERE, PYTORCH, SKIPPED, RAISES, MISSING = "here", "pytorch", "skipped", "raises", "missing"
"""The state of an entry: dispatchviz has the kernel; only PyTorch has it; calls skip it (fallthrough); it only raises
an error; there is no kernel.
"""


class Row(NamedTuple):
    """An entry."""

    cell: int
    key: str
    kernel: str
    """The kernel's name; empty if the entry is empty."""
    reason: str
    """PyTorch's tag."""
    source: str
    """The key or alias that the kernel is registered for."""
    registered: str
    state: str
    """``here``, ``pytorch``, ``skipped``, ``raises`` or ``missing``."""


class TableCard(NamedTuple):
    """The view of a dispatch table."""

    operator: str
    schema: str
    defined: str
    """The place of the definition."""
    build: str
    mask: int
    """The operator's single fallthrough mask."""
    rows: tuple[Row, ...]
    """All 137 entries, or the requested ones."""
    valid: int
    """The number of all entries that hold a kernel."""


class Fold(NamedTuple):
    """The entries of one functionality that hold the same kernel for the same reason."""

    cells: str
    """``2`` or ``4-15``."""
    keys: str
    row: Row
    """The first entry."""


def table_card(op: OperatorEntry, build: str, keys: Iterable[DispatchKey] = ()) -> TableCard:
    """The table of an operator; with keys, only their entries, in the given order."""
    own, fallbacks = implemented(op.name), implemented_fallbacks()
    chosen = [op.table[op.cell_of(key)] for key in keys] or op.table
    return TableCard(
        operator=op.name,
        schema=str(op.schema),
        defined=op.debug,
        build=build,
        mask=op.mask,
        rows=tuple(_row(cell, own, fallbacks) for cell in chosen),
        valid=sum(cell.kernel is not None for cell in op.table),
    )


def _row(cell: Cell, own: frozenset[DispatchKey], fallbacks: frozenset[DispatchKey]) -> Row:
    kernel = cell.kernel
    source = "" if cell.source is None else str(cell.source)
    name, debug = (kernel.name, kernel.debug) if kernel else ("", "")
    return Row(cell.index, str(cell.key), name, cell.reason, source, debug, _state(cell, own, fallbacks))


def _state(cell: Cell, own: frozenset[DispatchKey], fallbacks: frozenset[DispatchKey]) -> str:
    if cell.kernel is None:
        return MISSING
    if cell.falls_through:
        return SKIPPED
    if cell.reason == AMBIGUOUS:
        return RAISES
    runs = cell.key in fallbacks if cell.reason == FALLBACK else cell.source in own
    return HERE if runs else PYTORCH


def folded(rows: Iterable[Row]) -> Iterator[Fold]:
    """Group rows by functionality, kernel and reason, in the order of their first entries, without empty ones."""
    groups: dict[tuple[DispatchKey, str, str], list[Row]] = {}
    for row in rows:
        if row.state != MISSING and row.key in DispatchKey.__members__:
            groups.setdefault((DispatchKey[row.key].functionality, row.kernel, row.reason), []).append(row)
    for group in groups.values():
        keys = [DispatchKey[row.key] for row in group]
        cells = str(group[0].cell) if len(group) == 1 else f"{group[0].cell}-{group[-1].cell}"
        yield Fold(cells, grouped_keys_text(keys), group[0])
