"""The answer to ``why OP KEY``, about one dispatch table entry of one operator, as a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Candidate, Cell, OperatorEntry
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.cell_calls import counted_cells, when_called
from dispatchviz.explain.cells.cell_changes import Change, changes, tried_changes
from dispatchviz.explain.cells.cell_claims import TAGS, because, outcome
from dispatchviz.explain.cells.pytorch_tables import cell_of
from dispatchviz.explain.sentences.statement import Statement


class Claim(NamedTuple):
    """A key or alias that the kernel could have come from."""

    source: str
    """Key or alias; ``fallback of CPU``."""
    outcome: str
    taken: bool
    kernel: str
    """The kernel's name; empty if nothing is registered there."""
    registered: str


class CellAnswer(NamedTuple):
    """The content of ``why OP KEY``."""

    operator: str
    key: str
    cell: int
    kernel: str
    """The kernel's name; empty if the entry is empty."""
    reason: str
    """PyTorch's tag."""
    tag: str
    """The meaning of the tag."""
    source: str
    """The key or alias that the kernel is registered for; empty if the entry is empty."""
    registered: str
    why: str
    claims: tuple[Claim, ...]
    """The candidates, in order of precedence."""
    called: tuple[str, ...]
    """The effect of the entry on a call."""
    changes: tuple[Change, ...]
    table: str
    """The sentence on the number of entries that hold a kernel."""


def cell_answer(op: OperatorEntry, key: DispatchKey, registry: Registry) -> CellAnswer:
    """The answer for a runtime key."""
    cell = cell_of(op, key)
    return CellAnswer(
        operator=op.name,
        key=str(key),
        cell=cell.index,
        kernel=cell.kernel.name if cell.kernel else "",
        reason=cell.reason,
        tag=TAGS[cell.reason],
        source=str(cell.source) if cell.source is not None else "",
        registered=cell.kernel.debug if cell.kernel else "",
        why=because(op, cell).text,
        claims=claims_of(op, cell),
        called=tuple(statement.text for statement in when_called(op, cell)),
        changes=tuple(changes(op, cell, registry)),
        table=counted_cells(op).text,
    )


def cell_statements(op: OperatorEntry, key: DispatchKey, registry: Registry) -> Iterator[Statement]:
    """The answer sentence by sentence, each with its claims about PyTorch."""
    cell = cell_of(op, key)
    yield because(op, cell)
    yield from when_called(op, cell)
    for _, said in tried_changes(op, cell, registry):
        yield from said
    yield counted_cells(op)


def claims_of(op: OperatorEntry, cell: Cell) -> tuple[Claim, ...]:
    """The candidates for an entry, in order of precedence."""
    return tuple(_claim(op, cell, candidate) for candidate in op.candidates(cell.key))


def _claim(op: OperatorEntry, cell: Cell, candidate: Candidate) -> Claim:
    source = f"fallback of {candidate.source}" if candidate.reason == FALLBACK else str(candidate.source)
    kernel = candidate.kernel
    said = outcome(op, cell, candidate)
    name, debug = (kernel.name, kernel.debug) if kernel else ("", "")
    return Claim(source, said, candidate.outcome == "taken", name, debug)
