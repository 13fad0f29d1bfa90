"""Processes side by side: rows in the order of time, and collectives across the lanes."""

from __future__ import annotations

from dispatchviz.explain.comparison.divergences import compare
from dispatchviz.explain.comparison.ranks.lanes import lanes
from dispatchviz.explain.comparison.ranks.member import in_order
from dispatchviz.explain.kinds.collective import amount
from dispatchviz.views.cards.lanes_text import cell_text, lanes_lines, why_lines
from dispatchviz.views.text.console import Console

from .processes import AGREEING, member

PLAIN = Console(90, colors=False)


def test_collective_is_one_row_of_all_ranks() -> None:
    found = lanes(AGREEING)
    assert [row.steps for row in found.rows] == [(0, 0), (None, 1), (1, 2), (2, 3), (3, None), (4, 4), (5, None)]
    assert [row.meeting is not None for row in found.rows] == [False, False, True, False, False, True, False]


def test_last_rank_of_a_collective_is_the_one_that_called_last() -> None:
    found = lanes(AGREEING)
    met = [row.meeting for row in found.rows if row.meeting is not None]
    assert [(meeting.last, meeting.delay(0), meeting.delay(1)) for meeting in met] == [(0, 2.0, 0.0), (1, 0.0, 12.0)]
    assert met[1].title(found.members) == (
        "all_reduce 1 of the default group, 4 elements of float32; rank 1 came last, 12.0 ms after the first"
    )


def test_rank_that_never_calls_has_a_cross() -> None:
    found = lanes((member(0, ("allreduce_", 1)), member(1, 2)))
    (row,) = (row for row in found.rows if row.meeting is not None)
    assert [cell_text(found, row, lane) for lane in (0, 1)] == ["● all_reduce 0", "✗ never"]


def test_process_without_collectives_runs_beside_the_others() -> None:
    found = lanes((*AGREEING, member(7, 1, 2, name="rank0.worker3")))
    assert found.members[2].name == "worker 3 of rank 0"
    assert [row.steps[2] for row in found.rows if row.steps[2] is not None] == [0, 1]


def test_lanes_are_in_the_order_of_ranks() -> None:
    main = member(8, 1, name="main")
    names = [one.name for one in in_order((AGREEING[1], member(9, 1, name="process44"), AGREEING[0], main))]
    assert names == ["main", "rank 0", "rank 1", "process 44"]


def test_rank_is_known_from_a_collective_before_the_header_has_it() -> None:
    killed = member(1, ("allreduce_", 1), name="process4242")
    assert (killed.rank, killed.name) == (1, "rank 1")


def test_lanes_as_text() -> None:
    assert list(lanes_lines(lanes(AGREEING), PLAIN))[:5] == [
        f"{'rank 0':<46}rank 1",
        f"{'line 1  first':<46}line 1  first",
        f"{'':<46}line 2  second",
        "── broadcast 0 of the default group, 4 elements of float32; rank 0 came last, 2.0 ms a… ──",
        f"{'● broadcast 0  +2.0 ms':<46}● broadcast 0  first",
    ]


def test_barrier_passes_no_tensor() -> None:
    call = member(0, ("barrier", 1)).collectives[0]
    assert amount(call) == "no tensor", "PyTorch passes one byte, which the program does not know"


def test_line_that_is_reached_several_times_in_a_row_has_one_row() -> None:
    found = lanes((member(0, 1, 1, 1, 2, 1), member(1)))
    assert [row.steps[0] for row in found.rows] == [0, 3, 4]


def test_empty_traces_have_no_rows() -> None:
    assert lanes((member(0), member(1))).rows == ()


def test_rank_and_time_of_a_collective_are_no_difference() -> None:
    first, second = member(0, 1, ("allreduce_", 1)), member(1, 1, ("allreduce_", 9))
    assert compare(first.trace, second.trace).same
    assert not compare(first.trace, member(1, 1, ("broadcast_", 9)).trace).same


def test_ranks_that_agree_have_one_line() -> None:
    assert list(why_lines(AGREEING, PLAIN)) == ["Rank 0 and rank 1: they agree in all collectives (2)."]


def test_second_worker_of_a_name_is_distinguished() -> None:
    """Each epoch of a DataLoader starts its workers anew."""
    names = [one.name for one in (member(0, 1, name="worker0"), member(0, 1, name="rank1.worker0-2"))]
    assert names == ["worker 0", "worker 0 (2nd) of rank 1"]
