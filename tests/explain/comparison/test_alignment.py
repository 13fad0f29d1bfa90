"""What is compared of an event, and the alignment of two sequences."""

from __future__ import annotations

import typing
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.core.record import events as ev
from dispatchviz.explain.comparison import event_facts, sequence_alignment
from dispatchviz.explain.comparison.event_facts import TEXT, pairing, values, way
from dispatchviz.explain.comparison.sequence_alignment import Places, aligned

KINDS = typing.get_args(ev.AnyEvent)
COUNTED = event_facts._COUNTED


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_number_that_only_counts_is_compared_unseen(kind: type[ev.Event]) -> None:
    """A field that holds such numbers beside others is taken apart, or left out with a reason."""
    for name, written in kind.__annotations__.items():
        counts = any(counted in written for counted in COUNTED)
        known = (kind, name) in event_facts._TAKEN_APART or (kind, name) in event_facts._LEFT_OUT
        assert not counts or written in COUNTED or written in event_facts._BY_TYPE or known or kind in TEXT, name


def test_tables_name_fields_that_exist() -> None:
    tables: tuple[Any, ...] = (*event_facts._LEFT_OUT, *event_facts._TAKEN_APART, *event_facts.VALUES)
    pairs = {(kind, name) for kind, names in event_facts._PAIRED_BY.items() for name in names}
    named: set[tuple[Any, str]] = {*tables, *pairs}
    for kind, name in named:
        assert name in kind.__struct_fields__, (kind, name)


def test_numbers_change_nothing() -> None:
    one = ev.KeySetComputed(5, 4, (("self", 1, 7), ("other", 2, 9)), 0, 0, 0, 15)
    other = msgspec.structs.replace(one, seq=8, parent=7, arguments=(("self", 4, 7), ("other", 4, 9)))
    assert way(ev.KeySetComputed)(one) == way(ev.KeySetComputed)(other)
    assert way(ev.KeySetComputed)(one) != way(ev.KeySetComputed)(msgspec.structs.replace(one, excluded=1))


def test_values_are_apart_from_the_way() -> None:
    one = ev.BindingEntered(1, 0, "torch.add", "f", "s", 1, (("input", "t3"), ("alpha", "1")), "aten::add.Tensor")
    renamed = msgspec.structs.replace(one, arguments=(("input", "t5"), ("alpha", "1")))
    other = msgspec.structs.replace(one, arguments=(("input", "t3"), ("alpha", "2")))
    had = values(ev.BindingEntered)
    assert had is not None
    assert had(one) == had(renamed) != had(other)
    assert way(ev.BindingEntered)(one) == way(ev.BindingEntered)(other)
    assert pairing(ev.BindingEntered)(one) == "torch.add"


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
