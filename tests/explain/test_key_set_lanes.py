"""The lanes of the key-set card: each removes and keeps the keys that the dispatcher computes."""

from __future__ import annotations

import re

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import KeySetComputed
from dispatchviz.explain.calls.key_set_card import KeySetCard, key_set_card
from dispatchviz.explain.calls.key_set_lanes import (
    EXCLUDED,
    INCLUDED,
    MASK,
    STAGES,
    UNITED,
    WINNER,
    card_at,
    lanes,
    names_of,
    stages,
)
from dispatchviz.explain.calls.key_set_stages import stage_name, stage_sentence
from dispatchviz.explain.keys.key_text import functionalities, key_names, runtime_name
from dispatchviz.explain.trace_index.enclosing_steps import kernel_before, within
from dispatchviz.trace import Trace
from tests.model_runs import recorded
from truth import programs

SUBJECTS = ["forum", "modes", "autocast", "func", "inference", "math_bits", "random"]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_set_after_each_sub_step_is_the_dispatchers(subject: str) -> None:
    seen = set[object]()
    for source in list(programs.SUBJECTS[subject].values())[::3]:
        trace = recorded(source)
        for at in trace.steps_of(ev.Dispatched):
            call, computed, card = trace[at], within(trace, at, ev.KeySetComputed), key_set_card(trace, at)
            assert isinstance(call, ev.Dispatched)
            assert card is not None
            sets: object = call.key_set if computed is None else (computed.arguments, computed.mask, computed.effective)
            if (card.operator, sets) in seen:
                continue
            seen.add((card.operator, sets))
            if computed is None:
                _compare_given(trace, at, card)
            else:
                _compare(computed, card)


def _compare(computed: ev.KeySetComputed, card: KeySetCard) -> None:
    several = len({raw for _, _, raw in computed.arguments} | ({computed.generator} - {0})) > 1
    assert stages(card) == (STAGES if several else STAGES[1:])
    sets = (computed.united, computed.with_included, computed.without_excluded, computed.effective, computed.effective)
    for stage, raw in zip(STAGES[1:], sets, strict=True):
        said = stage_sentence(card, stage)
        assert said.startswith(f"{stage_name(card, stage)}: ")
        _compare_sentence(computed, stage, said, card)
        if raw & 0xFFFF:
            assert list(card_at(card, stage).keys) == key_names(raw), (card.operator, stage)
    names = {lane.title for lane in lanes(card)}
    assert {"included", "excluded", "mask", "left"} <= names


def _compare_sentence(computed: KeySetComputed, stage: int, said: str, card: KeySetCard) -> None:
    """Compare the keys that a sentence names as joined, removed or left with the difference of the raw sets."""
    before, after = {
        UNITED: (0, computed.united),
        INCLUDED: (computed.united, computed.with_included),
        EXCLUDED: (computed.with_included, computed.without_excluded),
        MASK: (computed.without_excluded, computed.effective),
        WINNER: (0, computed.effective),
    }[stage]
    differ = set(names(before)) ^ set(names(after))
    told = said.partition(": ")[2].partition(";")[0].partition(", whose ")[0]
    if stage == UNITED and not computed.united:
        assert told == "no tensor among the arguments, so the key set is empty"
    elif stage == WINNER and not differ:
        assert said == "winner: no key is left, so Undefined wins"
        return
    elif not differ:
        assert "nothing" in told
    else:
        assert all(key in told for key in differ), said
        others = set(names(computed.with_included)) - differ
        assert not [key for key in others if re.search(rf"\b{key}\b", told)], said
    if stage == INCLUDED:
        there = [runtime_name(key, computed.united) for key in functionalities(computed.included & computed.united)]
        assert all(key in said.partition(";")[2] for key in there)
    if stage == WINNER:
        assert said.startswith(f"winner: {key_names(computed.effective)[0]} is the highest key of ")
        assert card.winner == key_names(computed.effective)[0]


def names(ks: int) -> list[str]:
    """The keys of a set; without a backend bit it has functionalities only."""
    return key_names(ks) if ks & 0xFFFF else [runtime_name(key, ks) for key in functionalities(ks)]


def _compare_given(trace: Trace, at: int, card: KeySetCard) -> None:
    call = trace[at]
    assert isinstance(call, ev.Dispatched)
    assert stages(card)[-1] == WINNER
    said = stage_sentence(card, WINNER)
    assert said == f"winner: {call.key} is the highest key of {{{', '.join(names_of(call.key_set))}}}"
    kernel = kernel_before(trace, call)
    if kernel is not None:
        expected = f"received: {kernel.kernel} was called with {{{', '.join(names_of(kernel.key_set))}}}"
        assert stage_sentence(card, UNITED) == expected
    if MASK in stages(card):
        assert kernel is not None
        lost = [name for name in names_of(kernel.key_set) if name not in names_of(call.key_set)]
        assert f" removes {', '.join(lost) or 'nothing'}" in stage_sentence(card, MASK)
    if call.key_set & 0xFFFF:
        assert list(card_at(card, WINNER).keys) == key_names(call.key_set)
    assert lanes(card)[-1].note == f"→ {call.key}"


def test_the_winner_is_known_at_the_last_sub_step_only() -> None:
    trace = recorded("import torch\nx = torch.ones(2)\nx + x\n")
    card = key_set_card(trace, trace.steps_of(ev.Dispatched)[-1])
    assert card is not None
    said = [card_at(card, stage).winner for stage in stages(card)]
    assert said[-1] == card.winner
    assert set(said[:-1]) == {""}
