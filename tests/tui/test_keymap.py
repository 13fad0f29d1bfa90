"""The one table of keys."""

from __future__ import annotations

from collections import Counter

import pytest

from dispatchviz.tui.actions import ACTIONS
from dispatchviz.tui.app import StepperApp
from dispatchviz.tui.commands.focused_pane import FOCUS_ACTIONS
from dispatchviz.tui.screens.help_screen import help_rows
from dispatchviz.tui.screens.stepper_screen import StepperScreen
from dispatchviz.views.bars.footer_bar import footer_row
from dispatchviz.views.bars.why_bar import first_notes
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import FOOTER_KEYS, GOES_BACK, GOES_HOME, KEYMAP, QUITS, Leaving, key_of
from dispatchviz.views.layout.pane_layout import PANES
from dispatchviz.views.pane_help import ABOUT
from dispatchviz.views.session import Session

from .screens import Reader, read_session
from .synthetic import forum, raising


def test_no_key_does_two_things() -> None:
    assert max(Counter(key for entry in KEYMAP for key in entry.keys).values()) == 1


def test_every_action_exists() -> None:
    for entry in KEYMAP:
        name, _, argument = entry.action.removeprefix("app.").partition("(")
        owner = StepperApp if entry.action.startswith("app.") else StepperScreen
        assert name in ACTIONS or name in FOCUS_ACTIONS or hasattr(owner, f"action_{name}")
        if name in ("move", "jump"):
            assert hasattr(Cursor, argument.strip("')"))


def test_shift_is_the_same_step_backwards() -> None:
    for move in ("into", "over", "out", "resume"):
        assert key_of(f"move('{move}')").keys[0].upper() == key_of(f"move('{move}_back')").keys[0]


def test_keys_that_terminals_swallow_are_never_the_only_ones() -> None:
    for entry in KEYMAP:
        assert any(len(key) == 1 or not key.startswith(("f1", "shift+", "alt+")) for key in entry.keys) or (
            entry.action == "app.focus_previous"
        )


def test_the_footer_has_at_most_seven_keys_and_drops_the_least_needed() -> None:
    wide, narrow = footer_row(200).plain, footer_row(60).plain
    assert len([entry for entry in KEYMAP if entry.footer]) <= FOOTER_KEYS
    assert footer_row(60).width <= 60
    for always in ("s step", "? help", "q quit"):
        assert always in wide
        assert always in narrow


@pytest.mark.parametrize("pane", PANES)
def test_the_help_is_made_from_the_keymap(pane: int) -> None:
    text = "\n".join(row.plain for row in help_rows(pane))
    assert ABOUT[pane] in text
    for entry in KEYMAP:
        assert f"{entry.shown:<14}{entry.help}" in text


def test_the_first_hint_fits_the_narrowest_screen_it_is_made_for() -> None:
    for trace in (forum(), raising()):
        for hint in (first_notes(trace, 0)[0], first_notes(trace, len(trace) - 1)[0]):
            assert hint.width < 80
            assert sum(role == "keycap" for _, role in hint.spans) == 3


def test_an_action_without_keys_is_an_error() -> None:
    with pytest.raises(KeyError):
        key_of("nothing")


@pytest.mark.parametrize("leaving", [QUITS, GOES_HOME, GOES_BACK], ids=lambda leaving: leaving.footer)
def test_the_key_that_closes_says_where_it_leads(leaving: Leaving) -> None:
    async def story(reader: Reader) -> None:
        assert reader.sees(f"q {leaving.footer}")
        await reader.press("ctrl+c")
        assert reader.sees(f"q {leaving.said}")
        await reader.press("question_mark", *["pagedown"] * 9)
        assert reader.sees(leaving.help)

    read_session(Session(forum(), 0, leaving=leaving), story)
