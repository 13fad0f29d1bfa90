"""Tests of the screen with a lane for each process."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from dispatchviz.explain.comparison.ranks.lanes import lanes
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.tui.lanes import lanes_rows
from dispatchviz.tui.lanes.lanes_app import MOVES, LanesApp, first_state
from dispatchviz.tui.lanes.lanes_state import LANES_KEYMAP
from dispatchviz.views.keymap import FOOTER_KEYS
from tests.explain.comparison.ranks.processes import AGREEING, member

from .screens import SIZES, Reader, opened

HANGING = (member(0, 1, ("allreduce_", 1), 2, ("allreduce_", 2)), member(1, 1, ("allreduce_", 1), 3))


@asynccontextmanager
async def screen(members: Sequence[Member], size: tuple[int, int] = (100, 30)) -> AsyncIterator[Reader]:
    async with opened(LanesApp(first_state(lanes(members))), size) as reader:
        yield reader


def test_every_key_has_one_action_and_every_action_exists() -> None:
    assert max(Counter(key for entry in LANES_KEYMAP for key in entry.keys).values()) == 1
    names = {key.action.partition("(")[0] for key in LANES_KEYMAP if not key.action.startswith("app.")}
    assert names == {*MOVES, "page", "open", "help"}
    assert sum(bool(key.footer) for key in LANES_KEYMAP) <= FOOTER_KEYS


def test_rows_fit_every_width() -> None:
    state = first_state(lanes([*AGREEING, *(member(rank, 1, name=f"rank0.worker{rank}") for rank in range(9))]))
    for width in (59, 80, 200):
        for lane in range(len(state.lanes.members)):
            chosen = state.beside(lane)
            shown, _ = lanes_rows.shown_lanes(chosen, width)
            assert lane in shown
            assert all(lanes_rows.list_row(chosen, at, width).width <= width for at in range(len(state.lanes.rows)))


@pytest.mark.parametrize("size", SIZES)
async def test_screen_opens_at_the_collective_that_cannot_end(size: tuple[int, int]) -> None:
    async with screen(HANGING, size) as reader:
        assert reader.sees("rank 0 ◂ Enter", "rank 1", "Rank 1 never called collective 1 of the default group")
        (row,) = [text for text in reader.screen if text.startswith("▶")]
        assert "● all_reduce 1" in row
        assert "✗ never" in row


async def test_next_collective_names_the_rank_that_came_last() -> None:
    async with screen(AGREEING, (120, 40)) as reader:
        await reader.press("c")
        assert reader.sees("rank 0 came last, 2.0 ms after the first")
        await reader.press("c")
        assert reader.sees("rank 1 came last, 12.0 ms after the first")
        assert reader.sees("rank 0: all_reduce, 4 elements of float32, first")
        await reader.press("c")
        assert reader.sees("No collective after this row")
        await reader.press("C", "C")
        assert reader.sees("No collective before this row")


async def test_enter_opens_the_step_of_the_chosen_process() -> None:
    async with screen(AGREEING) as reader:
        await reader.press("c", "c", "right", "enter")
        chosen = reader.app.return_value
    assert (chosen.member.name, chosen.step) == ("rank 1", 4)


async def test_enter_in_an_empty_cell_opens_the_last_step_before() -> None:
    async with screen(AGREEING) as reader:
        await reader.press("down", "enter")
        chosen = reader.app.return_value
    assert (chosen.member.name, chosen.step) == ("rank 0", 0)


async def test_empty_traces_open_an_empty_screen() -> None:
    async with screen([member(0), member(1)]) as reader:
        assert reader.sees("Nothing was recorded")
        await reader.press("c", "C", "down", "right", "enter", "question_mark", "escape", "G", "pagedown")
        assert reader.sees("two processes")
