"""The texts of events about an entry of a dispatch table, and about the keys that fell through before it.

Both are valid until the operator's registrations change; ``forget`` is called before that.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from msgspec import Struct

from dispatchviz.core.keys.key_set import highest, members
from dispatchviz.core.record.events import CellReason
from dispatchviz.core.record.function_source import source_of
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.core.kernel.kernel_function import Kernel
    from dispatchviz.core.record.note_types import ArgumentSets
    from dispatchviz.core.table.operator_entry import Cell, OperatorEntry

Skipped = tuple[tuple[str, CellReason, str], ...]
"""The key, reason and registration of each fallthrough that was skipped."""


class CallText(Struct, frozen=True):
    """The texts that depend only on the entry and on the sets that lead to it."""

    key: str
    """The highest key of the effective set."""
    mask: int
    skipped: Skipped | None
    """The fallthroughs that were skipped; None if there were none."""


class CallTexts(dict[tuple[int, int], CallText]):
    """The texts of an operator's calls, by effective set and set before the mask."""

    def __init__(self, op: OperatorEntry, skipped: dict[tuple[str, int], Skipped]) -> None:
        super().__init__()
        self._operator, self._skipped = op, skipped

    def __missing__(self, sets: tuple[int, int]) -> CallText:
        ks, base = sets
        skipped = self._skip(base, base & ~ks) if base & ~ks else None
        text = self[sets] = CallText(key_name(ks), self._operator.mask_for(ks), skipped)
        return text

    def _skip(self, base: int, removed: int) -> Skipped:
        """Return the fallthroughs of the keys in the set ``base`` that the operator's mask removed."""
        op = self._operator
        known = self._skipped.get((op.name, base))
        if known is None:
            backends = base & 0xFFFF
            keys = [key for key in members(removed | backends) if removed & ~0xFFFF]
            cells = [(key, op.table[op.cell_of(key)]) for key in reversed(keys)]
            known = tuple((key.name, cell.reason, cell.kernel.debug) for key, cell in cells if cell.kernel is not None)
            self._skipped[op.name, base] = known
        return known


class CellText(Struct):
    """The texts that depend only on the entry: the fields of a KernelSelected and a KernelEntered, by their names.

    They are single fields and not tuples, since unpacking those would take longer than the event.
    """

    calls: CallTexts
    operator: str
    parameters: tuple[str, ...]
    """Names of the arguments whose keys count."""
    key: str
    index: int
    kernel: str
    reason: CellReason
    source: str
    registered: str
    candidates: tuple[tuple[str, str, str], ...]
    entered: str
    pytorch_file: str
    file: str
    line: int
    end_line: int
    last_sets: ArgumentSets = ()
    """The arguments' key sets of its last call, so that loops keep one object."""


class CellTexts(dict["Cell", CellText]):
    """The texts of all entries used so far."""

    def __init__(self) -> None:
        super().__init__()
        self._skipped: dict[tuple[str, int], Skipped] = {}

    def __missing__(self, cell: Cell) -> CellText:
        text = self[cell] = _text(cell, CallTexts(cell.operator, self._skipped))
        return text

    def forget(self) -> None:
        """Drop the cached texts, which are no longer valid."""
        self.clear()
        self._skipped.clear()


_of_process = 0, CellTexts()


def texts_of_process() -> CellTexts:
    """Return the texts that earlier recordings of this process have made, unless registrations have changed since."""
    global _of_process
    if _of_process[0] != recorder.registrations:
        _of_process = recorder.registrations, CellTexts()
    return _of_process[1]


def _text(cell: Cell, calls: CallTexts) -> CellText:
    kernel, op = cell.kernel, cell.operator
    entered = (_name(kernel), kernel.file, *source_of(kernel.function)) if kernel else ("missing", "", "", 0, 0)
    return CellText(
        calls,
        op.name,
        tuple([name for name, _ in op.tensor_parameters]) if op.has_schema else (),
        cell.key.name,
        cell.index,
        _name(kernel) if kernel else "",
        cell.reason,
        cell.source.name if cell.source is not None else "",
        kernel.debug if kernel else "",
        tuple((c.source.name, c.outcome, _name(c.kernel) if c.kernel else "") for c in op.candidates(cell.key)),
        *entered,
    )


def _name(kernel: Kernel) -> str:
    """The name of a kernel, or its place if an installed PyTorch has no name. An empty name would mean an empty
    entry.
    """
    return kernel.name or kernel.debug.removeprefix("registered at ")


@functools.cache
def key_name(ks: int) -> str:
    """The name of the highest key of a set."""
    return highest(ks).name
