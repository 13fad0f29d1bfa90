"""Tests of the layout: sizes, the screen as data, every list of panes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.keymap import KEYMAP
from dispatchviz.views.layout import needed_panes, pane_layout
from dispatchviz.views.layout.needed_panes import Shown
from dispatchviz.views.layout.pane_choice import PaneChoice, pin_note
from dispatchviz.views.layout.pane_layout import (
    CALLS,
    CELL,
    COMPILER,
    ENGINE,
    GRAPH,
    KEYS,
    MEMORY,
    NODE,
    OUTPUT,
    PANES,
    SMALLEST,
    SOURCE,
    STEPS,
    STRUCTURED,
    TABLE,
    TENSORS,
    THREAD,
    Box,
    Frame,
)
from dispatchviz.views.layout.screen_plan import Scene
from dispatchviz.views.pane_help import ABOUT
from dispatchviz.views.panes import pane_list
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.text.styled_line import line
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


def cells_of(boxes: Mapping[object, Box]) -> set[tuple[int, int]]:
    """The cells that boxes cover, each at most once."""
    cells = [(x, y) for box in boxes.values() for x in range(box.x, box.x + box.width)
             for y in range(box.y, box.y + box.height)]  # fmt: skip
    assert len(cells) == len(set(cells)), "nothing is over something else"
    return set(cells)


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
    found = cells_of(boxes)
    assert all(0 <= x < width and Frame().header + Frame().why <= y < height - Frame().footer for x, y in found)
    assert {y for _, y in found} == set(range(Frame().header + Frame().why, height - Frame().footer))
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
def test_number_of_panes_follows_the_size(size: tuple[int, int], panes: int) -> None:
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
def test_panes_of_one_step_are_side_by_side(size: tuple[int, int]) -> None:
    """Three columns keep all pairs apart, two cannot."""
    together = {(GRAPH, TENSORS), (TENSORS, THREAD), (THREAD, CALLS), (STRUCTURED, TENSORS)} if size[0] < 170 else set()
    homes = {pane: number for number, column in enumerate(pane_layout.columns(size[0])) for pane in column}
    needed = {panes[:2] for panes in needed_panes.NEEDED.values()}
    assert {pair for pair in needed if homes[pair[0]] == homes[pair[1]]} <= together


def test_step_shows_its_most_useful_pane() -> None:
    first = {type(event).__name__: chosen(event, (80, 24)).panes for event in forum()}
    assert first["KeySetComputed"] == [KEYS]
    assert first["NodeCreated"] == [GRAPH]
    assert first["SourceLine"] == [SOURCE]
    assert first["NodeQueued"] == [ENGINE]
    assert first["TensorCreated"] == [TENSORS]


def test_empty_pane_leaves_its_place_to_the_next() -> None:
    assert chosen(COMPUTED, (80, 24), (), {KEYS}).panes == [CALLS]
    assert chosen(COMPUTED, (80, 24), (), set(BESIDE)) == Shown([KEYS], set())


def test_the_readers_own_choice_comes_first() -> None:
    assert chosen(forum()[0], (80, 24), (GRAPH,)).panes == [GRAPH]
    assert chosen(forum()[0], (80, 24), (TABLE,)).panes == [TABLE]
    assert GRAPH in chosen(forum()[0], (100, 30), (GRAPH,)).panes
    assert chosen(forum()[0], (80, 24), (STEPS,)).panes == [SOURCE]


def test_operator_table_is_shown_only_on_request() -> None:
    assert TABLE not in chosen(COMPUTED, (300, 100)).panes
    assert TABLE in chosen(COMPUTED, (300, 100), (TABLE,)).panes


def test_every_pane_has_its_column() -> None:
    for width in (80, 120, 200):
        homes = [pane for column in pane_layout.columns(width) for pane in column]
        assert sorted(homes) == BESIDE


def test_stored_panes_come_first_at_their_kind_of_step() -> None:
    trace = forum()
    at = step(trace, ev.KeySetComputed)
    choice = PaneChoice().select(THREAD).keep(trace[at]).select(STEPS)
    assert choice.own(trace[at]) == (THREAD,)
    assert choice.own(trace[0]) == ()
    boxes = Scene(Cursor(trace, at), opened_at=0, choice=choice).plan(80, 24).panes
    assert boxes[THREAD].height == 1, "no guard is open here"
    assert choice.keep(trace[at]).kept == {}


@pytest.mark.parametrize("size", [*SIZES, SMALLEST])
@pytest.mark.parametrize("label", ["", " Search: "])
def test_boxes_cover_the_screen_once(size: tuple[int, int], label: str) -> None:
    boxes = dict(Scene(Cursor(forum(), 15), opened_at=0, label=label).plan(*size).boxes)
    if not label:
        del boxes["prompt"]  # it exists, but is not displayed
    assert {y for _, y in cells_of(boxes)} == set(range(size[1]))


def test_a_question_shares_the_bottom_row_with_its_label() -> None:
    plan = Scene(Cursor(forum()), opened_at=0, label=" Search: ").plan(80, 24)
    assert [row.plain for row in plan.bars["footer"]] == [" Search: "]
    assert (plan.boxes["footer"], plan.boxes["prompt"]) == (Box(0, 23, 9, 1), Box(9, 23, 71, 1))


def test_the_first_hint_gives_way_to_a_note_and_to_a_move() -> None:
    at_start = Scene(Cursor(forum()), opened_at=0)
    assert "5 lines" in at_start.plan(80, 24).bars["why"][0].plain
    noted = Scene(Cursor(forum()), opened_at=0, note=line(" a note"))
    assert noted.plan(80, 24).bars["why"][0].plain == " a note"
    moved = Scene(Cursor(forum(), 1), opened_at=0)
    assert "5 lines" not in moved.plan(80, 24).bars["why"][0].plain


def test_reason_for_the_engine_is_complete_until_the_first_move() -> None:
    reason = "torch.sparse.sum is not in the model (nor is 1 other name); recorded on the installed PyTorch 2.13.0"
    trace = Trace(structs.replace(forum().header, chosen=reason), forum().events)
    opened = Scene(Cursor(trace), opened_at=0).plan(*SMALLEST)
    assert " ".join(row.plain.strip() for row in opened.bars["header"][-2:]) == reason
    assert opened.boxes["header"].height == len(opened.bars["header"])
    moved = Scene(Cursor(trace, 1), opened_at=0).plan(*SMALLEST)
    assert len(moved.bars["header"]) == len(opened.bars["header"]) - 1
    assert moved.bars["header"][-1].plain.endswith("…")


def test_below_the_smallest_size_only_the_header_is_left() -> None:
    plan = Scene(Cursor(forum()), opened_at=0).plan(59, 15)
    assert (plan.bars.keys(), plan.panes, plan.boxes) == ({"header"}, {}, {"header": Box(0, 0, 59, 15)})


def test_chosen_panes_stay_until_the_steps_are_chosen() -> None:
    pinned = PaneChoice().select(GRAPH)
    assert pinned == PaneChoice(pinned=(GRAPH,))
    assert pinned.select(KEYS).pinned == (KEYS, GRAPH)
    assert pinned.zoom(GRAPH).select(STEPS) == PaneChoice(zoomed=STEPS)
    assert pinned.zoom(GRAPH).zoom(None) == pinned
    assert pin_note(pinned, pinned) is None
    note = pin_note(PaneChoice(), pinned)
    assert note.plain.startswith(" This pane stays")


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
    assert {each for panes in needed_panes.NEEDED.values() for each in panes} <= set(BESIDE)
    assert all(issubclass(kind, ev.Event) for kind in needed_panes.NEEDED)


def test_titles_of_empty_panes_show_the_next_step() -> None:
    trace = forum()
    said = {pane: found.plain for pane in BESIDE if (found := nothing(pane, trace, 0)) is not None}
    assert said == {
        KEYS: f"no dispatch here, next at step {step(trace, ev.Dispatched)}",
        CALLS: f"no call here, next at step {step(trace, ev.Dispatched)}",
        CELL: f"no dispatch here, next at step {step(trace, ev.Dispatched)}",
        TABLE: f"no dispatch here, next at step {step(trace, ev.Dispatched)}",
        GRAPH: f"none yet, next at step {step(trace, ev.NodeCreated)}",
        NODE: f"no Node here, next at step {step(trace, ev.NodeCreated)}",
        ENGINE: f"no backward here, next at step {step(trace, ev.BackwardStarted)}",
        OUTPUT: "nothing printed yet, none later",
        TENSORS: f"none yet, next at step {step(trace, ev.TensorCreated)}",
        STRUCTURED: f"no structured kernel here, next at step {step(trace, ev.MetaEntered)}",
        THREAD: "grad mode on, no guards, no modes",
        COMPILER: "no compiled code here, none later",
        MEMORY: "nothing saved yet, none later",
    }
