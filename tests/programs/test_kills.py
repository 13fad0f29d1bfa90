"""Whatever ends a recording leaves a trace that opens, with all but the last moment in it (``kills.py`` tries more)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .kills import Way, end_one, older_trace, ways

pytestmark = pytest.mark.long


@pytest.mark.parametrize("way", ways(seed=15, number=10), ids=str)
def test_what_a_killed_recording_leaves_opens_and_is_whole(way: Way, tmp_path: Path) -> None:
    (tmp_path / "older").mkdir()
    older = older_trace(tmp_path / "older", way.suffix)
    assert end_one(way, tmp_path, older).wrong == []
