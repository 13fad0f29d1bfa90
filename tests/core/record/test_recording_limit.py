"""What ``--limit`` and ``record(limit=...)`` mean."""

from __future__ import annotations

import pytest

from dispatchviz.core.record.recording_limit import Limit, read_limit
from dispatchviz.errors import DispatchvizError


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (None, Limit()),
        ("1000000", Limit(events=1_000_000)),
        ("1_000", Limit(events=1000)),
        ("500MB", Limit(bytes=500_000_000)),
        ("2 GiB", Limit(bytes=2 << 30)),
        ("3k", Limit(bytes=3000)),
        ("64b", Limit(bytes=64)),
    ],
)
def test_a_limit_is_a_number_of_events_or_a_size(text: str | None, limit: Limit) -> None:
    assert read_limit(text) == limit


@pytest.mark.parametrize("text", ["", "0", "-3", "many", "3 apples", "1.5GB", "0MB", "_", "9" * 30])
def test_anything_else_is_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(DispatchvizError, match=r"means nothing: write a number of events \(1000000\) or a size"):
        read_limit(text)
