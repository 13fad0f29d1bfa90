"""Numbers that come again: what is read is what was written."""

from __future__ import annotations

from dispatchviz.outputs.page.recent_numbers import RECENT, as_recent, from_recent
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.integers(0, 9) | st.integers(0, 100_000)))
def test_numbers_that_come_again_come_back(numbers: list[int]) -> None:
    assert [*from_recent(as_recent(numbers))] == numbers


def test_a_number_that_is_no_longer_recent_comes_back() -> None:
    numbers = [0, *range(RECENT + 1), 0, 1, RECENT]
    assert [*from_recent(as_recent(numbers))] == numbers
