"""The dispatch table of the operator that a step of a trace calls, as a picture."""

from __future__ import annotations

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.operator_cells import OperatorCells, operator_cells
from dispatchviz.explain.cells.pytorch_tables import pytorch
from dispatchviz.explain.cells.registration.registration_history import RegistrationHistory, registration_history
from dispatchviz.explain.trace_index.recorded_engine import build_of
from dispatchviz.outputs.picture.drawn_picture import DrawnPicture
from dispatchviz.outputs.picture.svg import RenderError
from dispatchviz.outputs.picture.table_picture import table_picture


def called_table(trace: Trace, step: int) -> DrawnPicture:
    """Return the picture of the table of the operator that is called at a step. Raise RenderError if it has none."""
    found = operator_cells(trace, step)
    if found is None:
        raise RenderError(f"nothing to draw: step {step} is in no call of an operator")
    if not found.rows:
        raise RenderError(f"nothing to draw: {found.operator} is not PyTorch's own operator, so its table is unknown")
    order = {} if found.kept else registration_order(found.operator, build_of(trace.header))
    rows = [row for row in found.rows if row.key in DispatchKey.__members__]
    cell = next(row for row in rows if row.key == found.chosen.key)
    same = cell.kernel == found.chosen.kernel  # otherwise the program has replaced it
    chosen = cell.cell if same else None
    return table_picture(found.operator, rows, order, chosen=chosen, registered=_registered(found))


def _registered(found: OperatorCells) -> list[str]:
    """Return the registrations that the program had made for the operator by then."""
    return [f"{key}: {kernel or 'removed'} (step {step})" for key, kernel, step in found.registered]


def registration_order(operator: str, build: str) -> dict[tuple[str, str], int]:
    """Return the number of each registration by kernel and key or alias."""
    registry = pytorch(build)
    entry = registry.get(operator)
    return numbered(registration_history(entry, registry, build)) if entry else {}


def numbered(history: RegistrationHistory) -> dict[tuple[str, str], int]:
    """Return the same for a history."""
    steps = history.steps
    return {(step.kernel, step.key): step.number for step in reversed(steps) if step.kernel}
