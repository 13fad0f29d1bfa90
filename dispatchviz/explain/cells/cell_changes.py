"""Changes of an entry: registrations that are tried on a copy of the operator, and the table afterwards.

There is no list of consequences. Each registration that a reader may think of is made on a copy. The changed entries,
the path of an ordinary call, and the entries that PyTorch does not recompute are then read from the copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells import change_sentences, tried_registrations
from dispatchviz.explain.cells.tried_registrations import Tried, kernel_of
from dispatchviz.explain.sentences.statement import Statement


class Effect(NamedTuple):
    """An entry that a registration changed, in its new state."""

    key: str
    kernel: str
    reason: str


class Change(NamedTuple):
    """A registration that was tried."""

    what: str
    """``m.impl("linear", your kernel)``; ``without VariableType::linear``."""
    under: str
    """The key or alias."""
    effects: tuple[Effect, ...]
    """All entries that it changed, in table order."""
    sentences: tuple[str, ...]


def changes(op: OperatorEntry, cell: Cell, registry: Registry) -> list[Change]:
    """The registrations and deregistrations that can change an entry, with their effects on it and on others."""
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
