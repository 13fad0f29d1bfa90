"""The installed release's own dispatch tables, as a trace keeps them.

They cover the operators that were called, and are read when none of our kernels is in a cell any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.record.trace_file import Filling, KeptTables
from dispatchviz.core.table.operator_entry import Cell
from dispatchviz.core.table.pytorch_registrations import pytorch_operators, pytorch_schema
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.registration import filled_cells, is_pytorchs_place, place_in

EMPTY = Filling()


def own_tables(build: InstalledPyTorch, operators: Iterable[str]) -> KeptTables:
    """Return the tables of the operators that still exist."""
    numbers: dict[Filling, int] = {EMPTY: 0}
    kept = {}
    for name in operators:
        if name in build.registry().operators:
            kept[name] = tuple(numbers.setdefault(one, len(numbers)) for one in _cells(build, name))
    return KeptTables(tuple(numbers), kept, dict(_other_schemas(build, kept)))


def _other_schemas(build: InstalledPyTorch, operators: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield PyTorch's own operators that PyTorch 2.14 does not have in this form, with their schemas."""
    for name in operators:
        schema, debug, _ = build.definition(name)
        if is_pytorchs_place(place_in(debug)) and not (name in pytorch_operators() and pytorch_schema(name) == schema):
            yield name, schema


def _cells(build: InstalledPyTorch, name: str) -> Iterator[Filling]:
    """Yield the cells of an operator. Our rules, which say more, give those of keys that PyTorch 2.14 has; the
    release's own dump gives the others.
    """
    entry = build.registry().operators[name]
    ours = {str(cell.key): cell for cell in entry.table}
    dumped = filled_cells(build.torch._C._dispatch_dump_table(name))
    for key in ("Undefined", *build.keys):
        if key in ours:
            yield _filling(ours[key])
        elif key in dumped:
            debug, reason, is_skipped = dumped[key]
            yield Filling(FALLTHROUGH if is_skipped else place_in(debug), reason, key, build.location(debug))
        else:
            yield EMPTY


def _filling(cell: Cell) -> Filling:
    if cell.kernel is None:
        return EMPTY
    source = "" if cell.source is None else str(cell.source)
    return Filling(cell.kernel.name or place_in(cell.kernel.debug), cell.reason, source, cell.kernel.debug)
