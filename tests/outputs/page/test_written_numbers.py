"""Columns of numbers as text: reading returns the numbers that were written."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dispatchviz.outputs.page.written_numbers import DIGITS, RECENT, as_recent, from_recent, read, written


@given(st.lists(st.integers(-(2**31), 2**31)))
def test_numbers_come_back(numbers: list[int]) -> None:
    assert [*read(written(numbers))] == numbers


@given(st.lists(st.integers(0, 9) | st.integers(0, 100_000)))
def test_numbers_that_come_again_come_back(numbers: list[int]) -> None:
    assert [*from_recent(as_recent(numbers))] == numbers


def test_a_number_that_is_no_longer_recent_comes_back() -> None:
    numbers = [0, *range(RECENT + 1), 0, 1, RECENT]
    assert [*from_recent(as_recent(numbers))] == numbers


def test_small_numbers_take_one_character_and_json_adds_none() -> None:
    assert len(written(range(-32, 32))) == 64
    assert len(json.dumps(DIGITS)) == len(DIGITS) + 2
