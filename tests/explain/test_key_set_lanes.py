"""The lanes of the key-set card: what each takes and leaves is what the dispatcher computed."""

from __future__ import annotations

import pytest

import dispatchviz
from dispatchviz import torch as model
from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import KeySetCard, key_set_card
from dispatchviz.explain.calls.key_set_lanes import EXCLUDED, INCLUDED, MASK, UNITED, WINNER, card_at, lanes, stages
from dispatchviz.explain.keys.key_text import key_names
from dispatchviz.explain.trace_index.enclosing_steps import within
from dispatchviz.trace import Trace
from truth import programs
from truth.observers.runs import Run, in_new_thread

SUBJECTS = ["forum", "modes", "autocast", "func", "inference", "math_bits"]


def recorded(source: str) -> Trace:
    def record() -> Trace:
        with dispatchviz.record() as trace:
            Run(model, source).whole()
        return trace

    found: Trace = in_new_thread(record)
    return found


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_set_after_each_sub_step_is_the_dispatchers(subject: str) -> None:
    seen = set[object]()
    for source in list(programs.SUBJECTS[subject].values())[::3]:
        trace = recorded(source)
        for at in trace.steps_of(ev.Dispatched):
            computed, card = within(trace, at, ev.KeySetComputed), key_set_card(trace, at)
            assert card is not None
            sets = None if computed is None else (computed.arguments, computed.mask, computed.effective)
            if (card.operator, sets) in seen:
                continue
            seen.add((card.operator, sets))
            if computed is None:
                _compare_given(trace, at, card)
            else:
                _compare(computed, card)


def _compare(computed: ev.KeySetComputed, card: KeySetCard) -> None:
    assert stages(card) == (UNITED, INCLUDED, EXCLUDED, MASK, WINNER)
    sets = (computed.united, computed.with_included, computed.without_excluded, computed.effective, computed.effective)
    for stage, raw in enumerate(sets):
        if raw & 0xFFFF:
            assert list(card_at(card, stage).keys) == key_names(raw), (card.operator, stage)
    names = {lane.title for lane in lanes(card)}
    assert {"included", "excluded", "mask", "left"} <= names


def _compare_given(trace: Trace, at: int, card: KeySetCard) -> None:
    call = trace[at]
    assert isinstance(call, ev.Dispatched)
    if call.key_set & 0xFFFF:
        assert list(card_at(card, WINNER).keys) == key_names(call.key_set)
    assert lanes(card)[-1].said == f"→ {call.key}"


def test_the_winner_is_known_at_the_last_sub_step_only() -> None:
    trace = recorded("import torch\nx = torch.ones(2)\nx + x\n")
    card = key_set_card(trace, trace.steps_of(ev.Dispatched)[-1])
    assert card is not None
    said = [card_at(card, stage).winner for stage in stages(card)]
    assert said[-1] == card.winner
    assert set(said[:-1]) == {""}
