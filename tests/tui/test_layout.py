"""The arithmetic of the screen: every cell of the body belongs to one pane at every size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core.record import events as ev
from dispatchviz.tui.layout import needed_panes, pane_layout
from dispatchviz.tui.layout.pane_layout import GRAPH, KEYS, PANES, SOURCE, STEPS, Frame
from tests.steps import step

from .screens import SIZES
from .synthetic import forum

COMPUTED = forum()[step(forum(), ev.KeySetComputed)]


@given(st.integers(60, 300), st.integers(15, 100), st.sampled_from([None, 2, 6]), st.sampled_from([None, *PANES]))
def test_panes_fill_the_body_and_never_overlap(width: int, height: int, pinned: int | None, zoomed: int | None) -> None:
    shown = needed_panes.chosen(COMPUTED, pinned, pane_layout.slots(width, height))
    boxes = pane_layout.arrange(width, height, shown, Frame(), zoomed)
    cells = [
        (x, y)
        for box in boxes.values()
        for y in range(box.y, box.y + box.height)
        for x in range(box.x, box.x + box.width)
    ]
    assert len(cells) == len(set(cells))
    assert all(0 <= x < width and Frame().header + Frame().why <= y < height - Frame().footer for x, y in cells)
    assert {y for _, y in cells} == set(range(Frame().header + Frame().why, height - Frame().footer))
    assert set(boxes) == ({zoomed} if zoomed else {STEPS, *shown})


@pytest.mark.parametrize(("size", "panes"), [*zip(SIZES, [1, 2, 5, 5], strict=True)])
def test_how_many_panes_stand_beside_the_steps(size: tuple[int, int], panes: int) -> None:
    assert pane_layout.slots(*size) == panes
    shown = needed_panes.chosen(forum()[0], None, panes)
    boxes = pane_layout.arrange(*size, shown, Frame())
    assert all(box.height >= 6 and box.width >= 36 for box in boxes.values())


def test_a_step_brings_the_pane_that_tells_most() -> None:
    trace = forum()
    first = {type(event).__name__: needed_panes.chosen(event, None, 1) for event in trace}
    assert first["KeySetComputed"] == [KEYS]
    assert first["NodeCreated"] == [GRAPH]
    assert first["SourceLine"] == [SOURCE]


def test_the_readers_own_choice_comes_first() -> None:
    assert needed_panes.chosen(forum()[0], GRAPH, 1) == [GRAPH]
    assert GRAPH in needed_panes.chosen(forum()[0], GRAPH, 2)
    assert needed_panes.chosen(forum()[0], STEPS, 1) == [SOURCE]


def test_only_known_panes_are_needed() -> None:
    assert {pane for panes in needed_panes.NEEDED.values() for pane in panes} <= set(PANES) - {STEPS}
    assert all(issubclass(kind, ev.Event) for kind in needed_panes.NEEDED)
