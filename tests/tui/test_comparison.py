"""Tests of the comparison screen: its rows as a value, its keys, its sizes."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.outline.levels import LEVELS
from dispatchviz.trace import Trace
from dispatchviz.tui.comparison import comparison_rows
from dispatchviz.tui.comparison.comparison_actions import COMPARISON_ACTIONS
from dispatchviz.tui.comparison.comparison_app import ComparisonApp
from dispatchviz.tui.comparison.comparison_state import COMPARISON_KEYMAP, Compared, Several, opened
from dispatchviz.views.keymap import FOOTER_KEYS
from tests.amounts import amount
from tests.explain.comparison.runs import traced
from tests.explain.comparison.test_alignment import LOOP, PAIRS
from tests.explain.comparison.test_pairs import PLAIN
from truth.programs import PROGRAMS

from .screens import SIZES, Reader, comparison, state_of, two_runs

NO_GRAD = PAIRS["no_grad"][1]


def pair_of(name: str) -> tuple[Trace, Trace]:
    first, second = PAIRS[name]
    return traced(first), traced(second)


def texts(state: Compared, width: int = 119) -> list[str]:
    return [comparison_rows.list_row(state, at, width).plain for at in range(len(state.rows))]


def row(state: Compared, *words: str) -> str:
    """The row that contains some words."""
    (found,) = [text for text in texts(state) if all(word in text for word in words)]
    return found


def at_row(reader: Reader) -> str:
    """The row of the cursor."""
    (found,) = [text for text in reader.screen if text.startswith("▶")]
    return found


# -- the value --------------------------------------------------------------------------------------------------------


def test_comparison_opens_at_the_first_difference() -> None:
    state = state_of(*pair_of("no_grad"))
    assert row(state, "grad mode off (").startswith("▶>")
    assert row(state, "4  z = torch.add(x, y)").startswith(" ~ ▸")
    assert row(state, "ones(2)").startswith("   "), "equal rows have no sign"
    assert "│" in row(state, "ones(2)")


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_every_difference_is_reached_forwards_and_backwards(name: str, level: int) -> None:
    check_stops(*pair_of(name), level)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_every_difference_of_random_programs_is_reached(seed: int) -> None:
    chosen, names = random.Random(100 + seed), sorted(PROGRAMS)
    check_stops(*(traced(PROGRAMS[chosen.choice(names)]) for _ in range(2)), 1)


def check_stops(first: Trace, second: Trace, level: int) -> None:
    state = opened(Compared((two_runs(first, second),), level=level)).goto(0)
    places = [place for place, _ in state.two.in_order(level)]
    assert len(places) == len(state.two.stops)
    for direction, wanted in ((1, [*dict.fromkeys(places)]), (-1, [*dict.fromkeys(places[::-1])])):
        met = [state.place] if state.stop is not None else []
        while (after := state.to_stop(direction)).note is None:
            state = after
            assert state.stop is not None, "the cursor is on the row"
            met.append(state.place)
        assert met == wanted


@pytest.mark.parametrize("name", PAIRS)
def test_unfolding_everything_shows_each_row_once(name: str) -> None:
    state = state_of(*pair_of(name)).goto(0)
    while state.at < len(state.rows) - 1 or not _is_open(state):
        after = state.unfold()
        state = after if after.rows != state.rows or after.at != state.at else state.move(1)
    pairs = [each.item for each in state.rows]
    assert not any(isinstance(item, Several) for item in pairs)
    assert max(Counter(pairs).values()) == 1
    for each, text in zip(state.rows, texts(state), strict=True):
        assert text[1] == comparison_rows.SIGNS[state.tree.likeness(each.pair)][0][0]
    folded = state
    while any(each.unfolded for each in folded.rows):
        at = next(at for at, each in enumerate(folded.rows) if each.unfolded)
        folded = folded.goto(at).fold()
    assert all(each.depth == 0 for each in folded.rows)


def _is_open(state: Compared) -> bool:
    after = state.unfold()
    return after.rows == state.rows


def test_consecutive_equal_rows_are_one_row() -> None:
    begin = "import torch\nx = torch.ones(2)\n" + "x = x + 1\n" * 10
    state = state_of(traced(begin + "x = x * 2\n"), traced(begin + "x = x * 3\n"))
    assert texts(state)[0] == "   ▸ … 11 equal lines"
    assert row(state, "x = x * 2", "x = x * 3").startswith(" ≈")
    after = state.goto(0).unfold()
    assert len(after.rows) == len(state.rows) + 10
    assert "import torch" in texts(after)[0]


def test_a_narrow_terminal_has_one_column_with_signs() -> None:
    state = state_of(*pair_of("inference_mode")).to_stop(1)
    narrow = texts(state, 59)
    assert not any("│" in text for text in narrow)
    assert any(text.startswith("▶~") and "AutogradCPU" in text for text in narrow)
    assert any(text.startswith("▶~") and "AutogradCPU" not in text for text in texts(state.other_side(), 59))


def test_two_columns_fit_eighty_columns() -> None:
    state = state_of(*pair_of("no_grad"))
    for each in range(len(state.rows)):
        line = comparison_rows.list_row(state, each, 79)
        assert line.width <= 79
        assert isinstance(state.rows[each].item, Several) or line.plain.index("│") == 40


# -- keys -------------------------------------------------------------------------------------------------------------


def test_every_key_has_one_action_and_every_action_exists() -> None:
    assert max(Counter(key for entry in COMPARISON_KEYMAP for key in entry.keys).values()) == 1
    assert len([entry for entry in COMPARISON_KEYMAP if entry.footer]) <= FOOTER_KEYS
    for entry in COMPARISON_KEYMAP:
        name = entry.action.partition("(")[0]
        if name.startswith("app."):
            assert hasattr(ComparisonApp, f"action_{name[4:]}")
        else:
            assert name in {*COMPARISON_ACTIONS, "page"}
    help_text = "\n".join(each.plain for each in comparison_rows.help_rows())
    assert all(entry.help in help_text for entry in COMPARISON_KEYMAP)
    for likeness, meaning in comparison_rows.MEANINGS:
        assert f"{comparison_rows.SIGNS[likeness][0]} {meaning}" in help_text


@pytest.mark.parametrize("size", [*SIZES, (60, 15)])
async def test_first_screen_shows_first_difference_and_reason(size: tuple[int, int]) -> None:
    async with comparison([two_runs(*pair_of("no_grad"))], size) as reader:
        assert len(reader.screen) == size[1]
        assert reader.sees("They first differ at line 4 in B: with torch.no_grad():", "Only in B: torch.no_grad()")
        assert "grad mode off (torch.no_grad())" in at_row(reader)
        assert reader.sees("a.py ◂ Enter", "d next difference", "q back")
    assert reader.app.return_value is None


async def test_next_difference_key_shows_its_sentence() -> None:
    async with comparison([two_runs(*pair_of("no_grad"))], (120, 40)) as reader:
        await reader.press("d")
        assert "○ Node AddBackward0, seq 0" in at_row(reader)
        assert "○ no Node: grad mode is off" in at_row(reader)
        assert reader.sees(
            "In A VariableType::add_Tensor records AddBackward0. In B, grad mode is off, so no Node is recorded"
        )
        await reader.press("d", "d", "d")
        assert reader.sees("No difference after this row")
        await reader.press("D", "D", "D")
        assert "grad mode off (torch.no_grad())" in at_row(reader)
        await reader.press("D")
        assert reader.sees("No difference before this row")


@pytest.mark.parametrize(("side", "key", "said", "kind"), [
    (0, "enter", "This row is not in A. Tab switches to the other side", ev.NodeCreated),
    (1, "tab", "b.py ◂ Enter", ev.NoNodeMade),
])  # fmt: skip
async def test_enter_opens_the_step_in_the_chosen_run(side: int, key: str, said: str, kind: type) -> None:
    runs = pair_of("no_grad")
    async with comparison([two_runs(*runs)]) as reader:
        await reader.press(key)
        assert reader.sees(said)
        await reader.press("d", "enter")
    chosen = reader.app.return_value
    assert chosen.side.run.trace is runs[side]
    assert isinstance(runs[side][chosen.step], kind)


async def test_rows_can_be_unfolded_and_shown_in_more_detail() -> None:
    async with comparison([two_runs(traced(PLAIN), traced(NO_GRAD))], (120, 40)) as reader:
        await reader.press("g")
        assert "import torch" in at_row(reader)
        await reader.press("d", "d", "left", "left", "left", "left")
        assert reader.sees("▸  4  z = torch.add(x, y)")
        await reader.press("right")
        assert reader.sees("▾  4  z = torch.add(x, y)")
        await reader.press("right")
        assert "add.Tensor → AutogradCPU" in at_row(reader)
        await reader.press("plus", "plus")
        assert reader.sees("Every step")
        assert "add.Tensor → AutogradCPU" in at_row(reader)
        await reader.press("plus")
        assert reader.sees("This is the most detail")
        await reader.press("minus", "minus", "minus", "minus")
        assert reader.sees("This is the least detail")
        await reader.press("pagedown", "pageup", "home", "up")
        assert "import torch" in at_row(reader)


async def test_texts_open_over_the_screen_and_command_is_copied() -> None:
    async with comparison([two_runs(*pair_of("no_grad"))], (120, 40)) as reader:
        await reader.press("question_mark")
        assert reader.sees("only in the left run", "the next place where the runs differ")
        await reader.press("escape", "w")
        assert reader.sees("Differences after that", "Step ")
        await reader.press("q", "y")
        assert reader.sees("Copied: dispatchviz diff a.py b.py")
        assert reader.app.clipboard == "dispatchviz diff a.py b.py"
        await reader.press("ctrl+c")
        assert reader.sees("q goes back")
        await reader.press("2")
        assert reader.sees("There is only one comparison")
        await reader.press("q")
        assert reader.app._exit


async def test_digit_keys_choose_among_several_comparisons() -> None:
    choices = [two_runs(*pair_of("no_grad"), "no_grad"), two_runs(*pair_of("vmap"), "vmap")]
    async with comparison(choices) as reader:
        assert reader.sees("1 no_grad", "2 vmap")
        await reader.press("2")
        assert reader.sees("Only in B: A transform begins: the vmap of level 1")
        await reader.press("3")
        assert reader.sees("There are only 2 comparisons")
        await reader.press("1")
        assert reader.sees("Only in B: torch.no_grad()")


async def test_equal_runs_report_no_difference() -> None:
    async with comparison([two_runs(traced(LOOP), traced(LOOP))]) as reader:
        assert reader.sees("they do not differ", "Both runs took the same path", "result has the same numbers")
        await reader.press("d")
        assert reader.sees("The runs do not differ")
        await reader.press("down", "right", "left", "G", "plus", "tab", "w")
        assert reader.sees("Both runs took the same path")


async def test_two_empty_traces_report_no_difference() -> None:
    nothing = Trace(traced("pass").header, ())
    async with comparison([two_runs(nothing, nothing)]) as reader:
        assert reader.sees("Nothing was recorded in either run")
        await reader.press("d", "right", "left", "down", "enter", "plus", "w", "escape", "G", "g", "tab")
        assert reader.sees("they do not differ")


async def test_small_terminal_shows_needed_size_and_recovers() -> None:
    async with comparison([two_runs(*pair_of("no_grad"))], (59, 15)) as reader:
        assert reader.sees("The terminal is 59x15. dispatchviz needs at least 60x15")
        await reader.pilot.resize_terminal(80, 24)
        await reader.pilot.pause()
        assert "grad mode off" in at_row(reader)
        await reader.pilot.resize_terminal(1, 1)
        await reader.pilot.pause()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
async def test_random_keys_never_end_the_comparison(seed: int) -> None:
    keys = [
        key for entry in COMPARISON_KEYMAP for key in entry.keys if key not in ("q", "enter", "s", "ctrl+z", "ctrl+p")
    ]
    chosen, name = random.Random(seed), sorted(PAIRS)[seed]
    async with comparison([two_runs(*pair_of(name))]) as reader:
        for _ in range(amount(6, 12)):
            await reader.press(*chosen.choices(keys, k=10), "escape")
            if chosen.random() < 0.3:
                await reader.pilot.resize_terminal(*chosen.choice([*SIZES, (60, 15), (20, 5)]))
                await reader.pilot.pause()
        await reader.pilot.resize_terminal(80, 24)
        await reader.press("escape", "g")
        assert reader.sees("▶")
