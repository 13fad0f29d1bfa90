"""The text of events about a cell of a dispatch table, and about the keys that fell through before it.

Both hold while the operator's registrations are as they were; ``forget`` comes before they change.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from dispatchviz.core.keys.key_set import highest, members
from dispatchviz.core.record.events import CellReason
from dispatchviz.core.record.function_source import source_of

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import Cell, OperatorEntry

Skipped = tuple[tuple[str, CellReason, str], ...]
"""Of each key whose fallthrough was skipped: key, reason, registration."""


class CellText(NamedTuple):
    """The fields of a KernelSelected and a KernelEntered that are the same whenever a cell is picked."""

    selected: tuple[str, str, int, str, CellReason, str, str, tuple[tuple[str, str, str], ...]]
    kernel: str
    file: str
    source: tuple[str, int, int]


class CellTexts:
    """The texts of all cells used so far."""

    def __init__(self) -> None:
        self._cells: dict[int, tuple[Cell, CellText]] = {}
        """By the ``id`` of the cell, which is kept alive here."""
        self._skipped: dict[tuple[str, int], Skipped] = {}

    def of(self, cell: Cell) -> CellText:
        """The text of a cell."""
        known = self._cells.get(id(cell))
        if known is None:
            known = self._cells[id(cell)] = (cell, _text(cell))
        return known[1]

    def skipped(self, op: OperatorEntry, base: int, removed: int) -> Skipped:
        """The fallthroughs of the keys that were in the set ``base`` and were ``removed`` by the operator's mask."""
        known = self._skipped.get((op.name, base))
        if known is None:
            backends = base & 0xFFFF
            keys = [key for key in members(removed | backends) if removed & ~0xFFFF]
            cells = [(key, op.table[op.cell_of(key)]) for key in reversed(keys)]
            known = tuple((key.name, cell.reason, cell.kernel.debug) for key, cell in cells if cell.kernel is not None)
            self._skipped[op.name, base] = known
        return known

    def forget(self) -> None:
        """The cached texts are no longer valid."""
        self._cells.clear()
        self._skipped.clear()


def _text(cell: Cell) -> CellText:
    kernel, op = cell.kernel, cell.operator
    selected = (
        op.name,
        cell.key.name,
        cell.index,
        kernel.name if kernel else "",
        cell.reason,
        cell.source.name if cell.source is not None else "",
        kernel.debug if kernel else "",
        tuple((c.source.name, c.outcome, c.kernel.name if c.kernel else "") for c in op.candidates(cell.key)),
    )
    if kernel is None:
        return CellText(selected, "missing", "", ("", 0, 0))
    return CellText(selected, kernel.name, kernel.file, source_of(kernel.function))


@functools.cache
def key_name(ks: int) -> str:
    """The highest key of a set."""
    return highest(ks).name
