"""The differences between the registrations of a recorded release and those of PyTorch 2.14, where calls meet them.

A trace of another release keeps the tables and changed schemas of the operators that were called (``KeptTables``).
Only places in PyTorch itself count, because a program and its extensions register kernels too. A kernel that Python
registers counts only if its file registers some in PyTorch 2.14, because other files may be imported later.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from dispatchviz.core.kernel.kernel_names import FALLTHROUGH
from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Header, Trace
from dispatchviz.core.table.precedence import AMBIGUOUS, FALLBACK
from dispatchviz.core.table.pytorch_registrations import pytorch_operators, pytorch_schema, registering_files
from dispatchviz.explain.calls.operator_cells import cells_of
from dispatchviz.explain.cells.computed_table import Row
from dispatchviz.explain.cells.recorded_table import kept_rows
from dispatchviz.explain.sentences.statement import Statement
from dispatchviz.explain.sentences.table_claims import CellHolds
from dispatchviz.explain.trace_index.recorded_engine import build_of, recorded_release
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.live.registration import UNKNOWN_FILE, Registration, is_in_python_file, is_pytorchs_place, place_in
from dispatchviz.live.snapshot_difference import SchemaChange, schema_change

OPTIONAL = "torch/_native/"
"""The folder of kernels that PyTorch registers only if Triton is installed."""


# -- entries ----------------------------------------------------------------------------------------------------------


def entry_difference(header: Header, operator: str, key: str, registered: str) -> Iterator[Statement]:
    """Yield the sentence on a table entry that PyTorch 2.14 fills differently. There is none if a call found another
    kernel than the one that is in the table at the end, where ``registered`` is the place of its registration.
    """
    found = differing_entries(header, operator).get(key) if recorded_release(header) else None
    if found is None or found[0].registered != registered:
        return
    here, there = found
    text = (
        f"In PyTorch {recorded_release(header)}, the {key} entry of {operator} {content(here)}; "
        f"in PyTorch {MINOR} it {content(there)}."
    )
    yield Statement("entry in another release", text, (CellHolds(operator, key, there.kernel, there.reason),))


@lru_cache(maxsize=256)
def _differing(header: _Identified, operator: str) -> dict[str, tuple[Row, Row]]:
    ours = {row.key: row for row in cells_of(operator, build_of(header.header))}
    rows = ((row, ours.get(row.key)) for row in kept_rows(header.header, operator))
    return {row.key: (row, other) for row, other in rows if other is not None and _differ(row, other)}


class _Identified:
    """A header as a key of a cache."""

    def __init__(self, header: Header) -> None:
        self.header = header

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identified) and self.header is other.header

    def __hash__(self) -> int:
        return id(self.header)


def differing_entries(header: Header, operator: str) -> dict[str, tuple[Row, Row]]:
    """Return the entries of an operator that the two releases fill differently, by key: here, and in PyTorch 2.14."""
    return _differing(_Identified(header), operator)


def has_moved(here: Row, there: Row) -> bool:
    """Return whether the kernel is only registered in another file of the same language."""
    language = (is_in_python_file(place_in(row.registered)) for row in (here, there))
    return _same_rule(here, there) and len({*language}) == 1


def _same_rule(here: Row, there: Row) -> bool:
    return bool(here.kernel) and (here.reason, here.source) == (there.reason, there.source)


def _differ(here: Row, there: Row) -> bool:
    return _is_pytorchs(here) and differ(here, there)


def differ(here: Row, there: Row) -> bool:
    """Return whether two releases fill an entry differently. A kernel in another file counts as different, unless one
    of the two does not report its file.
    """
    if not (here.kernel or there.kernel):
        return False
    same = _same_rule(here, there) and (here.kernel == FALLTHROUGH) == (there.kernel == FALLTHROUGH)
    files = file_of(here), file_of(there)
    return not (same and (files[0] == files[1] or UNKNOWN_FILE in files))


def _is_pytorchs(row: Row) -> bool:
    """Return whether PyTorch itself registers the kernel of an entry whenever it is imported. An empty entry counts."""
    if not row.kernel:
        return True
    place = place_in(row.registered)
    is_known = file_of(row) in registering_files() if is_in_python_file(place) else is_pytorchs_place(place)
    return is_known and not place.startswith(OPTIONAL)


def file_of(row: Row) -> str:
    """Return the file in which the kernel of an entry is registered. The parts of a generated file count as one."""
    return Registration(row.key, "boxed", place_in(row.registered)).file


def content(row: Row) -> str:
    """Return the content of an entry, as the end of a sentence: ``holds the kernel for Meta from
    build/aten/src/ATen/RegisterMeta.cpp``.
    """
    if not row.kernel:
        return "is empty"
    if row.reason == AMBIGUOUS:
        return "raises an error, because two kernels could fill it"
    is_skipped = row.kernel == FALLTHROUGH
    if row.reason == FALLBACK:
        return f"holds the key's fallback, {'a fallthrough' if is_skipped else 'a kernel'}, from {file_of(row)}"
    return f"holds {'a fallthrough' if is_skipped else 'the kernel'} for {row.source} from {file_of(row)}"


# -- operators and schemas --------------------------------------------------------------------------------------------


def operator_difference(header: Header, operator: str) -> Iterator[Statement]:
    """Yield the sentence on an operator that PyTorch 2.14 does not have, or that has another schema there."""
    if isinstance(header.tables, msgspec.UnsetType) or operator not in header.tables.schemas:
        return
    release = recorded_release(header)
    if operator not in pytorch_operators():
        yield Statement("operator in another release", f"PyTorch {MINOR} does not have {operator}.")
    elif (found := schema_change(pytorch_schema(operator), header.tables.schemas[operator])) is not None:
        yield Statement("schema in another release", f"In PyTorch {release}, {_schemas(operator, found)}")


def _schemas(operator: str, found: SchemaChange) -> str:
    if not found.before and not found.after:
        return f"the arguments of {operator} are in another order than in PyTorch {MINOR}."
    if not found.before:
        return f"the schema of {operator} also has {listed(found.after)}; PyTorch {MINOR} does not have that."
    if not found.after:
        return f"the schema of {operator} does not have {listed(found.before)}; in PyTorch {MINOR} it has that."
    return f"the schema of {operator} has {listed(found.after)}; in PyTorch {MINOR} it has {listed(found.before)}."


# -- a whole trace ----------------------------------------------------------------------------------------------------


def release_differences(trace: Trace) -> Iterator[str]:
    """Yield a sentence for each operator, schema and entry that calls of the trace met and that is different in
    PyTorch 2.14. A kernel that is only registered in another file does not count.
    """
    header = trace.header
    if isinstance(header.tables, msgspec.UnsetType):
        return
    for operator in header.tables.operators:
        yield from (said.text for said in operator_difference(header, operator))
    differing = {
        (operator, key)
        for operator in header.tables.operators
        for key, pair in differing_entries(header, operator).items()
        if not has_moved(*pair)
    }
    for met in dict.fromkeys(_selected(trace) if differing else ()):
        if met[:2] in differing:
            yield from (said.text for said in entry_difference(header, *met))


def _selected(trace: Trace) -> Iterator[tuple[str, str, str]]:
    """Yield the operator, the key and the place of registration of the entries that calls selected."""
    for step in trace.steps_of(ev.KernelSelected):
        event = trace[step]
        if isinstance(event, ev.KernelSelected):
            yield event.operator, event.key, event.registered
