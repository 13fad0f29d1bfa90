"""The dispatch table of an operator in the PyTorch that a trace was recorded on, from the trace's header."""

from __future__ import annotations

import msgspec

from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.record.trace_file import Filling, Header
from dispatchviz.core.table.precedence import AMBIGUOUS
from dispatchviz.explain.cells.computed_table import MISSING, PYTORCH, RAISES, SKIPPED, Row
from dispatchviz.explain.keys.own_numbers import own_keys


def kept_rows(header: Header, operator: str) -> tuple[Row, ...]:
    """The table in a trace of the recorded PyTorch; empty if the trace has no table of the operator."""
    if isinstance(header.tables, msgspec.UnsetType):
        return ()
    tables, many = header.tables, len(header.tables.fillings)
    filled = (tables.fillings[at] if at < many else Filling() for at in tables.operators.get(operator, ()))
    return tuple(_kept(cell, key, one) for cell, (key, one) in enumerate(zip(own_keys(header), filled, strict=False)))


def _kept(cell: int, key: str, held: Filling) -> Row:
    skipped, raises = held.kernel == FALLTHROUGH, held.reason == AMBIGUOUS
    state = SKIPPED if skipped else RAISES if raises else PYTORCH if held.reason or held.kernel else MISSING
    return Row(cell, key, held.kernel, held.reason, held.source, held.registered, state)
