"""Collectives that cannot end."""

from __future__ import annotations

import msgspec

from dispatchviz.core.record.recording_limit import end_before
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.ranks.member import Member
from dispatchviz.explain.comparison.ranks.mismatches import mismatches

from .processes import AGREEING, member


def said(*members: object) -> list[str]:
    return [statement.text for statement in mismatches(members)]  # type: ignore[arg-type]


def test_ranks_that_agree_have_no_mismatch() -> None:
    assert said(*AGREEING) == []


def test_rank_that_ends_before_a_collective_is_named() -> None:
    assert said(member(0, 1, ("allreduce_", 1), 2, ("allreduce_", 2)), member(1, 1, ("allreduce_", 1), 4)) == [
        (
            "Rank 1 never called collective 1 of the default group: all_reduce (line 2: second), for which rank 0 "
            "waited. The recording of rank 1 ends after all_reduce 0 at line 4: fourth."
        )
    ]


def test_error_that_ended_a_rank_is_quoted() -> None:
    (text,) = said(member(0, ("allreduce_", 1)), member(1, 3, raised="ValueError"))
    assert text.endswith("Rank 1 raised ValueError: no data (line 3).")


def test_other_collective_is_named_and_what_follows_is_not() -> None:
    first = member(0, 1, ("allreduce_", 1), ("allreduce_", 3))
    second = member(1, 2, ("broadcast_", 1), ("barrier", 2), ("barrier", 3))
    assert said(first, second) == [
        (
            "Rank 0 calls all_reduce (line 1: first) and rank 1 calls broadcast (line 2: second) as collective 0 of "
            "the default group. All ranks of a group must call the same collectives in the same order."
        )
    ]


def test_different_sizes_are_named() -> None:
    (text,) = said(member(0, 1, ("allreduce_", 1)), member(1, 1, ("allreduce_", 1), elements=3))
    assert text == (
        "The ranks do not agree in collective 0 of the default group, all_reduce (line 1: first): rank 0 gives 4 "
        "elements of float32 and rank 1 gives 3 elements of float32."
    )


def test_sizes_of_a_gather_may_differ() -> None:
    assert said(member(0, ("allgather_", 1)), member(1, ("allgather_", 1), elements=3)) == []


def test_rank_whose_recording_has_a_part_of_its_steps_is_not_blamed() -> None:
    other = member(1, 2)
    some = msgspec.structs.replace(other.trace.header, only=("line=2",))
    cut = msgspec.structs.replace(other.trace.header, remarks=(end_before(1, "the limit is reached"),))
    for header in (some, cut):
        assert said(member(0, ("allreduce_", 1)), Member(Trace(header, other.trace.events))) == []


def test_rank_that_was_not_recorded_is_not_blamed() -> None:
    assert said(member(0, ("allreduce_", 1))) == []
