"""Tests of moves: the twin of each one returns where that is defined, and none leaves the trace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core.record.events import ErrorRaised, ImplEntered, SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor.cursor import Cursor
from dispatchviz.views.cursor.stepping_cursor import REMEMBERED
from tests.steps import last_step, line, step

from .synthetic import forum, nested, raising

MOVES = ["into", "into_back", "over", "over_back", "out", "out_back", "resume", "resume_back"]
JUMPS = ["first", "last", "caller", "callee", "undo", "toggle_mark"]


@st.composite
def cursors(draw: st.DrawFn) -> Cursor:
    trace = nested(draw(st.lists(st.integers(0, 8), min_size=1, max_size=40)))
    return Cursor(trace, draw(st.integers(0, len(trace) - 1)))


def parent(trace: Trace, at: int) -> int | None:
    return trace[at].parent


@given(cursors(), st.lists(st.sampled_from(MOVES + JUMPS), max_size=20))
def test_no_move_leaves_the_trace(cursor: Cursor, moves: list[str]) -> None:
    for move in moves:
        before, cursor = cursor, getattr(cursor, move)()
        assert 0 <= cursor.at < len(cursor.trace)
        assert cursor.at == before.at or cursor.came_from == before.at
        assert len(cursor.past) <= REMEMBERED


@given(cursors())
def test_into_and_its_twin_are_exact_opposites(cursor: Cursor) -> None:
    if cursor.at < cursor.last_step:
        assert cursor.into().into_back().at == cursor.at
    if cursor.at > 0:
        assert cursor.into_back().into().at == cursor.at


@given(cursors())
def test_over_back_returns_to_the_event_on_the_same_level(cursor: Cursor) -> None:
    after = cursor.over()
    if after.at > cursor.at and parent(cursor.trace, after.at) == parent(cursor.trace, cursor.at):
        assert after.over_back().at == cursor.at
    before = cursor.over_back()
    if before.at < cursor.at and parent(cursor.trace, before.at) == parent(cursor.trace, cursor.at):
        assert before.over().at == cursor.at


@given(cursors())
def test_over_skips_events_within_the_step(cursor: Cursor) -> None:
    after = cursor.over()
    inside = after.at in range(cursor.at + 1, cursor.trace.ends[cursor.at] + 1)
    assert not inside or after.at == cursor.last_step
    assert cursor.over_back().depth <= cursor.depth


@given(cursors())
def test_out_leaves_the_enclosing_event_and_out_back_goes_to_its_start(cursor: Cursor) -> None:
    around = parent(cursor.trace, cursor.at)
    if around is None:
        assert cursor.out().at == cursor.last_step
        assert cursor.out_back().at == 0
        return
    assert cursor.out().at == min(cursor.trace.ends[around] + 1, cursor.last_step)
    assert cursor.out_back().at == around


@given(cursors())
def test_resume_visits_the_same_stops_in_both_directions(cursor: Cursor) -> None:
    stops = [event.seq for event in cursor.trace if isinstance(event, SourceLine)]
    forward, here = [], Cursor(cursor.trace)
    while (after := here.resume()).at != here.at:
        here = after
        forward.append(here.at)
    assert [at for at in forward if at in stops] == [at for at in stops if at > 0]
    backward = []
    while (before := here.resume_back()).at != here.at:
        here = before
        backward.append(here.at)
    assert backward[-1:] in ([0], [])
    assert set(stops) <= {0, *forward, *backward}


@given(cursors(), st.integers(-5, 50))
def test_goto_clamps_and_undo_returns(cursor: Cursor, to: int) -> None:
    there = cursor.goto(to)
    assert there.at == min(max(to, 0), cursor.last_step)
    assert there.undo().at == cursor.at
    assert there.undo().past == cursor.past


@given(cursors())
def test_callee_undoes_caller(cursor: Cursor) -> None:
    up = cursor.caller()
    assert up.callee().at == cursor.at or up.at == cursor.at
    assert up.caller().callee().callee().at in (cursor.at, up.callee().at, up.callee().callee().at)


def test_two_callees_undo_two_callers() -> None:
    trace = forum()
    deep = Cursor(trace, step(trace, ImplEntered))
    up = deep.caller().caller()
    assert up.depth < deep.depth - 1
    assert up.callee().callee().at == deep.at
    assert up.into().below == ()


def test_marks_and_errors_stop_resume() -> None:
    trace = forum()
    marked = Cursor(trace, 9).toggle_mark().first()
    assert marked.goto(8).resume().at == 9
    assert marked.goto(9).toggle_mark().marks == frozenset()
    bad = raising()
    first = Cursor(bad, line(bad, 1)).resume()
    assert isinstance(bad[first.at], ErrorRaised)
    assert first.resume().at == last_step(bad)


@pytest.mark.parametrize("move", MOVES + JUMPS)
def test_trace_of_one_event_allows_no_move(move: str) -> None:
    trace = forum()
    assert getattr(Cursor(Trace(trace.header, trace[:1])), move)().at == 0


def test_history_is_bounded() -> None:
    cursor = Cursor(forum())
    for _ in range(REMEMBERED):
        cursor = cursor.last().first()
    assert len(cursor.past) == REMEMBERED
