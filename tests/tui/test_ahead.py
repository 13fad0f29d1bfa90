"""Tests of panes that look ahead within the row of the cursor."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.predictions.prediction import Kind
from dispatchviz.explain.predictions.trace_predictions import predictions_after
from dispatchviz.running.program import run
from dispatchviz.running.program_source import Code
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.layout.pane_choice import PaneChoice
from dispatchviz.views.layout.pane_layout import CALLS, CELL, ENGINE, GRAPH, KEYS, SOURCE, STEPS, TENSORS
from dispatchviz.views.layout.screen_plan import Scene
from dispatchviz.views.panes.ahead import looks_ahead, row_end, says_nothing, shown_step, title_ahead
from dispatchviz.views.panes.empty_titles import nothing
from dispatchviz.views.panes.pane_list import PANES, rows_of
from dispatchviz.views.panes.pane_rows import PaneRows
from dispatchviz.views.session import Session
from tests.steps import step

from .programs import example
from .screens import stepper

SIZES = [(80, 24), (120, 40), (160, 50)]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return example("forum.py")


def at_line(trace: Trace, number: int) -> Cursor:
    """The cursor on a line of the program, with folded rows."""
    events = (trace[at] for at in trace.steps_of(ev.SourceLine))
    return Session(
        trace, next(each.seq for each in events if isinstance(each, ev.SourceLine) and each.line == number)
    ).cursor


def rows(pane: int, cursor: Cursor) -> list[str]:
    return [row.plain for row in PaneRows(pane, rows_of(PANES[pane][1])).at(cursor, 58)]


def panes(cursor: Cursor, size: tuple[int, int], choice: PaneChoice | None = None) -> set[int]:
    """The open panes."""
    plan = Scene(cursor, opened_at=-1, choice=choice or PaneChoice()).plan(*size)
    return {pane for pane, box in plan.panes.items() if box.height > 1}


def test_a_line_shows_the_key_set_and_the_graph_of_its_call(trace: Trace) -> None:
    cursor = at_line(trace, 6)
    assert nothing(KEYS, trace, cursor.at) is not None
    call = trace[shown_step(KEYS, cursor)]
    assert isinstance(call, ev.Dispatched)
    assert call.operator == "aten::add.Tensor"
    assert shown_step(GRAPH, cursor) == row_end(cursor)
    assert "AutogradCUDA wins" in rows(KEYS, cursor)[0]
    graph = rows(GRAPH, cursor)
    assert "AddBackward0" in graph[0]
    assert not any("▶" in row for row in graph), "the cursor is not there yet"
    assert title_ahead(GRAPH, cursor) == " after this row"
    assert title_ahead(KEYS, cursor) == " inside this row"


def test_a_line_shows_its_result_before_the_variables(trace: Trace) -> None:
    shown = rows(TENSORS, at_line(trace, 6))
    assert shown[0].strip() == "After this row:"
    assert shown[1].split()[:3] == ["z", "[2,", "2]"]
    assert any("Variables, the most recently assigned first" in row for row in shown)


def test_a_call_shows_its_result_before_its_arguments(trace: Trace) -> None:
    call = Session(trace).cursor
    assert isinstance(trace[call.at], ev.Dispatched)
    shown = [row.strip() for row in rows(TENSORS, call)]
    assert shown[0] == "After this row:"
    assert shown[1].startswith("z (t4)")
    assert shown[shown.index("Now:") + 1].startswith("x ")


def test_panes_look_no_further_than_the_row(trace: Trace) -> None:
    cursor = at_line(trace, 1)
    assert [shown_step(pane, cursor) for pane in PANES] == [cursor.at] * len(PANES)
    assert says_nothing(KEYS, cursor)
    assert not looks_ahead(ENGINE, at_line(trace, 6))
    assert isinstance(trace[shown_step(ENGINE, at_line(trace, 7))], ev.BackwardStarted)


def test_a_pane_with_contents_stays_at_its_step(trace: Trace) -> None:
    call = Session(trace).cursor
    assert shown_step(KEYS, call) == call.at
    assert title_ahead(KEYS, call) == ""
    assert shown_step(GRAPH, at_line(trace, 7)) == at_line(trace, 7).at


def test_graph_of_one_line_is_shown_before_its_backward_pass() -> None:
    trace = run(Code("import torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")).trace
    assert shown_step(GRAPH, at_line(trace, 2)) == step(trace, ev.BackwardStarted)


def test_panes_do_not_look_past_an_open_question(trace: Trace) -> None:
    session = Session(trace, at_line(trace, 6).at)
    session.asking.start(trace)
    asked = session.asking.ahead(trace, session.cursor.at)
    assert asked is not None
    cursor = session.cursor.asked_ahead(asked, "predict")
    assert [shown_step(pane, cursor) for pane in (KEYS, GRAPH, TENSORS)] == [cursor.at] * 3
    assert not any("After this row" in row for row in rows(TENSORS, cursor))


@pytest.mark.parametrize("size", SIZES)
def test_key_set_and_graph_replace_titles_where_there_is_room(trace: Trace, size: tuple[int, int]) -> None:
    shown = panes(at_line(trace, 6), size)
    if size == (80, 24):
        assert shown == {STEPS, SOURCE}, "as before"
    else:
        assert {STEPS, KEYS, GRAPH, TENSORS} <= shown
        assert CALLS not in shown, "the line itself is all that it has"


@pytest.mark.parametrize("size", SIZES)
def test_a_presenter_sees_the_key_set_of_the_line(trace: Trace, size: tuple[int, int]) -> None:
    assert panes(at_line(trace, 6), size, PaneChoice(presenting=True)) == {STEPS, KEYS}
    assert panes(at_line(trace, 1), size, PaneChoice(presenting=True)) == {STEPS, SOURCE}


def test_titles_name_only_panes_that_will_have_contents(trace: Trace) -> None:
    plan = Scene(at_line(trace, 1), opened_at=-1).plan(120, 40)
    titles = {pane for pane, box in plan.panes.items() if box.height == 1}
    assert titles == {KEYS, GRAPH, TENSORS, ENGINE}, "nothing is ever printed"
    assert CELL not in titles


async def test_the_title_says_that_the_pane_looks_ahead(trace: Trace) -> None:
    async with stepper(trace, (120, 40), at_line(trace, 6).at, level=1) as reader:
        assert reader.sees("2 Key set inside this row ", "6 Backward graph after this row ")
        await reader.press("s")
        await reader.press("s")
        assert reader.sees("2 Key set ──")


@pytest.mark.parametrize("size", SIZES)
def test_a_pane_that_a_question_hides_leaves_its_place(size: tuple[int, int]) -> None:
    trace = example("forum.py")
    counted = step(trace, ev.DependenciesCounted)
    asked = next(each for each in predictions_after(trace, counted) if each.kind is Kind.NEXT)
    cursor = Session(trace, counted).cursor.asked_ahead(asked, "predict")
    assert ENGINE in panes(Session(trace, counted).cursor, size)
    assert ENGINE not in panes(cursor, size)
    assert panes(cursor, size, PaneChoice(presenting=True)) == {STEPS, GRAPH}
    said = PaneRows(ENGINE, rows_of(PANES[ENGINE][1])).said(cursor)
    assert said is not None
    assert said.plain == "? Hidden until you guess."
