"""The entries that a call with one ordinary tensor visits, as far as the table and the key set decide.

An autograd or ADInplaceOrView kernel redispatches to the keys below it. A composite kernel ends the path: it calls
other operators, each with its own path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dispatchviz.core.keys.key_set import (
    after_ADInplaceOrView_keyset,
    after_autograd_keyset,
    default_excluded_set,
    default_included_set,
    subtract,
    table_index,
)
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import MATH
from dispatchviz.explain.keys.key_text import functionalities, is_autograd
from dispatchviz.explain.keys.named_key_sets import tensor_set

K = DispatchKey


class CallPath(NamedTuple):
    """The entries that a call visits, and the key sets on the way."""

    backend: DispatchKey
    """The backend key of its tensors: ``CUDA``, ``SparseCPU``."""
    tensor: int
    """The key set of an ordinary tensor of that backend."""
    effective: int
    """The key set of the call: joined with the thread-local include set, without the exclude set, masked."""
    skipped: tuple[DispatchKey, ...]
    """The functionalities of the call that the operator's mask removes, highest first."""
    cells: tuple[Cell, ...]
    """The entries, in the order of visiting."""


def call_path(op: OperatorEntry, backend: DispatchKey) -> CallPath:
    """The path of a call whose tensor arguments are ordinary tensors of one backend."""
    tensor = tensor_set(backend)
    base = subtract(tensor | default_included_set, default_excluded_set)
    effective = base & op.mask_for(base)
    return CallPath(
        backend, tensor, effective, tuple(functionalities(base & ~effective)), tuple(_visited(op, effective))
    )


def _visited(op: OperatorEntry, ks: int) -> Iterator[Cell]:
    while True:
        cell = op.table[table_index(ks)]
        yield cell
        below = _below(cell)
        if not below:
            return
        ks &= below


def _below(cell: Cell) -> int:
    """The mask with which the kernel of an entry redispatches; 0 if the path ends here."""
    if cell.kernel is None or cell.reason == MATH:
        return 0
    if is_autograd(cell.key.name):
        return after_autograd_keyset
    return after_ADInplaceOrView_keyset if cell.key == K.ADInplaceOrView else 0
