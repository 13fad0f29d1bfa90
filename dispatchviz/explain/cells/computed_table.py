"""An operator's dispatch table as a value: every entry with its kernel, the rule that filled it, and its state.

Not here: the tables in a trace of another release (``recorded_table.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import AMBIGUOUS, FALLBACK
from dispatchviz.core.table.pytorch_registrations import implemented, implemented_fallbacks
from dispatchviz.explain.keys.key_text import grouped_keys_text
from dispatchviz.foundation.pytorch_release import RELEASE

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
    release: str
    """``2.14.1``"""
    build: str
    mask: int
    """The operator's single fallthrough mask."""
    rows: tuple[Row, ...]
    """All 137 entries (another release has fewer or more), or the requested ones."""
    valid: int
    """The number of all entries that hold a kernel."""
    entries: int
    """The number of all entries."""


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
        release=RELEASE,
        build=build,
        mask=op.mask,
        rows=tuple(_row(cell, own, fallbacks) for cell in chosen),
        valid=sum(cell.kernel is not None for cell in op.table),
        entries=len(op.table),
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


class Grouping(Protocol):
    """The keys of a release, which entries are folded by."""

    def functionality(self, key: str) -> str | None:
        """Return the functionality of a runtime key; None for a key that this release does not have."""

    def text(self, keys: Sequence[str]) -> str:
        """Return the names of keys, grouped by functionality."""


class ModelKeys:
    """The keys of the model."""

    def functionality(self, key: str) -> str | None:
        """Return the functionality of a runtime key; None for a key of another release."""
        return DispatchKey[key].functionality.name if key in DispatchKey.__members__ else None

    def text(self, keys: Sequence[str]) -> str:
        """Return the names of keys, grouped by functionality."""
        return grouped_keys_text([DispatchKey[key] for key in keys])


MODEL_KEYS = ModelKeys()


def folded(rows: Iterable[Row], grouping: Grouping = MODEL_KEYS) -> Iterator[Fold]:
    """Group rows by functionality, kernel and reason, in the order of their first entries, without empty ones."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        functionality = grouping.functionality(row.key)
        if row.state != MISSING and functionality is not None:
            groups.setdefault((functionality, row.kernel, row.reason), []).append(row)
    for group in groups.values():
        cells = str(group[0].cell) if len(group) == 1 else f"{group[0].cell}-{group[-1].cell}"
        yield Fold(cells, grouping.text([row.key for row in group]), group[0])
