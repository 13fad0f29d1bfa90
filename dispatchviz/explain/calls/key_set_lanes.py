"""The key-set card as lanes: one set after the other, from the arguments' sets to the key that wins.

``lanes`` is the whole card; ``card_at`` is the card at one of its sub-steps, whose lanes are to be lit, and the set as
far as it has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from dispatchviz.explain.calls.key_set_card import KeySetCard, Row
from dispatchviz.explain.keys.key_text import BACKENDS, backends, functionalities, key_names, runtime_name

ARGUMENTS, UNITED, INCLUDED, EXCLUDED, MASK, WINNER = STAGES = (0, 1, 2, 3, 4, 5)
"""The sub-steps, in the order in which a call makes them. Where all arguments have one set, that is the united one; a
redispatch begins with the set that was received, and nothing is included or excluded."""

COMPUTED = 6
"""The last rows of the card of a call: all but its arguments."""

FEW = 3
"""Up to so many arguments with equal sets are named."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A set in the computation, or what a set takes away."""

    stage: int
    """The sub-step at which it is lit."""
    title: str
    """``x, y``; ``12 tensors``; ``included``."""
    sign: str
    """What is done with it: ``+`` joined, ``−`` taken away, ``=`` what is left; empty of the arguments."""
    keys: tuple[str, ...]
    """Highest first, by their full names."""
    said: str
    """What is to be said of it beside its keys."""
    names: tuple[str, ...] = ()
    """The arguments that share it, if they are too many for the title."""
    tensors: tuple[int, ...] = ()
    """The arguments of which it is the set."""


@dataclass(frozen=True, slots=True)
class CardAt:
    """The card at a sub-step."""

    stage: int
    lanes: tuple[Lane, ...]
    """All of the card; those whose stage is this one are lit."""
    keys: tuple[str, ...]
    """The set as far as it has come."""
    winner: str
    """Empty until the last sub-step."""


@lru_cache(maxsize=4)
def lanes(card: KeySetCard) -> tuple[Lane, ...]:
    """From top to bottom."""
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
    """The keys of a set, highest first; without a backend bit there are no runtime keys but the functionalities."""
    if raw & BACKENDS:
        return tuple(key_names(raw)) or tuple(f"{each.name.removesuffix('Bit')} bit" for each in backends(raw))
    return tuple(runtime_name(key, raw) for key in functionalities(raw))


def so_far(card: KeySetCard, stage: int) -> int:
    """The set after a sub-step; empty while the arguments are looked at one by one."""
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
    """Of a call."""
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
    """Of a redispatch."""
    *before, passed = card.rows[:-1]
    for row in before:
        if row.title.startswith("& "):
            yield _taken(MASK, "mask", before[0].raw, passed.raw, f"by {row.title.removeprefix('& ')}")
        else:
            yield Lane(UNITED, "received", "", names_of(row.raw), row.title.removeprefix("received "))
    yield _left(card, passed.raw)


def _equal(arguments: Iterable[Row]) -> dict[int, list[Row]]:
    """The arguments by their sets."""
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
