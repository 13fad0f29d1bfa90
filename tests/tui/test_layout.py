"""The arithmetic of the screen: every cell of the body belongs to one pane at every size."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dispatchviz.core.record import events as ev
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout import needed_panes, pane_layout
from dispatchviz.views.layout.needed_panes import Shown
from dispatchviz.views.layout.pane_choice import PaneChoice
from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    ENGINE,
    GRAPH,
    KEYS,
    OUTPUT,
    PANES,
    SOURCE,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
    Frame,
)
from dispatchviz.views.layout.screen_plan import Scene
from tests.steps import step

from .screens import SIZES
from .synthetic import forum

COMPUTED = forum()[step(forum(), ev.KeySetComputed)]
BESIDE = [pane for pane in PANES if pane != STEPS]


def chosen(
    event: ev.AnyEvent, size: tuple[int, int], own: tuple[int, ...] = (), empty: set[int] | None = None
) -> Shown:
    silent = empty or set()
    return needed_panes.chosen(needed_panes.order(event, own), *size, Frame(), silent.__contains__, own)


@example((96, 15), [KEYS, CELL], {ENGINE, KEYS, CELL, SOURCE}, None)
@example((170, 15), [KEYS, CELL, SOURCE], {ENGINE, KEYS, SOURCE}, None)
@given(
    st.tuples(st.integers(60, 300), st.integers(15, 100)),
    st.lists(st.sampled_from(BESIDE), max_size=4, unique=True),
    st.sets(st.sampled_from(BESIDE)),
    st.sampled_from([None, *PANES]),
)
def test_panes_fill_the_body_and_never_overlap(
    size: tuple[int, int], own: list[int], empty: set[int], zoomed: int | None
) -> None:
    width, height = size
    shown = chosen(COMPUTED, size, tuple(own), empty)
    boxes = pane_layout.arrange(width, height, shown.panes, Frame(), zoomed, shown.shrunk)
    cells = [
        (x, y)
        for box in boxes.values()
        for y in range(box.y, box.y + box.height)
        for x in range(box.x, box.x + box.width)
    ]
    assert len(cells) == len(set(cells))
    assert all(0 <= x < width and Frame().header + Frame().why <= y < height - Frame().footer for x, y in cells)
    assert {y for _, y in cells} == set(range(Frame().header + Frame().why, height - Frame().footer))
    assert set(boxes) == ({zoomed} if zoomed else {STEPS, *shown.panes})
    assert zoomed or all(boxes[pane].height == 1 for pane in shown.shrunk)
    assert zoomed or all(boxes[pane].height > 2 for pane in boxes if pane not in shown.shrunk)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("empty", [set(), {KEYS, GRAPH, TENSORS, THREAD, ENGINE, OUTPUT}, {SOURCE, CALLS}])
def test_the_steps_have_half_the_height_and_the_whole_width(size: tuple[int, int], empty: set[int]) -> None:
    for event in forum():
        shown = chosen(event, size, (), empty)
        steps = pane_layout.arrange(*size, shown.panes, Frame(), None, shown.shrunk)[STEPS]
        body = size[1] - sum(Frame())
        assert steps.height == body // 2
        assert steps.width == size[0]


@pytest.mark.parametrize(("size", "panes"), [*zip(SIZES, [1, 2, 4, 8], strict=True)])
def test_how_many_panes_stand_below_the_steps(size: tuple[int, int], panes: int) -> None:
    shown = chosen(forum()[0], size)
    assert len(shown.panes) == panes
    boxes = pane_layout.arrange(*size, shown.panes, Frame())
    assert all(box.height >= 6 and box.width >= 36 for box in boxes.values())


def test_a_column_without_an_open_pane_leaves_its_width_to_the_others() -> None:
    shown = chosen(forum()[0], (200, 60), (), {KEYS, GRAPH, TENSORS, THREAD, ENGINE, OUTPUT, *needed_panes.UNTITLED})
    boxes = pane_layout.arrange(200, 60, shown.panes, Frame(), None, shown.shrunk)
    assert boxes[SOURCE].width > 95
    assert {boxes[pane].height for pane in (KEYS, GRAPH, ENGINE)} == {1}


@pytest.mark.parametrize("size", SIZES[1:])
def test_what_one_step_needs_stands_side_by_side(size: tuple[int, int]) -> None:
    """Two columns cannot keep all pairs apart, three can."""
    together = {(GRAPH, TENSORS), (TENSORS, THREAD), (THREAD, CALLS), (STRUCTURED, TENSORS)} if size[0] < 170 else set()
    homes = {pane: number for number, column in enumerate(pane_layout.columns(size[0])) for pane in column}
    needed = {panes[:2] for panes in needed_panes.NEEDED.values()}
    assert {pair for pair in needed if homes[pair[0]] == homes[pair[1]]} <= together


def test_a_step_brings_the_pane_that_tells_most() -> None:
    first = {type(event).__name__: chosen(event, (80, 24)).panes for event in forum()}
    assert first["KeySetComputed"] == [KEYS]
    assert first["NodeCreated"] == [GRAPH]
    assert first["SourceLine"] == [SOURCE]
    assert first["NodeQueued"] == [ENGINE]
    assert first["TensorCreated"] == [TENSORS]


def test_a_pane_that_says_nothing_gives_its_place_to_the_next() -> None:
    assert chosen(COMPUTED, (80, 24), (), {KEYS}).panes == [CALLS]
    assert chosen(COMPUTED, (80, 24), (), set(BESIDE)) == Shown([KEYS], set())


def test_the_readers_own_choice_comes_first() -> None:
    assert chosen(forum()[0], (80, 24), (GRAPH,)).panes == [GRAPH]
    assert chosen(forum()[0], (80, 24), (TABLE,)).panes == [TABLE]
    assert GRAPH in chosen(forum()[0], (100, 30), (GRAPH,)).panes
    assert chosen(forum()[0], (80, 24), (STEPS,)).panes == [SOURCE]


def test_the_operator_table_waits_to_be_asked_for() -> None:
    assert TABLE not in chosen(COMPUTED, (300, 100)).panes
    assert TABLE in chosen(COMPUTED, (300, 100), (TABLE,)).panes


def test_only_known_panes_are_needed() -> None:
    assert {pane for panes in needed_panes.NEEDED.values() for pane in panes} <= set(PANES) - {STEPS}
    assert all(issubclass(kind, ev.Event) for kind in needed_panes.NEEDED)


def test_every_pane_has_its_column() -> None:
    for width in (80, 120, 200):
        homes = [pane for column in pane_layout.columns(width) for pane in column]
        assert sorted(homes) == BESIDE


def test_what_is_kept_for_a_kind_of_step_comes_first_there() -> None:
    trace = forum()
    at = step(trace, ev.KeySetComputed)
    choice = PaneChoice().select(THREAD).keep(trace[at]).select(STEPS)
    assert choice.own(trace[at]) == (THREAD,)
    assert choice.own(trace[0]) == ()
    boxes = Scene(Cursor(trace, at), opened_at=0, choice=choice).plan(80, 24).panes
    assert boxes[THREAD].height == 1, "no guard is open here"
    assert choice.keep(trace[at]).kept == {}
