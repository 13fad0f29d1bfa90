"""``record(save=...)`` and limits: the file has the same events as the trace, during the block and after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.events import ProgramRaised
from dispatchviz.core.record.recorders import recorder_base
from dispatchviz.core.record.trace_file import index, reader
from dispatchviz.core.record.unfinished_files import unfinished_files
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.running.recording import EngineName
from dispatchviz.trace import Trace
from tests.waiting import HANGS

SUFFIXES = (".dvtrace", ".jsonl", ".jsonl.gz")


def _work(iterations: int = 5) -> None:
    x = torch.ones(2, requires_grad=True)
    for _ in range(iterations):
        (x * 2).sum().backward()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_file_has_what_the_trace_has(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    with dispatchviz.record("p") as expected:
        _work()
    with dispatchviz.record("p", save=path) as trace:
        _work()
    loaded = Trace.load(path)
    assert [type(event) for event in trace] == [type(event) for event in expected]
    assert list(loaded) == list(trace)
    assert loaded.header == trace.header
    assert trace.notice == loaded.notice == ""
    assert os.listdir(tmp_path) == [path.name]


def test_it_can_be_looked_at_while_it_grows(tmp_path: Path) -> None:
    with dispatchviz.record(save=tmp_path / "t.dvtrace") as trace:
        assert len(trace) == 0
        _work()
        before = list(trace)
        assert len(before) == len(trace) == len(trace.columns.kinds)
        assert trace[0] == before[0]
        _work()
        assert len(trace) > len(before)
    assert list(trace)[: len(before)] == before


def test_an_exception_is_the_last_event_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="invalid literal"), dispatchviz.record(save=tmp_path / "t.dvtrace"):
        int("no number")
    assert isinstance(Trace.load(tmp_path / "t.dvtrace")[-1], ProgramRaised)


def test_limit_is_reported_and_the_block_runs_on(tmp_path: Path) -> None:
    with dispatchviz.record(save=tmp_path / "t.dvtrace", limit=50) as trace:
        _work(2000)
        total = torch.ones(2).sum()
    assert float(total) == 2
    assert len(trace) == len(Trace.load(tmp_path / "t.dvtrace")) == 50
    assert "the limit of 50 events is reached" in trace.notice
    with dispatchviz.record(limit="20kB") as other:
        _work(2000)
    assert 0 < len(other) < 2000 * 5  # without the limit, each iteration has 250 events
    assert "the limit of 20,000 bytes is reached" in other.notice
    assert list(other)[-1].seq == len(other) - 1


def test_unwritable_file_and_invalid_limit_are_refused_at_first(tmp_path: Path) -> None:
    ran = []
    with pytest.raises(DispatchvizError, match=r"cannot write .*: No such file"):  # noqa: SIM117
        with dispatchviz.record(save=tmp_path / "nowhere" / "t.dvtrace"):
            ran.append(1)
    with pytest.raises(DispatchvizError, match="is not valid"):  # noqa: SIM117
        with dispatchviz.record(limit="plenty"):
            ran.append(2)
    assert ran == []
    with dispatchviz.record() as trace:  # they leave no file
        _work()
    assert len(trace) > 0


KILLED = """
import os, signal, time
import dispatchviz
from dispatchviz import torch
with dispatchviz.record(save="t.dvtrace"):
    x = torch.ones(2, requires_grad=True)
    for iteration in range(200):
        (x * 2).sum().backward()
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_process_that_is_killed_leaves_what_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    ended = subprocess.run([sys.executable, "killed.py"], cwd=tmp_path, timeout=HANGS, check=False)
    assert ended.returncode == -signal.SIGKILL
    (part,) = unfinished_files(tmp_path, "t", ".dvtrace")
    with dispatchviz.record() as expected:
        _work(200)
    assert len(Trace.load(part)) == pytest.approx(len(expected), abs=10)


FORKS = """
import os, sys, warnings
import dispatchviz
from dispatchviz import torch
warnings.simplefilter("error")
with dispatchviz.record(save="t.dvtrace") as trace:
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    before = len(trace)
    child = os.fork()
    (x * 3).sum().backward()
if child == 0:
    assert len(trace) == 0, len(trace)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert len(trace) > before
assert list(dispatchviz.load("t.dvtrace")) == list(trace)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_leaves_the_file_to_its_parent(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(FORKS)
    ended = subprocess.run(
        [sys.executable, "forks.py"], cwd=tmp_path, timeout=HANGS, check=False, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")


ENGINES = pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])


@ENGINES
@pytest.mark.parametrize("looks", [False, True])
def test_a_recording_in_memory_has_a_limit_and_the_block_runs_on(
    looks: bool, engine: EngineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    library: Any = torch if engine == "model" else pytest.importorskip("torch")

    def run() -> tuple[Trace, float]:
        x = library.ones(2, requires_grad=True)
        with dispatchviz.record(engine=engine) as trace:
            for _ in range(60):
                x.mul(2).sum().backward()
                if looks:
                    assert trace[-1].seq == len(trace) - 1
            last = float(x.grad[0])
        return trace, last

    whole, _ = run()
    monkeypatch.setattr(recorder_base, "MOST_IN_MEMORY", 500)
    part, last = run()
    assert last == 120
    assert (whole.notice, whole.header.remarks) == ("", ())
    assert 250 < len(part) < 1000 < len(whole)  # notes are counted, and one may be of several events
    assert [type(event) for event in part] == [type(event) for event in whole[: len(part)]]
    assert part.notice.startswith(f"the recording ended before step {len(part)}: the default limit of about")
    assert part.header.remarks == part.notices == (part.notice,)


def test_a_file_is_read_when_its_events_are_first_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def read_index(raw: memoryview) -> index.Index:
        reads.append(raw)
        return index.read_index(raw)

    monkeypatch.setattr(reader, "read_index", read_index)
    with dispatchviz.record(save=tmp_path / "t.dvtrace") as trace:
        _work()
    with dispatchviz.record(limit=20) as other:
        _work()
    assert trace.header.program == "tests/running/test_recording_to_file.py"
    assert other.header.remarks == other.notices == (other.notice,) != ("",)
    assert reads == []
    assert list(trace) == list(Trace.load(tmp_path / "t.dvtrace"))
    assert len(other) == 20  # though its file is removed
    assert len(reads) == 3
