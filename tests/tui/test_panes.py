"""A pane is known wherever panes are listed: what is missing of a new one is named here."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.views.keymap import KEYMAP
from dispatchviz.views.layout import needed_panes, pane_layout
from dispatchviz.views.layout.pane_layout import (
    CELL,
    ENGINE,
    GRAPH,
    KEYS,
    NODE,
    OUTPUT,
    PANES,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
)
from dispatchviz.views.pane_help import ABOUT
from dispatchviz.views.panes import pane_list
from dispatchviz.views.panes.nothing_said import nothing
from tests.steps import step

from .synthetic import forum

BESIDE = [pane for pane in PANES if pane != STEPS]


@pytest.mark.parametrize("pane", PANES)
def test_every_pane_has_a_key_a_help_and_rows(pane: int) -> None:
    assert f"pane({pane})" in {entry.action for entry in KEYMAP}, "views/keymap.py"
    assert pane in ABOUT, "tui/screens/help_screen.py"
    assert pane in pane_layout.ROWS_WANTED, "views/layout/pane_layout.py"
    assert pane in pane_layout.PANE_NAMES, "views/layout/pane_layout.py"


@pytest.mark.parametrize("pane", BESIDE)
def test_every_pane_beside_the_steps_is_made_and_may_be_shown(pane: int) -> None:
    assert pane in pane_list.PANES, "views/panes/pane_list.py"
    assert pane in needed_panes.OTHERWISE, "views/layout/needed_panes.py"
    assert isinstance(pane_list.rows_of(pane_list.PANES[pane][1])(forum(), 0, 40), list)


def test_titles_of_panes_that_say_nothing_tell_when_they_will() -> None:
    trace = forum()
    said = {pane: found.plain for pane in BESIDE if (found := nothing(pane, trace, 0)) is not None}
    assert said == {
        KEYS: f"no dispatch here, next at step {step(trace, ev.Dispatched)}",
        CELL: f"no dispatch here, next at step {step(trace, ev.Dispatched)}",
        TABLE: f"no dispatch here, next at step {step(trace, ev.Dispatched)}",
        GRAPH: f"none yet, next at step {step(trace, ev.NodeCreated)}",
        NODE: f"no Node here, next at step {step(trace, ev.NodeCreated)}",
        ENGINE: f"no backward here, next at step {step(trace, ev.BackwardStarted)}",
        OUTPUT: "nothing printed yet, none follows",
        TENSORS: f"none yet, next at step {step(trace, ev.TensorCreated)}",
        STRUCTURED: f"no structured kernel here, next at step {step(trace, ev.MetaEntered)}",
        THREAD: "grad mode on, no guards, no modes",
    }
