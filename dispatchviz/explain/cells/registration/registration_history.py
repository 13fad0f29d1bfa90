"""The whole history of an operator's table as a value, and the table after each step, in full or grouped by content."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from dispatchviz.core.keys.keys import RUNTIME_KEYS, DispatchKey
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.core.table.registry import Registry
from dispatchviz.explain.cells.registration.registration_steps import EMPTY, ChangedCells, Held, RegistrationStep, play
from dispatchviz.explain.cells.registration.registrations import pytorch_registrations_of
from dispatchviz.explain.keys.key_text import grouped_keys_text

ORDER = (
    "A block is a static initializer, which runs when its library is loaded. The blocks of a file run from top to "
    "bottom. PyTorch promises no order between files: the definition, kernels and fallbacks may come in any order, and "
    "the final table is the same. The order here is therefore an assumption: the order in which the release for Linux "
    "was linked (.init_array of libtorch_cpu.so, then libtorch_cuda.so), followed by import torch in Python."
)
"""The source of the order of the steps."""


class RegistrationHistory(Struct, frozen=True):
    """The history of one operator."""

    operator: str
    schema: str
    """The schema; empty if the operator was never defined."""
    build: str
    order: str
    steps: tuple[RegistrationStep, ...]


def registration_history(
    op: OperatorEntry, registry: Registry, build: str, keys: Collection[DispatchKey] = ()
) -> RegistrationHistory:
    """The registrations that PyTorch makes when it is loaded; with keys, only the steps that change their entries."""
    registrations = pytorch_registrations_of(op, registry)
    steps = play(op.name, registrations, keys or RUNTIME_KEYS)
    chosen = (step for step in steps if step.changes or not keys)
    return RegistrationHistory(op.name, str(op.schema), build, ORDER, tuple(chosen))


def table_after(steps: Iterable[RegistrationStep]) -> dict[str, Held]:
    """The content of the entries after the first steps of a history: runtime key, in table order, to kernel and
    reason.
    """
    table = {str(key): EMPTY for key in RUNTIME_KEYS}
    for step in steps:
        for changed in step.changes:
            table.update(dict.fromkeys(changed.keys, changed.after))
    return table


class LitTable(Struct, frozen=True):
    """All entries after a step."""

    changed: tuple[ChangedCells, ...]
    """The kernels in the entries that this step changed."""
    kept: tuple[tuple[str, Held], ...]
    """The unchanged entries with kernels of this operator, by key."""
    fallbacks: str
    """The keys whose entries still hold a fallback."""
    empty: str
    """The keys whose entries are still empty."""


def lit_table(history: RegistrationHistory, number: int) -> LitTable:
    """The table after the first ``number`` steps."""
    step, table = history.steps[number - 1], table_after(history.steps[:number])
    changed = {key for each in step.changes for key in each.keys}
    groups: dict[Held, list[DispatchKey]] = {}
    for name, held in table.items():
        if name not in changed:
            groups.setdefault(Held("", FALLBACK) if held.reason == FALLBACK else held, []).append(DispatchKey[name])
    fallbacks, empty = (grouped_keys_text(groups.pop(held, ())) for held in (Held("", FALLBACK), EMPTY))
    kept = tuple((grouped_keys_text(keys), held) for held, keys in groups.items())
    return LitTable(step.changes, kept, fallbacks, empty)
