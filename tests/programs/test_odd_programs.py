"""Programs that misbehave: their output in a shell, forks, killed recordings, standard output."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

from dispatchviz.core.record.events import SourceLine
from dispatchviz.running.process.children import Family, in_family
from dispatchviz.running.process.standard_output import reporting_writes
from dispatchviz.trace import Trace
from tests.amounts import some

from .kills import Way, end_one, older_trace, ways
from .odd_programs import PLAIN, TORCH, Odd
from .ways import PYTHON, TRACED, UNTRACED, seen


def _named(odd: Odd) -> str:
    return odd.name


@pytest.mark.long
@pytest.mark.parametrize("odd", some(PLAIN, 4), ids=_named)
def test_an_odd_program_is_seen_as_under_python(odd: Odd, tmp_path: Path) -> None:
    """The program runs with a trace. The gate takes every fourth program."""
    assert seen(odd, TRACED, tmp_path / "traced") == seen(odd, PYTHON, tmp_path / "plain")


@pytest.mark.long
@pytest.mark.parametrize("odd", some(PLAIN, 8), ids=_named)
def test_an_odd_program_without_a_trace_is_seen_as_under_python(odd: Odd, tmp_path: Path) -> None:
    """Less happens without a trace, in the same runner, so the gate takes every eighth program."""
    assert seen(odd, UNTRACED, tmp_path / "untraced") == seen(odd, PYTHON, tmp_path / "plain")


@pytest.mark.torch
@pytest.mark.parametrize("odd", some(TORCH, 6), ids=_named)
def test_an_odd_program_is_seen_as_under_pytorch(odd: Odd, tmp_path: Path) -> None:
    assert seen(odd, TRACED, tmp_path / "traced") == seen(odd, PYTHON, tmp_path / "pytorch")


def test_the_programs_line_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    callers, forked = list[FrameType | None](), list[int]()

    def fork() -> int:
        callers.append(sys._getframe(0).f_back)
        return 12

    monkeypatch.setattr(os, "fork", fork)
    with in_family(Family(lambda: None, forked.append)):
        assert (os.fork(), os.fork()) == (12, 12)
    assert callers == [sys._getframe(0)] * 2
    assert (forked, os.fork) == ([12, 12], fork)


def test_failed_fork_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "no more processes")

    forked = list[int]()
    monkeypatch.setattr(os, "fork", fork)
    with in_family(Family(lambda: None, forked.append)):
        for _ in range(2):
            with pytest.raises(BlockingIOError):
                os.fork()
    assert not forked


@pytest.mark.long
@pytest.mark.parametrize("way", ways(seed=15, number=10), ids=str)
def test_trace_of_a_killed_recording_opens_complete(way: Way, tmp_path: Path) -> None:
    (tmp_path / "older").mkdir()
    older = older_trace(tmp_path / "older", way.suffix)
    assert end_one(way, tmp_path, older).wrong == []


@pytest.mark.long
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


def _stream(line_buffering: bool = False) -> tuple[io.BytesIO, io.TextIOWrapper]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", line_buffering=line_buffering)  # type: ignore[type-var]


@pytest.mark.parametrize("line_buffering", [True, False])
def test_text_and_bytes_are_recorded_in_written_order(line_buffering: bool) -> None:
    rng = random.Random(3)
    raw, stream = _stream(line_buffering)
    told: list[str] = []
    written: list[str] = []
    with reporting_writes(stream, told.append):
        for number in range(300):
            text = f"{number} \u20ac" * rng.choice((1, 3, 4000)) + rng.choice(("", "\n"))
            written.append(text)
            way = rng.randrange(4)
            if way == 0:
                print(text, end="", file=stream)
            elif way == 1:
                stream.writelines([text])
            elif way == 2:
                stream.flush()
                stream.buffer.write(text.encode())
            else:
                stream.write(text)
    stream.flush()
    assert "".join(told) == "".join(written)
    assert raw.getvalue().decode() == "".join(written)
    assert not {"write"} & (set(vars(stream)) | set(vars(stream.buffer)))


def test_failed_write_is_not_recorded() -> None:
    _, stream = _stream()
    told: list[str] = []
    with reporting_writes(stream, told.append):
        with pytest.raises(UnicodeEncodeError):
            stream.write("\ud800")
        with pytest.raises(TypeError):
            stream.write(b"bytes")  # type: ignore[arg-type]
        stream.write("good")
    assert told == ["good"]


def test_detached_or_closed_stream_is_no_problem() -> None:
    for end in (io.TextIOWrapper.detach, io.TextIOWrapper.close):
        _, stream = _stream()
        with reporting_writes(stream, print):
            end(stream)
