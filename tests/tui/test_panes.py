"""A pane is known wherever panes are listed: what is missing of a new one is named here."""

from __future__ import annotations

import pytest

from dispatchviz.tui.keymap import KEYMAP
from dispatchviz.tui.layout import needed_panes, pane_layout
from dispatchviz.tui.layout.pane_layout import PANES, STEPS, Frame
from dispatchviz.tui.panes import pane_list
from dispatchviz.tui.screens.help_screen import ABOUT

from .synthetic import forum

BESIDE = [pane for pane in PANES if pane != STEPS]
LARGE = (200, 60)


@pytest.mark.parametrize("pane", PANES)
def test_every_pane_has_a_key_a_help_and_rows(pane: int) -> None:
    assert f"pane({pane})" in {entry.action for entry in KEYMAP}, "tui/keymap.py"
    assert pane in ABOUT, "tui/screens/help_screen.py"
    assert pane in pane_layout.ROWS_WANTED, "tui/layout/pane_layout.py"


@pytest.mark.parametrize("pane", BESIDE)
def test_every_pane_beside_the_steps_is_made_and_may_be_shown(pane: int) -> None:
    assert pane in pane_list.PANES, "tui/panes/pane_list.py"
    assert pane in needed_panes.OTHERWISE, "tui/layout/needed_panes.py"
    assert isinstance(pane_list.rows_of(pane_list.PANES[pane][1])(forum(), 0, 40), list)


@pytest.mark.parametrize("size", [LARGE, (120, 60)])
def test_a_large_screen_has_all_panes(size: tuple[int, int]) -> None:
    shown = needed_panes.chosen(forum()[0], None, pane_layout.slots(*size))
    assert shown == BESIDE, "slots in tui/layout/pane_layout.py"
    assert set(pane_layout.arrange(*size, shown, Frame())) == set(PANES), "arrange in tui/layout/pane_layout.py"
