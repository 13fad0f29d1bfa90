"""Tests of the walk through the sub-steps of a key-set card with the step keys."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.key_set_card import key_set_card
from dispatchviz.explain.calls.key_set_lanes import INCLUDED, UNITED, WINNER, stages
from dispatchviz.explain.calls.key_set_stages import stage_name, stage_sentence, stages_at
from dispatchviz.explain.kinds.all_kinds import why_here
from dispatchviz.testing import redispatch
from dispatchviz.tui.commands.moves import walk, walk_back
from dispatchviz.tui.screens.help_screen import help_rows
from dispatchviz.tui.widgets.painted_lines import Bar
from dispatchviz.tui.widgets.pane_view import PaneView
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_layout import CALLS, KEYS, STEPS
from tests.steps import step

from .programs import cat, example, the_call
from .screens import SIZES, stepper

FORUM = example("forum.py")
ADD = the_call(FORUM, "aten::add.Tensor")
CARD = key_set_card(FORUM, ADD)
assert CARD is not None


@pytest.mark.parametrize("trace", [FORUM, cat()], ids=["forum", "cat"])
def test_walking_on_and_back_are_exact_opposites(trace: object) -> None:
    assert isinstance(trace, type(FORUM))
    places = [Cursor(trace)]
    while (after := walk(places[-1])) != places[-1]:
        places.append(after)
    seen = [(place.at, place.stage) for place in places]
    assert len(set(seen)) == len(seen)
    calls = trace.steps_of(ev.Dispatched)
    assert len(seen) == len(trace) + sum(len(stages_at(trace, at)) for at in calls)
    for before, place in zip(places[:-1][::-1], places[:0:-1], strict=True):
        back = walk_back(place)
        assert (back.at, back.stage) == (before.at, before.stage)
    assert walk_back(places[0]) == places[0]


def test_every_walk_ends_at_the_selected_key() -> None:
    for at in FORUM.steps_of(ev.Dispatched):
        assert stages_at(FORUM, at)[-1] == WINNER
        assert stages_at(FORUM, at + 1) == ()


def test_every_other_move_shows_the_whole_card() -> None:
    walked = walk(Cursor(FORUM, ADD))
    assert walked.stage == UNITED
    for how in ("into", "into_back", "over", "out", "resume", "first", "last", "caller"):
        assert getattr(walked, how)().stage is None
    assert walked.goto(ADD).stage is None
    assert walked.toggle_mark().stage == UNITED


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("zoomed", [False, True])
async def test_step_in_key_set_pane_highlights_the_next_lane(size: tuple[int, int], zoomed: bool) -> None:
    assert CARD is not None
    card, found = CARD, stages(CARD)
    async with stepper(FORUM, size, ADD) as reader:
        await reader.press("2", *(["z"] if zoomed else []))
        assert reader.sees("AutogradCUDA wins")
        assert not reader.sees("stage ")
        for number, stage in enumerate(found, 1):
            await reader.press("s")
            assert reader.at == ADD
            assert reader.sees(f"2 Key set  stage {number}/{len(found)}: {stage_name(card, stage)}")
            said = " ".join(reader.app.view.query_one("#why", Bar).plain)
            assert stage_sentence(card, stage) in " ".join(said.split())
            pane = reader.app.view.panes[KEYS]
            assert isinstance(pane, PaneView)
            lit = [row for row in pane.plain if "▶" in row]
            assert len(lit) == 1
            assert any(lit[0].strip() in row for row in reader.screen), "the lit lane is in sight"
            begin = pane.plain[0].strip()
            assert begin.startswith("AutogradCUDA wins" if stage == WINNER else "so far {")
        await reader.press("s")
        assert (reader.at, reader.app.session.cursor.stage) == (ADD + 1, None)
        assert not reader.sees("stage ")
        await reader.press("S")
        assert reader.sees(f"stage {len(found)}/{len(found)}: winner")
        await reader.press(*("S" for _ in found))
        assert (reader.at, reader.app.session.cursor.stage) == (ADD, None)
        await reader.press("S")
        assert reader.at == ADD - 1


@pytest.mark.parametrize("pane", [STEPS, CALLS])
async def test_step_outside_key_set_pane_moves_the_cursor(pane: int) -> None:
    async with stepper(FORUM, (120, 40), ADD) as reader:
        await reader.press("2", "s", "s", str(pane))
        walked = reader.app.session.cursor
        assert walked.stage == INCLUDED, "another pane alone moves nothing"
        await reader.press("s")
        assert reader.at == ADD + 1
        assert reader.app.session.cursor.stage is None
        assert why_here(FORUM, ADD + 1)[:20] in reader.text


def test_pane_help_mentions_the_walk() -> None:
    assert "the step keys walk through the sets of the call" in " ".join(help_rows(KEYS)[0].plain.split())


def test_redispatch_begins_with_the_received_set() -> None:
    at = step(FORUM, redispatch("aten::add.Tensor"))
    card = key_set_card(FORUM, at)
    assert card is not None
    said = [stage_sentence(card, stage) for stage in stages(card)]
    assert [text.partition(":")[0] for text in said] == ["received", "mask", "winner"]
    assert walk(replace(Cursor(FORUM, at), stage=WINNER)).at == at + 1
