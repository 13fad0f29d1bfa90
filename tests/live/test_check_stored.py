"""``make check-release``: stored programs on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dispatchviz.live.snapshot import read_snapshot
from scripts.check_stored import SAME, SNAPSHOT, both, together, verdict_of

pytestmark = [pytest.mark.torch, pytest.mark.long]


def test_stored_program_runs_on_both_engines_and_gets_a_verdict(tmp_path: Path) -> None:
    name = "examples/errors/cat_of_nothing"
    both(tmp_path, [name])
    assert verdict_of(together()[name], tmp_path, read_snapshot(tmp_path / SNAPSHOT)) == (SAME, [])
