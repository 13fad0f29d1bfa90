"""The alignment of two sequences: equal elements, in order, as many as there can be, at a bounded cost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.explain.comparison import sequence_alignment
from dispatchviz.explain.comparison.sequence_alignment import Places, aligned

SEQUENCES = st.lists(st.integers(0, 4), max_size=14)


def longest(a: list[int], b: list[int]) -> int:
    """The length of the longest common subsequence, by the table that everybody knows."""
    row = [0] * (len(b) + 1)
    for x in a:
        new = [0]
        for j, y in enumerate(b):
            new.append(row[j] + 1 if x == y else max(row[j + 1], new[j]))
        row = new
    return row[-1]


def check(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    pairs = aligned(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(i < k and j < n for (i, j), (k, n) in pairwise(pairs))
    return pairs


@given(SEQUENCES, SEQUENCES)
def test_as_many_as_there_can_be(a: list[int], b: list[int]) -> None:
    assert len(check(a, b)) == longest(a, b)


@given(SEQUENCES, SEQUENCES)
def test_where_the_work_is_too_much(a: list[int], b: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence_alignment, "MOST_EDITS", 0)
        pairs = check(a, b)
    assert bool(pairs) == bool(set(a) & set(b))


def test_long_sequences_with_nothing_alike_end() -> None:
    many = 200_000
    assert aligned(range(many), range(many, 2 * many)) == []
    assert len(check([*range(many), 1], [2, *range(many)])) == many


def test_long_sequences_that_differ_everywhere_end() -> None:
    a, b = [n % 7 for n in range(100_000)], [n % 11 for n in range(100_000)]
    assert len(check(a, b)) > 1000


def test_what_a_loop_does_once_more_is_its_last_turn() -> None:
    assert aligned([9, 1, 2, 1, 2, 8], [9, 1, 2, 1, 2, 1, 2, 8]) == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 7)]


def test_places_are_found_from_where_they_are_asked_for() -> None:
    places = Places(["a", "b", "a", "c", "b"])
    assert [places.first(["a"], 0), places.first(["b", "c"], 2), places.first(["a"], 3)] == [0, 3, None]
    assert places.first(["b", "a"], 4) == 4
