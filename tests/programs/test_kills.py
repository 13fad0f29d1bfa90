"""Whatever ends a recording leaves a trace that opens, with all but the last moment in it (``kills.py`` tries more)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz.core.record.events import SourceLine
from dispatchviz.trace import Trace

from .kills import Way, end_one, older_trace, ways

pytestmark = pytest.mark.long


@pytest.mark.parametrize("way", ways(seed=15, number=10), ids=str)
def test_what_a_killed_recording_leaves_opens_and_is_whole(way: Way, tmp_path: Path) -> None:
    (tmp_path / "older").mkdir()
    older = older_trace(tmp_path / "older", way.suffix)
    assert end_one(way, tmp_path, older).wrong == []


def test_unbuffered_the_file_has_the_last_line(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os, torch\nx = torch.ones(2) + 1\nos.kill(os.getpid(), 9)\n")
    command = ("-m", "dispatchviz", "trace", "--unbuffered", "--save", tmp_path / "killed.jsonl", program)
    ended = subprocess.run([sys.executable, *command], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    (part,) = tmp_path.glob("killed.part-*.jsonl")
    last = Trace.load(part).events[-1]
    assert isinstance(last, SourceLine)
    assert last.line == 3
