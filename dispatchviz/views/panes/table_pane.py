"""The whole dispatch table of the operator at a step, entry by entry. The entry that the call selected is marked."""

from __future__ import annotations

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.calls.operator_cells import OperatorCells, operator_cells
from dispatchviz.explain.cells.computed_table import HERE, MISSING, PYTORCH, RAISES, SKIPPED, Row
from dispatchviz.explain.keys.own_numbers import own_cell
from dispatchviz.explain.things.thing import CellThing
from dispatchviz.explain.trace_index.recorded_engine import build_of, is_live
from dispatchviz.foundation.pytorch_release import RELEASE
from dispatchviz.views.keymap import key_of
from dispatchviz.views.panes.empty_titles import not_yet
from dispatchviz.views.text.styled_line import Line, Span, line

SIGNS: dict[str, Span] = {
    HERE: ("●", "good"),
    PYTORCH: ("○", ""),
    SKIPPED: ("↷", "dim"),
    RAISES: ("!", "error"),
    MISSING: ("·", "dark"),
}
"""The sign and role for the state of an entry."""

LEGEND = "● runs here   ○ only in PyTorch   ↷ skipped   ! only raises   · empty"

LIVE_LEGEND = "● ○ a kernel   ↷ skipped   ! only raises   · empty"

OWN = "This is the table of the recorded release, at the end of the recording."

HISTORY = "registration"
"""The action that shows how a table was filled."""

KEY = 30
"""The width of the longest names of keys, in cells."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """The rows of all runtime keys in the order of the table, or the step at which there is a table."""
    cells = operator_cells(trace, at)
    if cells is None:
        return [not_yet(trace, at, ev.KernelSelected, "No table here: this step is outside any dispatch")]
    return [*_head(cells, trace.header), *_cells(cells, trace.header)]


def _head(cells: OperatorCells, header: Header) -> list[Line]:
    title = line((cells.operator, "bold"), (f"  {len(cells.rows)} entries" if cells.rows else "", "dim"))
    if not cells.rows:
        said = "The program registered this operator. The trace has only the table entries that its calls selected."
        return [title, line((f"{said} {key_of(HISTORY).first} steps through its registrations.", "dim"))]
    registered = [_registered(*each) for each in cells.registered]
    legend = [LIVE_LEGEND, OWN if cells.kept else live_table(header)] if is_live(header) else [LEGEND]
    return [title, *(line((text, "dim"), cut=True) for text in legend), *registered]


def live_table(header: Header) -> str:
    """The note on the table's origin for an installed PyTorch."""
    return f"▶ is the installed build's entry. The others are those of PyTorch {RELEASE} ({build_of(header)})"


def _registered(key: str, kernel: str, seq: int) -> Line:
    said = f"registered {kernel} to {key}" if kernel else f"removed its registration to {key}"
    return line(
        ("The program has ", "warning"), (said, "warning"), (". The entries below are PyTorch's own", "dim"), goto=seq
    )


def _chosen(chosen: ev.KernelSelected, header: Header) -> Row:
    """The selected entry, which the trace contains."""
    cell = own_cell(header, chosen.key, chosen.cell)
    return Row(cell, chosen.key, chosen.kernel, chosen.reason, chosen.source, chosen.registered, HERE)


def _cells(cells: OperatorCells, header: Header) -> list[Line]:
    """The rows of the entries. Entries of PyTorch's own table can be asked about; for other operators the trace has
    only those that calls selected.
    """
    if not cells.rows:
        return [_cell(_chosen(cells.chosen, header), cells.chosen)]
    rows = ((row, _cell(row, cells.chosen)) for row in cells.rows)
    if cells.kept:
        return [shown for _, shown in rows]
    return [replace(shown, about=CellThing(cells.operator, row.key)) for row, shown in rows]


def _cell(row: Row, chosen: ev.KernelSelected) -> Line:
    """The row of an entry. The selected entry comes from the trace, even if PyTorch's own table differs."""
    here = row.key == chosen.key
    kernel, reason = (chosen.kernel, chosen.reason) if here else (row.kernel, row.reason)
    sign, role = SIGNS[row.state]
    weight = "winner" if here else "dark" if row.state in (MISSING, SKIPPED) else ""
    return line(
        ("▶ " if here else "  ", "focus"),
        (f"{row.cell:>3} {sign} ", role),
        (f"{row.key:<{KEY}} ", weight or "key"),
        (kernel or "empty", weight),
        (f"  {reason}" if reason else "", "dim"),
        key=f"cell {row.cell}",
        value=kernel,
        here=here,
        shaded=here,
        cut=True,
    )
