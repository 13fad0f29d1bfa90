"""A growing file is read as it grows: each look returns a trace, and the last one is that of the complete file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.trace_file import Trace, TraceError, followed_file
from dispatchviz.core.record.trace_file.column_builder import columns_of
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.core.record.trace_file.nesting import Nesting
from dispatchviz.core.record.trace_file.writers import IndexedWriter
from dispatchviz.core.record.unfinished_files import is_being_written, unfinished_files, unfinished_name

from .test_columns import assert_same_columns


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("followed") / "whole.dvtrace"
    with dispatchviz.record(save=path):
        x = torch.ones(2, requires_grad=True)
        for _ in range(40):
            (x * 2).sum().backward()
    return path


@pytest.fixture
def ended() -> int:
    """The number of a process that is over."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def _written(whole: Path, part: Path, pieces: int) -> Iterator[bool]:
    """Write a file again, piece by piece, in blocks or not. Yield whether the last piece was written."""
    raw = whole.read_bytes()
    size = len(raw) // pieces + 1
    with part.open("wb") as file:
        for at in range(0, len(raw), size):
            file.write(raw[at : at + size])
            file.flush()
            yield at + size >= len(raw)


@pytest.mark.parametrize("pieces", [1, 2, 7, 100])
def test_each_read_has_the_first_events_and_the_last_has_all(pieces: int, whole: Path, tmp_path: Path) -> None:
    expected, looked = Trace.load(whole), list[Trace]()
    part = tmp_path / unfinished_name("t", ".dvtrace", os.getpid())
    file = None
    for is_last in _written(whole, part, pieces):
        file = file or FollowedFile(part)
        trace = file.look()
        assert file.over is is_last
        looked += [trace] if trace is not None else []
    lengths = [len(trace) for trace in looked]
    assert lengths == sorted(lengths)
    for trace in looked:
        assert list(trace) == list(expected)[: len(trace)]
        assert trace.notice == ""
    assert list(looked[-1]) == list(expected)
    assert looked[-1].header == expected.header
    assert file is not None
    assert file.look() is None


def test_a_look_makes_the_columns_of_new_events_only(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    per_part, pieces = 300, 25
    made, with_events = list[int](), Nesting.with_events

    def counted(nesting: Nesting, first: int, parents: Any, *marks: Any) -> Any:
        made.append(len(parents))
        return with_events(nesting, first, parents, *marks)

    events, part = list(Trace.load(whole)), tmp_path / unfinished_name("t", ".dvtrace", os.getpid())
    monkeypatch.setattr(followed_file, "EVENTS_PER_PART", per_part)
    monkeypatch.setattr(Nesting, "with_events", counted)
    with part.open("wb") as stream:
        writer = IndexedWriter(stream, Trace.load(whole).header)
        file, looks = FollowedFile(part), list[Trace]()
        for begin in range(0, len(events), size := len(events) // pieces):
            writer.add(events[begin : begin + size])
            stream.flush()
            looks += [trace] if (trace := file.look()) is not None else []
    assert len(events) > 2000
    assert len(looks) > pieces - 2
    assert sum(made) <= len(events) + len(looks) * (per_part + size)
    for trace in looks:
        assert_same_columns(trace.columns, columns_of(events[: len(trace)]))


def test_file_of_a_killed_process_is_reported_once_as_cut_off(whole: Path, tmp_path: Path, ended: int) -> None:
    part = tmp_path / unfinished_name("t", ".dvtrace", ended)
    part.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    file = FollowedFile(part)
    trace = file.look()
    assert trace is not None
    assert 0 < len(trace) < len(Trace.load(whole))
    assert "is cut off: it opens up to step" in trace.notice
    assert file.over


def test_unfinished_file_has_the_notice_still_being_recorded(whole: Path, tmp_path: Path) -> None:
    part = tmp_path / unfinished_name("t", ".dvtrace", os.getpid())
    part.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    trace = Trace.load(part)
    assert trace.notice == f"{part} is still being recorded: it opens up to step {len(trace) - 1}"


def test_damaged_block_ends_the_followed_trace(whole: Path, tmp_path: Path) -> None:
    raw = bytearray(whole.read_bytes())
    raw[len(raw) // 3] ^= 1
    part = tmp_path / unfinished_name("t", ".dvtrace", os.getpid())
    part.write_bytes(raw[: len(raw) // 2])
    first, again = FollowedFile(part), FollowedFile(part)
    seen = first.look()
    assert len(seen or ()) < len(Trace.load(whole))
    part.write_bytes(raw)
    assert again.look() is not None


def test_file_name_has_the_writing_process(tmp_path: Path, ended: int) -> None:
    mine = tmp_path / unfinished_name("run", ".dvtrace", os.getpid())
    assert mine.name == f"run.part-{os.getpid()}.dvtrace"
    assert unfinished_name("run", ".jsonl", 5, attempt=2) == "run.part-5-2.jsonl"
    assert is_being_written(mine)
    assert not is_being_written(tmp_path / unfinished_name("run", ".dvtrace", ended))
    assert not is_being_written("run.dvtrace")
    assert not is_being_written("run.part-999999999999.dvtrace")
    mine.touch()
    assert unfinished_files(tmp_path, "run") == [mine]
    assert unfinished_files(tmp_path / "nowhere") == []


def test_missing_file_and_other_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot read .*: No such file"):
        FollowedFile(tmp_path / "t.part-1.dvtrace")
