"""The key-set card as lanes: one set after the other, from the arguments' sets to the key that wins.

``lanes`` is the whole card. ``card_at`` is the card at one of its sub-steps: the lanes to light, and the set so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from dispatchviz.explain.calls.key_set_card import KeySetCard, Row
from dispatchviz.explain.keys.key_text import BACKENDS, backends, functionalities, key_names, runtime_name

ARGUMENTS, UNITED, INCLUDED, EXCLUDED, MASK, WINNER = STAGES = (0, 1, 2, 3, 4, 5)
"""The sub-steps, in the order in which a call makes them. If all arguments have one set, it is the united set. A
redispatch begins with the received set, and nothing is included or excluded.
"""

COMPUTED = 6
"""The last rows of the card of a call: all but its arguments."""

FEW = 3
"""The largest number of arguments with equal sets that are named."""


class Lane(Struct, frozen=True):
    """A set in the computation, or the keys that a set removes."""

    stage: int
    """The sub-step at which it is lit."""
    title: str
    """``x, y``; ``12 tensors``; ``included``."""
    sign: str
    """The operation: ``+`` joined, ``−`` removed, ``=`` the rest; empty for the arguments."""
    keys: tuple[str, ...]
    """The keys, highest first, by their full names."""
    note: str
    """The text beside the keys."""
    names: tuple[str, ...] = ()
    """The arguments that share it, if they are too many for the title."""
    tensors: tuple[int, ...] = ()
    """The arguments that have this set."""


class CardAt(Struct, frozen=True):
    """The card at a sub-step."""

    stage: int
    lanes: tuple[Lane, ...]
    """All lanes of the card; those of this stage are lit."""
    keys: tuple[str, ...]
    """The set so far."""
    winner: str
    """The winner; empty until the last sub-step."""


@lru_cache(maxsize=4)
def lanes(card: KeySetCard) -> tuple[Lane, ...]:
    """The lanes from top to bottom."""
    rows = {row.title: row for row in card.rows}
    return tuple(_computed(card, rows) if "united" in rows else _given(card))


def stages(card: KeySetCard) -> tuple[int, ...]:
    """The sub-steps that a card has."""
    return tuple(sorted({lane.stage for lane in lanes(card)}))


def card_at(card: KeySetCard, stage: int) -> CardAt:
    """The card at one of ``stages``."""
    return CardAt(stage, lanes(card), names_of(so_far(card, stage)), card.winner if stage == WINNER else "")


@lru_cache(maxsize=1024)
def names_of(raw: int) -> tuple[str, ...]:
    """The keys of a set, highest first; a set without a backend bit has functionalities instead of runtime keys."""
    if raw & BACKENDS:
        return tuple(key_names(raw)) or tuple(f"{each.name.removesuffix('Bit')} bit" for each in backends(raw))
    return tuple(runtime_name(key, raw) for key in functionalities(raw))


def so_far(card: KeySetCard, stage: int) -> int:
    """The set after a sub-step; empty during the arguments."""
    rows = {row.title: row.raw for row in card.rows}
    if "united" not in rows:
        return card.rows[0].raw if stage == UNITED else card.rows[-2].raw
    found = rows["united"] if stage >= UNITED else 0
    if stage >= INCLUDED:
        found |= rows["included"]
    if stage >= EXCLUDED:
        found &= BACKENDS | ~rows["excluded"]
    return found & rows["mask"] if stage >= MASK else found


def _computed(card: KeySetCard, rows: dict[str, Row]) -> Iterator[Lane]:
    """Yield the lanes of a call."""
    groups = _equal(card.rows[:-COMPUTED])
    stage = UNITED if len(groups) == 1 else ARGUMENTS
    yield from (_arguments(stage, raw, rows) for raw, rows in groups.items())
    if len(groups) != 1:
        said = "" if groups else "no tensor among the arguments"
        yield Lane(UNITED, "united", "=", names_of(rows["united"].raw), said)
    yield Lane(INCLUDED, "included", "+", names_of(rows["included"].raw), "" if rows["included"].raw else "nothing")
    for stage, title, said in ((EXCLUDED, "excluded", "by the thread"), (MASK, "mask", "{} through here")):
        yield _taken(stage, title, so_far(card, stage - 1), so_far(card, stage), said)
    yield _left(card, rows["effective"].raw)


def _given(card: KeySetCard) -> Iterator[Lane]:
    """Yield the lanes of a redispatch."""
    *before, passed = card.rows[:-1]
    for row in before:
        if row.title.startswith("& "):
            yield _taken(MASK, "mask", before[0].raw, passed.raw, f"by {row.title.removeprefix('& ')}")
        else:
            yield Lane(UNITED, "received", "", names_of(row.raw), row.title.removeprefix("received "))
    yield _left(card, passed.raw)


def _equal(arguments: Iterable[Row]) -> dict[int, list[Row]]:
    """Group the arguments by their sets."""
    groups: dict[int, list[Row]] = {}
    for row in arguments:
        groups.setdefault(row.raw, []).append(row)
    return groups


def _arguments(stage: int, raw: int, rows: list[Row]) -> Lane:
    distinct = tuple(dict.fromkeys(row.title.rpartition(" = ")[2] for row in rows))
    tensors = tuple(dict.fromkeys(row.tensor for row in rows if row.tensor is not None))
    if len(distinct) <= FEW:
        return Lane(stage, ", ".join(distinct), "", names_of(raw), "", tensors=tensors)
    return Lane(stage, f"{len(rows)} tensors", "", names_of(raw), "", distinct, tensors)


def _taken(stage: int, title: str, before: int, after: int, said: str) -> Lane:
    left = names_of(after)
    names = tuple(name for name in names_of(before) if name not in left)
    falls = said.format("falls" if len(names) == 1 else "fall")
    return Lane(stage, title, "−", names, falls if names else "takes nothing away")


def _left(card: KeySetCard, raw: int) -> Lane:
    return Lane(WINNER, "left", "=", names_of(raw), f"→ {card.winner}")
