"""The whole dispatch table of the operator of a call: PyTorch's entries, with the trace's facts about them."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.table.pytorch_registrations import pytorch_operators
from dispatchviz.explain.cells.computed_table import Row, table_card
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.cells.recorded_table import kept_rows
from dispatchviz.explain.trace_index.enclosing_steps import at_or_around, within
from dispatchviz.explain.trace_index.recorded_engine import build_of

REGISTRATIONS_LOOKED_AT = 2_000
"""The number of a program's registrations that are searched for changes of an operator's table."""


class OperatorCells(Struct, frozen=True):
    """A table as of a call."""

    operator: str
    chosen: ev.KernelSelected
    rows: tuple[Row, ...]
    """The rows in table order; empty for an operator that PyTorch does not have."""
    registered: tuple[tuple[str, str, int], ...]
    """The program's registrations for the operator up to that step: key, kernel (empty if one was removed), step. Their
    entries are no longer PyTorch's.
    """
    kept: bool = False
    """True if the rows come from the trace, which recorded another PyTorch."""


def operator_cells(trace: Trace, at: int) -> OperatorCells | None:
    """The table of the dispatch that a step is or is within; None outside any dispatch."""
    call = at_or_around(trace, at, ev.Dispatched)
    return None if call is None else _cells_of_call(trace, call.seq)


@lru_cache(maxsize=4)
def _cells_of_call(trace: Trace, seq: int) -> OperatorCells | None:
    """The table at any step in a dispatch."""
    chosen = within(trace, seq, ev.KernelSelected)
    if chosen is None:
        return None
    kept = kept_rows(trace.header, chosen.operator)
    rows = kept or cells_of(chosen.operator, build_of(trace.header))
    return OperatorCells(chosen.operator, chosen, rows, _registered(trace, chosen), bool(kept))


@lru_cache(maxsize=64)
def cells_of(operator: str, build: str) -> tuple[Row, ...]:
    """All entries of one of PyTorch's operators, without a program's registrations."""
    found = pytorch(build).get(operator)
    return () if found is None or found.name not in pytorch_operators() else table_card(found, build).rows


def _registered(trace: Trace, chosen: ev.KernelSelected) -> tuple[tuple[str, str, int], ...]:
    steps = trace.steps_of(ev.KernelRegistered)
    until = bisect_right(steps, chosen.seq)
    events = (trace[step] for step in steps[max(until - REGISTRATIONS_LOOKED_AT, 0) : until])
    return tuple(
        (event.key, "" if event.removed else event.kernel, event.seq)
        for event in events
        if isinstance(event, ev.KernelRegistered) and event.operator == chosen.operator
    )
