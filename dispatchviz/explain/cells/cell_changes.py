"""What would change a cell: registrations tried on a copy of the operator, and what became of its table.

No table of consequences is kept here. Each registration that a reader may think of is really made, on a copy, and the
cells that changed, the path of an ordinary call, and the cells that PyTorch does not recompute are read off the copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells import change_sentences, tried_registrations
from dispatchviz.explain.cells.tried_registrations import Tried, kernel_of
from dispatchviz.explain.sentences.statement import Statement


@dataclass(frozen=True, slots=True)
class Effect:
    """A cell that a registration changed, as it is afterwards."""

    key: str
    kernel: str
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """A registration that was tried."""

    what: str
    """``m.impl("linear", your kernel)``; ``without VariableType::linear``."""
    under: str
    """The key or alias."""
    effects: tuple[Effect, ...]
    """Every cell that it changed, in cell order."""
    sentences: tuple[str, ...]


def changes(op: OperatorEntry, cell: Cell, registry: Registry) -> list[Change]:
    """What may be registered, or deregistered, and what each does to the cell and to others."""
    return [
        Change(
            each.what,
            str(each.under),
            tuple(Effect(str(new.key), kernel_of(new), new.reason) for new in each.effects.values()),
            tuple(statement.text for statement in said),
        )
        for each, said in tried_changes(op, cell, registry)
    ]


def tried_changes(op: OperatorEntry, cell: Cell, registry: Registry) -> Iterator[tuple[Tried, tuple[Statement, ...]]]:
    """Each registration that was tried, with its sentences."""
    for each in tried_registrations.kernels(op, cell, registry):
        yield each, change_sentences.of_kernel(each, cell)
    for each in tried_registrations.without(op, cell, registry):
        yield each, change_sentences.of_removal(each, cell)
    for each in tried_registrations.skipping(op, cell, registry):
        yield each, change_sentences.of_fallthrough(each)
