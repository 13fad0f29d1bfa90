"""The screen as data: its bars and boxes from a cursor and a size, without a terminal."""

from __future__ import annotations

import pytest

from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_choice import PaneChoice, pin_note
from dispatchviz.views.layout.pane_layout import GRAPH, KEYS, SMALLEST, STEPS, Box
from dispatchviz.views.layout.screen_plan import Scene
from dispatchviz.views.text.styled_line import line

from .screens import SIZES
from .synthetic import forum


@pytest.mark.parametrize("size", [*SIZES, SMALLEST])
@pytest.mark.parametrize("label", ["", " Search: "])
def test_boxes_cover_the_screen_once(size: tuple[int, int], label: str) -> None:
    boxes = dict(Scene(Cursor(forum(), 15), opened_at=0, label=label).plan(*size).boxes)
    if not label:
        del boxes["prompt"]  # is there, but not displayed
    cells = [(x, y) for box in boxes.values() for x in range(box.x, box.x + box.width)
             for y in range(box.y, box.y + box.height)]  # fmt: skip
    assert len(cells) == len(set(cells))
    rows = {y for _, y in cells}
    assert rows == set(range(size[1]))


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


def test_below_the_smallest_size_only_the_header_is_left() -> None:
    plan = Scene(Cursor(forum()), opened_at=0).plan(59, 15)
    assert (plan.bars.keys(), plan.panes, plan.boxes) == ({"header"}, {}, {"header": Box(0, 0, 59, 15)})


def test_choosing_panes() -> None:
    pinned = PaneChoice().select(GRAPH)
    assert pinned == PaneChoice(pinned=(GRAPH,))
    assert pinned.select(KEYS).pinned == (KEYS, GRAPH)
    assert pinned.zoom(GRAPH).select(STEPS) == PaneChoice(zoomed=STEPS)
    assert pinned.zoom(GRAPH).zoom(None) == pinned
    assert pin_note(pinned, pinned) is None
    note = pin_note(PaneChoice(), pinned)
    assert note is not None
    assert note.plain.startswith(" This pane stays")
