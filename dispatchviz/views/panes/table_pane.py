"""The whole dispatch table of the operator around a step, cell by cell, with the one that the call landed in."""

from __future__ import annotations

from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.explain.calls.operator_cells import OperatorCells, operator_cells
from dispatchviz.explain.cells.computed_table import HERE, MISSING, PYTORCH, RAISES, SKIPPED, Row
from dispatchviz.explain.keys.own_numbers import own_cell
from dispatchviz.explain.things.thing import CellThing
from dispatchviz.explain.trace_index.recorded_engine import build_of, is_live
from dispatchviz.views.keymap import key_of
from dispatchviz.views.panes.nothing_said import not_yet
from dispatchviz.views.text.styled_line import Line, Span, line

SIGNS: dict[str, Span] = {
    HERE: ("●", "good"),
    PYTORCH: ("○", ""),
    SKIPPED: ("↷", "dim"),
    RAISES: ("!", "error"),
    MISSING: ("·", "dark"),
}
"""Who runs a cell."""

LEGEND = "● runs here   ○ only in PyTorch   ↷ skipped   ! only raises   · empty"

LIVE_LEGEND = "● ○ a kernel   ↷ skipped   ! only raises   · empty"

OWN = "This is the table of the recorded release, at the end of the recording."

HISTORY = "registration"
"""The action that shows how a table was filled."""

KEY = 30
"""Cells for the longest names of keys."""


def rows(trace: Trace, at: int, width: int) -> list[Line]:
    """A row per runtime key, in the order of the table; or at which step there will be one."""
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
    """Whose table stands here, of an installed PyTorch."""
    return f"▶ is the installed build's entry. The others are those of PyTorch 2.13.0 ({build_of(header)})"


def _registered(key: str, kernel: str, seq: int) -> Line:
    said = f"registered {kernel} to {key}" if kernel else f"removed its registration to {key}"
    return line(
        ("The program has ", "warning"), (said, "warning"), (". The entries below are PyTorch's own", "dim"), goto=seq
    )


def _chosen(chosen: ev.KernelSelected, header: Header) -> Row:
    """The cell that the trace has."""
    cell = own_cell(header, chosen.key, chosen.cell)
    return Row(cell, chosen.key, chosen.kernel, chosen.reason, chosen.source, chosen.registered, HERE)


def _cells(cells: OperatorCells, header: Header) -> list[Line]:
    """Why a cell of PyTorch's own table holds what it holds can be asked; of another operator the trace has it."""
    if not cells.rows:
        return [_cell(_chosen(cells.chosen, header), cells.chosen)]
    rows = ((row, _cell(row, cells.chosen)) for row in cells.rows)
    if cells.kept:
        return [shown for _, shown in rows]
    return [replace(shown, about=CellThing(cells.operator, row.key)) for row, shown in rows]


def _cell(row: Row, chosen: ev.KernelSelected) -> Line:
    """The chosen cell is as the trace has it, whatever PyTorch's own table holds."""
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
