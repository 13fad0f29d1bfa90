"""The sub-steps of a key-set card: the name of each, and a sentence on its effect on the set.

The sentences repeat the sets of the card. ``key_set_lanes.py`` decides which lanes are lit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.calls.key_set_card import KeySetCard, key_set_card
from dispatchviz.explain.calls.key_set_lanes import (
    ARGUMENTS,
    EXCLUDED,
    INCLUDED,
    MASK,
    UNITED,
    WINNER,
    Lane,
    lanes,
    names_of,
    so_far,
    stages,
)
from dispatchviz.explain.keys.key_text import functionalities, runtime_name

NAMES = {
    ARGUMENTS: "arguments",
    UNITED: "united",
    INCLUDED: "included",
    EXCLUDED: "excluded",
    MASK: "mask",
    WINNER: "winner",
}


def stages_at(trace: Trace, at: int) -> tuple[int, ...]:
    """The sub-steps at a step: those of the call that begins there; none at other steps."""
    if not isinstance(trace[at], ev.Dispatched):
        return ()
    card = key_set_card(trace, at)
    return () if card is None else stages(card)


def stage_name(card: KeySetCard, stage: int) -> str:
    """``included``; a redispatch begins with ``received``."""
    return "received" if stage == UNITED and not _is_computed(card) else NAMES[stage]


def stage_place(card: KeySetCard, stage: int) -> str:
    """``3/6``."""
    found = stages(card)
    return f"{found.index(stage) + 1}/{len(found)}"


def stage_sentence(card: KeySetCard, stage: int) -> str:
    """The effect of the sub-step: ``included: the thread-local include set adds BackendSelect``."""
    return f"{stage_name(card, stage)}: {_EFFECTS[stage](card)}"


def _is_computed(card: KeySetCard) -> bool:
    return INCLUDED in stages(card)


def _of_stage(card: KeySetCard, stage: int) -> list[Lane]:
    return [lane for lane in lanes(card) if lane.stage == stage]


def _arguments(card: KeySetCard) -> str:
    return "; ".join(_carried(lane) for lane in _of_stage(card, ARGUMENTS))


def _carried(lane: Lane) -> str:
    many = bool(lane.names) or ", " in lane.title
    return f"{lane.title} {'carry' if many else 'carries'} {_set(lane.keys)}"


def _united(card: KeySetCard) -> str:
    lane = _of_stage(card, UNITED)[-1]
    if not _is_computed(card):
        return f"{lane.note.removeprefix('by ')} was called with {_set(lane.keys)}"
    if ARGUMENTS in stages(card):
        return f"together they carry {_set(lane.keys)}"
    return f"{lane.note}, so the key set is empty" if lane.note else _carried(lane)


def _included(card: KeySetCard) -> str:
    before, after = so_far(card, UNITED), so_far(card, INCLUDED)
    included = next(row.raw for row in card.rows[::-1] if row.title == "included")
    there = [runtime_name(key, after) for key in functionalities(included & before)]
    new = [name for name in names_of(after) if name not in names_of(before)]
    known = f"; {_are(there)} already there" if there else ""
    return f"the thread-local include set adds {_listed(new) if new else 'nothing'}{known}"


def _excluded(card: KeySetCard) -> str:
    taken = _of_stage(card, EXCLUDED)[0].keys
    return f"the thread-local exclude set removes {_listed(taken) if taken else 'nothing'}"


def _mask(card: KeySetCard) -> str:
    lane = _of_stage(card, MASK)[0]
    if not lane.keys:
        return f"{_mask_name(card)} removes nothing"
    if _is_computed(card):
        falls = "whose entry is a fallthrough" if len(lane.keys) == 1 else "whose entries are fallthroughs"
        return f"{_mask_name(card)} removes {_listed(lane.keys)}, {falls}"
    return f"{_mask_name(card)} removes {_listed(lane.keys)}"


def _mask_name(card: KeySetCard) -> str:
    return next(
        (row.title.removeprefix("& ") for row in card.rows if row.title.startswith("& ")), "the operator's mask"
    )


def _winner(card: KeySetCard) -> str:
    left = names_of(so_far(card, WINNER))
    if card.winner not in left:
        return f"no key is left, so {card.winner} wins"
    return f"{card.winner} is the highest key of {_set(left)}"


_EFFECTS: dict[int, Callable[[KeySetCard], str]] = {
    ARGUMENTS: _arguments,
    UNITED: _united,
    INCLUDED: _included,
    EXCLUDED: _excluded,
    MASK: _mask,
    WINNER: _winner,
}


def _set(keys: Sequence[str]) -> str:
    return "{" + ", ".join(keys) + "}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _are(names: Sequence[str]) -> str:
    return f"{_listed(names)} {'is' if len(names) == 1 else 'are'}"
