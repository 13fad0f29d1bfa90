"""The key-set card as lanes: one set after the other, from the arguments' sets to the key that wins.

``lanes`` is the whole card; ``card_at`` is the card at one of its sub-steps, whose lanes are to be lit, and the set as
far as it has come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dispatchviz.explain.calls.key_set_card import KeySetCard, Row
from dispatchviz.explain.keys.key_text import BACKENDS, backends, functionalities, key_names, runtime_name

UNITED, INCLUDED, EXCLUDED, MASK, WINNER = STAGES = (0, 1, 2, 3, 4)
"""The sub-steps, in the order in which a call makes them. A redispatch has no second and third one."""

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


def lanes(card: KeySetCard) -> tuple[Lane, ...]:
    """From top to bottom."""
    rows = {row.title: row for row in card.rows}
    return tuple(_computed(card, rows) if "united" in rows else _given(card))


def stages(card: KeySetCard) -> tuple[int, ...]:
    """The sub-steps that a card has."""
    return tuple(sorted({lane.stage for lane in lanes(card)}))


def card_at(card: KeySetCard, stage: int) -> CardAt:
    """The card at one of ``stages``."""
    so_far = _so_far(card, stage)
    return CardAt(stage, lanes(card), names_of(so_far), card.winner if stage == WINNER else "")


def names_of(raw: int) -> tuple[str, ...]:
    """The keys of a set, highest first; without a backend bit there are no runtime keys but the functionalities."""
    if raw & BACKENDS:
        return tuple(key_names(raw)) or tuple(f"{each.name.removesuffix('Bit')} bit" for each in backends(raw))
    return tuple(runtime_name(key, raw) for key in functionalities(raw))


def _so_far(card: KeySetCard, stage: int) -> int:
    rows = {row.title: row.raw for row in card.rows}
    if "united" not in rows:
        received, *_, passed = [row.raw for row in card.rows[:-1]]
        return received if stage == UNITED else passed
    found = rows["united"]
    if stage >= INCLUDED:
        found |= rows["included"]
    if stage >= EXCLUDED:
        found &= BACKENDS | ~rows["excluded"]
    return found & rows["mask"] if stage >= MASK else found


def _computed(card: KeySetCard, rows: dict[str, Row]) -> Iterator[Lane]:
    """Of a call."""
    arguments = card.rows[: next(at for at, row in enumerate(card.rows) if row.title == "united")]
    groups = _equal(arguments)
    yield from (_arguments(raw, names) for raw, names in groups.items())
    if len(groups) != 1:
        said = "" if groups else "no tensor among the arguments"
        yield Lane(UNITED, "united", "=", names_of(rows["united"].raw), said)
    yield Lane(INCLUDED, "included", "+", names_of(rows["included"].raw), "" if rows["included"].raw else "nothing")
    for stage, title, said in ((EXCLUDED, "excluded", "by the thread"), (MASK, "mask", "{} through here")):
        yield _taken(stage, title, _so_far(card, stage - 1), _so_far(card, stage), said)
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


def _equal(arguments: Iterable[Row]) -> dict[int, list[str]]:
    """The names of the arguments by their sets."""
    groups: dict[int, list[str]] = {}
    for row in arguments:
        groups.setdefault(row.raw, []).append(row.title.rpartition(" = ")[2])
    return groups


def _arguments(raw: int, names: list[str]) -> Lane:
    distinct = tuple(dict.fromkeys(names))
    if len(distinct) <= FEW:
        return Lane(UNITED, ", ".join(distinct), "", names_of(raw), "")
    return Lane(UNITED, f"{len(names)} tensors", "", names_of(raw), "", distinct)


def _taken(stage: int, title: str, before: int, after: int, said: str) -> Lane:
    left = names_of(after)
    names = tuple(name for name in names_of(before) if name not in left)
    falls = said.format("falls" if len(names) == 1 else "fall")
    return Lane(stage, title, "−", names, falls if names else "takes nothing away")


def _left(card: KeySetCard, raw: int) -> Lane:
    return Lane(WINNER, "left", "=", names_of(raw), f"→ {card.winner}")
