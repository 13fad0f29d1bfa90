"""A table in the middle of its history: what the last step changed, and all else put together by what it holds."""

from __future__ import annotations

from dataclasses import dataclass

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.explain.cells.key_groups import grouped_keys_text
from dispatchviz.explain.cells.registration.registration_history import RegistrationHistory, table_after
from dispatchviz.explain.cells.registration.registration_steps import EMPTY, ChangedCells, Held


@dataclass(frozen=True, slots=True)
class LitTable:
    """All cells after a step."""

    changed: tuple[ChangedCells, ...]
    """What they hold since this step."""
    kept: tuple[tuple[str, Held], ...]
    """Keys and what their cells hold, as before: what is registered for the operator."""
    fallbacks: str
    """Keys whose fallback is in their cell, as before."""
    empty: str
    """Keys whose cells are empty, as before."""


def lit_table(history: RegistrationHistory, number: int) -> LitTable:
    """The table after so many steps."""
    step, table = history.steps[number - 1], table_after(history.steps[:number])
    changed = {key for each in step.changes for key in each.keys}
    groups: dict[Held, list[DispatchKey]] = {}
    for name, held in table.items():
        if name not in changed:
            groups.setdefault(Held("", FALLBACK) if held.reason == FALLBACK else held, []).append(DispatchKey[name])
    fallbacks, empty = (grouped_keys_text(groups.pop(held, ())) for held in (Held("", FALLBACK), EMPTY))
    kept = tuple((grouped_keys_text(keys), held) for held, keys in groups.items())
    return LitTable(step.changes, kept, fallbacks, empty)
