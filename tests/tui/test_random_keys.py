"""Tests with some hundred random keys, answers, clicks and sizes; ``python -m tests.tui.random_keys`` does 20,000."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.tui.questions.typed_questions import step_named
from dispatchviz.tui.terminal.keymaps import use_named
from dispatchviz.views.cursor.breakpoints.typed_breakpoints import breakpoint_named, refusal
from dispatchviz.views.cursor.cursor import Cursor

from .odd_answers import ODD_ANSWERS
from .random_keys import HOME, TRACES, press_random_keys
from .screens import stepper
from .synthetic import forum


@pytest.mark.long
@pytest.mark.parametrize("name", TRACES)
def test_random_keys_never_end_the_stepper(name: str, tmp_path: Path) -> None:
    assert press_random_keys(name, seed=1, keys=80, file=str(tmp_path / "marks")) >= 80


@pytest.mark.long
@pytest.mark.parametrize("keymap", ["vim", "gdb"])
def test_random_keys_of_other_keymaps_never_end_the_stepper(keymap: str, tmp_path: Path) -> None:
    use_named(keymap)
    assert press_random_keys("forum", seed=2, keys=150, file=str(tmp_path / "marks")) >= 150


@pytest.mark.long
def test_random_keys_never_end_the_home_screen(tmp_path: Path) -> None:
    forum().save(tmp_path / "[a] f[N].dvtrace")
    (tmp_path / "damaged.dvtrace").write_bytes(b"\x00" * 50)
    assert press_random_keys(HOME, seed=1, keys=120, kept=[*tmp_path.iterdir()]) >= 120


@pytest.mark.parametrize("text", ODD_ANSWERS, ids=lambda text: ascii(text[:20]))
def test_odd_answers_are_steps_or_none(text: str) -> None:
    cursor = Cursor(forum(), 5)
    assert step_named(text, cursor) is None or cursor.goto(step_named(text, cursor) or 0).at in range(len(forum()))
    assert breakpoint_named(text, forum()) is not None or len(refusal(text, forum())) < 400


def test_digits_of_other_scripts_are_not_steps() -> None:
    cursor = Cursor(forum(), 5)
    for text in ("--5", "+-1", "1e9", "٣٧", "³", "-50%", "", "+", "%"):
        assert step_named(text, cursor) is None, text
    assert step_named("-" + "9" * 5000, cursor) == 5 - 10**18
    assert step_named("9" * 5000, cursor) == 10**18


@pytest.mark.long
@pytest.mark.parametrize("keys", ["qs", "qss/abc\n", "q?", "qq", "?qsq", "q:5\n"])
async def test_keys_after_quit_go_to_the_next_application(keys: str) -> None:
    async with stepper(forum()) as reader:
        await reader.press_at_once(keys)
        left, typed = [event.key for event in reader.app.typed_behind()], [KEY.get(key, key) for key in keys]
        assert left == typed[len(typed) - len(left) :], "the last ones, in their order"
        assert left == typed[1:] or keys[0] != "q"


KEY = {"/": "slash", "?": "question_mark", ":": "colon", "\n": "enter"}
