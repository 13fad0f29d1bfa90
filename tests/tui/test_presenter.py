"""Tests of presenter mode and of automatic playing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.outline.levels import DEFAULT
from dispatchviz.explain.predictions.trace_predictions import predictions_after
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.terminal.keymaps import KEYMAPS
from dispatchviz.tui.terminal.palette import Palette
from dispatchviz.views import keymap
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_choice import PaneChoice
from dispatchviz.views.layout.pane_layout import GRAPH, KEYS, SMALLEST, SOURCE, STEPS
from dispatchviz.views.layout.presenter_plan import MARGIN, TALL, second_pane
from dispatchviz.views.layout.screen_plan import Scene
from dispatchviz.views.predictions.question_rows import large_answer, verdict
from dispatchviz.views.text.styled_line import line
from tests.steps import step

from .screens import SIZES, Reader, stepper
from .synthetic import forum
from .test_layout import cells_of

PRESENTING = PaneChoice(presenting=True)


def presenting(reader: Reader) -> bool:
    """Return whether presenter mode is on."""
    return reader.app.view.scene.choice.presenting


def covered(reader: Reader) -> bool:
    """Return whether a question is over the stepper."""
    return len(reader.app.screen_stack) > 1


@pytest.mark.parametrize("size", [*SIZES, SMALLEST])
@pytest.mark.parametrize("label", ["", " Search: "])
def test_presenter_mode_has_two_panes_and_no_footer(size: tuple[int, int], label: str) -> None:
    width, height = size
    trace = forum()
    for at in range(len(trace)):
        plan = Scene(Cursor(trace, at), opened_at=0, choice=PRESENTING, label=label).plan(width, height)
        boxes = dict(plan.boxes)
        prompt = boxes.pop("prompt")
        assert prompt.y == height - 1
        assert len(plan.panes) == 2
        assert STEPS in plan.panes
        assert ("footer" in boxes) == bool(label)
        assert all(box.x >= MARGIN and box.x + box.width <= width - MARGIN for box in plan.panes.values())
        assert all(0 <= x < width and 0 <= y < height for x, y in cells_of(boxes))
        sentence = boxes["why"]
        assert sentence.y >= 2
        assert min(box.y for box in plan.panes.values()) == sentence.y + sentence.height + 1
        assert boxes["why"].height == len(plan.bars["why"])


@pytest.mark.parametrize("size", SIZES)
def test_presenter_header_names_the_cuda_implementation(size: tuple[int, int]) -> None:
    header = Scene(Cursor(forum(), 3), opened_at=0, choice=PRESENTING).plan(*size).bars["header"]
    assert "cuda: emulated on NumPy" in header[0].plain


@pytest.mark.parametrize("choice", [PaneChoice(), PRESENTING])
def test_program_without_cuda_shows_no_cuda_implementation(choice: PaneChoice) -> None:
    trace = run(Code("import torch\nx = torch.ones(2) * 2\n")).trace
    head = Scene(Cursor(trace, 3), opened_at=0, choice=choice).plan(120, 40).bars["header"]
    assert [row.plain for row in head if "cuda" in row.plain] == []
    assert f"step 3 of {len(trace)}" in head[0].plain


def test_second_pane_is_the_most_useful_one() -> None:
    assert second_pane([KEYS, SOURCE], lambda pane: pane == KEYS) == SOURCE
    assert second_pane([KEYS, SOURCE], lambda pane: True) == KEYS
    trace = forum()
    computed, node = step(trace, ev.KeySetComputed), step(trace, ev.NodeCreated)
    for at, pane in ((computed, KEYS), (node, GRAPH)):
        assert set(Scene(Cursor(trace, at), opened_at=0, choice=PRESENTING).plan(120, 40).panes) == {STEPS, pane}
    own = PaneChoice(presenting=True).select(SOURCE)
    assert SOURCE in Scene(Cursor(trace, computed), opened_at=0, choice=own).plan(120, 40).panes


def test_presenter_mode_shows_nothing_dim() -> None:
    text = ("text-primary", "text-accent", "text-success", "text-warning", "text-error")
    theme = dict.fromkeys(("foreground", "background", "panel", "primary", "primary-muted", *text), "#808080")
    row = line(("a kernel", "dim"), ("was", "was"))
    plain, contrast = (Palette(theme, contrast=each).strip(row, 20, Palette(theme).base) for each in (False, True))
    assert any(segment.style and segment.style.dim for segment in plain)
    assert not any(segment.style and segment.style.dim for segment in contrast)


async def test_clicker_steps_and_escape_ends_presenter_mode() -> None:
    async with stepper(forum()) as reader:
        await reader.press("P")
        assert presenting(reader)
        assert reader.sees("Presenter mode: PgDn and PgUp step, P or Esc ends it", "cuda: emulated")
        assert not reader.sees("q quit")
        trace, before = reader.app.session.trace, reader.at
        shown = reader.app.session.cursor.shown
        assert shown is not None
        await reader.press("pagedown")
        assert reader.at == next(each for each in shown if each > before)
        await reader.press("pageup")
        assert reader.at == before
        await reader.press("colon", "1", "enter")
        assert reader.at == 1, "questions work as always"
        await reader.press("escape")
        assert not presenting(reader)
        assert reader.sees("q quit", "Presenter mode ended")
        await reader.press("P", "P")
        assert not presenting(reader)
        assert len(trace) > before


async def test_names_of_kernels_are_left_out() -> None:
    async with stepper(forum(), size=(200, 60), step=0, level=1) as reader:
        selected = step(reader.app.session.trace, ev.KernelSelected)
        event = reader.app.session.trace[selected]
        assert isinstance(event, ev.KernelSelected)
        await reader.press("colon", *str(selected), "enter")
        row = next(text for text in reader.screen if "add.Tensor → AutogradCUDA" in text)
        assert event.kernel in row
        await reader.press("P")
        row = next(text for text in reader.screen if "add.Tensor → AutogradCUDA" in text)
        assert event.kernel not in row


@pytest.mark.parametrize(("size", "wide"), [((80, 24), 74), ((120, 40), 65), ((160, 50), 89)])
def test_steps_have_three_fifths_of_the_width(size: tuple[int, int], wide: int) -> None:
    trace = forum()
    plans = [Scene(Cursor(trace, at), opened_at=0, choice=PRESENTING).plan(*size) for at in range(len(trace))]
    assert {plan.panes[STEPS].width for plan in plans} == {wide}


# -- questions ---------------------------------------------------------------------------------------------------------


async def asked_in_presenter_mode(reader: Reader) -> None:
    """Go to the first question."""
    await reader.press("P", "p", "c", "c", "c", "c")
    assert covered(reader)


async def test_second_press_of_a_clicker_reveals_the_answer() -> None:
    async with stepper(forum()) as reader:
        await asked_in_presenter_mode(reader)
        at = reader.at
        await reader.press("pagedown")
        assert covered(reader)
        assert reader.sees("Predict: PgDn again shows the answer")
        assert reader.at == at, "one press too many shows nothing"
        await reader.press("pagedown")
        assert not covered(reader)
        assert presenting(reader)
        assert reader.sees("   The answer: AutogradCUDA   ")
        assert reader.at == at + 1
        assert "1 skipped" in reader.app.session.asking.score(reader.app.session.trace)


async def test_clicker_goes_back_from_a_question_that_stays_open() -> None:
    async with stepper(forum()) as reader:
        await asked_in_presenter_mode(reader)
        at = reader.at
        await reader.press("pagedown", "pageup")
        assert not covered(reader)
        assert reader.at == at
        await reader.press("pagedown")
        assert covered(reader)
        assert reader.sees("PgDn twice shows the answer"), "the first press of another visit"


@pytest.mark.parametrize("size", [*SIZES, SMALLEST])
async def test_choices_have_empty_rows_between_them_if_those_fit(size: tuple[int, int]) -> None:
    async with stepper(forum(), size) as reader:
        await asked_in_presenter_mode(reader)
        begin = next(at for at, row in enumerate(reader.screen) if "Predict (" in row)
        assert reader.screen[begin].startswith(" " * MARGIN + "▌ Predict (1-6 answers, PgDn twice shows"), reader.text
        rows = [row.strip() for row in reader.screen[begin:]]
        first = next(at for at, row in enumerate(rows) if row.startswith("▶"))
        assert (rows[first + 1] == "") == (size[1] >= 30)
        assert reader.sees("Steps", "▶ ")


def test_an_answer_is_a_band_above_its_reason() -> None:
    trace = forum()
    asked = next(predictions_after(trace, 0))
    wrong = next(choice for choice in asked.choices if choice != asked.right)
    for choice, band in ((asked.right, "✓ Right: AutogradCUDA"), (wrong, "The answer: AutogradCUDA"),
                         (None, "The answer: AutogradCUDA")):  # fmt: skip
        note = verdict(trace, asked, choice)
        low, tall = large_answer(note, 70, False), large_answer(note, 70, True)
        assert [row.plain.strip() for row in tall[:3]] == ["", band, ""]
        assert {row.width for row in tall[:3]} == {len(band) + 7}
        assert low[0].plain.strip() == band
        assert band not in low[-1].plain, "it is not repeated"
        assert ("Your guess: " in low[-1].plain) == (choice == wrong)
    assert large_answer(line("Presenter mode ended"), 70, True) == [line("Presenter mode ended")]


@pytest.mark.parametrize("size", SIZES)
async def test_the_answer_is_above_the_panes(size: tuple[int, int]) -> None:
    async with stepper(forum(), size) as reader:
        await asked_in_presenter_mode(reader)
        await reader.press("2")
        answer, steps = (next(at for at, row in enumerate(reader.screen) if words in row)
                         for words in ("✓ Right: AutogradCUDA", "1 Steps"))  # fmt: skip
        assert answer == (3 if size[1] >= TALL else 2)
        assert steps <= size[1] // 3 + 3


# -- playing -----------------------------------------------------------------------------------------------------------


class Clock:
    """A replacement for Textual's timers that runs only on request."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.stopped = 0

    def set_timer(self, seconds: float, then: Callable[[], Any]) -> Clock:
        self.seconds.append(seconds)
        return self

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(StepperApp, "play_after", lambda app, seconds: made.set_timer(seconds, app.play))
    return made


async def test_space_plays_and_any_key_stops(clock: Clock) -> None:
    async with stepper(forum()) as reader:
        await reader.press("space")
        assert reader.sees("Playing. + plays faster, - slower, any other key stops")
        rows = list(reader.app.session.cursor.rows)
        assert (reader.at, len(clock.seconds)) == (rows[0], 1)
        for place in (1, 2, 3):
            reader.app.play()
            await reader.answered()
            assert (reader.at, len(clock.seconds)) == (rows[place], place + 1)
        await reader.press("space")
        assert reader.sees("Playing stopped")
        assert clock.stopped == 1
        reader.app.play()
        assert reader.at == rows[3], "a tick that comes late does nothing"
        await reader.press("space", "s")
        stepped = reader.at
        assert stepped > rows[3], "a key that stops does what it always does"
        reader.app.play()
        assert (reader.at, clock.stopped) == (stepped, 2)


async def test_tempo_is_shown_and_kept(clock: Clock) -> None:
    async with stepper(forum()) as reader:
        await reader.press("space")
        assert reader.sees("playing ×1")
        normal = clock.seconds[-1]
        await reader.press("plus")
        assert (reader.sees("playing ×2"), reader.at, clock.seconds[-1]) == (True, 0, normal / 2)
        await reader.press("plus", "plus")
        assert reader.sees("playing ×4", "the fastest tempo")
        await reader.press("s")
        assert not reader.sees("playing")
        await reader.press("plus")
        assert reader.sees("This is the most detail: every step"), "not played: what the key always does"
        await reader.press("space", *["minus"] * 5)
        assert reader.sees("playing ×0.25", "the slowest tempo")
        assert clock.stopped >= 8, "each change begins the step's time anew"
        await reader.press("escape", "P", "space")
        assert reader.sees("playing ×0.25")
        await reader.press("escape", "G", "space")
        begun = len(clock.seconds)
        reader.app.play()
        await reader.answered()
        assert reader.sees("Playing stopped: this is the last row")
        assert len(clock.seconds) == begun


async def test_playing_waits_for_answers_in_presenter_mode(clock: Clock) -> None:
    async with stepper(forum()) as reader:
        await reader.press("P", "p", "space")
        for _ in reader.app.session.trace:
            if not covered(reader):
                reader.app.play()
                await reader.answered()
        assert reader.sees("Which key wins?")
        at, timers = reader.at, len(clock.seconds)
        reader.app.play()
        assert (reader.at, len(clock.seconds)) == (at, timers)
        await reader.press("1")
        assert presenting(reader)
        assert reader.sees("of 1 right" if "predict" in reader.text else "AutogradCUDA")


async def test_each_visible_row_plays_for_four_seconds(clock: Clock) -> None:
    async with stepper(forum(), step=0, level=DEFAULT) as reader:
        rows = list(reader.app.session.cursor.rows)
        await reader.press("space")
        while reader.app.playing.is_on:
            reader.app.play()
            await reader.answered()
            if reader.app.playing.is_on:
                assert reader.at in rows
        assert reader.at == rows[-1]
        assert clock.seconds == [4.0] * len(rows)
        assert len(rows) < len(reader.app.session.trace) / 10, "folded rows stay folded"


@pytest.mark.parametrize("name", KEYMAPS)
async def test_the_footer_has_the_keys_of_playing_in_every_keymap(name: str, clock: Clock) -> None:
    keymap.use(KEYMAPS[name])
    async with stepper(forum()) as reader:
        await reader.press("space")
        assert reader.screen[-1].split() == ["+", "faster", "-", "slower", "Space", "stop", "?", "help", "q", "quit"]
        await reader.press("plus")
        assert reader.app.session.tempo == 2.0
        await reader.press("escape")
        assert not reader.sees("Space stop")
