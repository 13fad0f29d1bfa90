"""A file that is written while the program runs has the same events as a recording in memory."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.record.builders.builder_base import StreamedEvents
from dispatchviz.core.record.event_filter import read_only
from dispatchviz.core.record.trace_file import Trace, writers
from dispatchviz.core.record.trace_stream import NO_LIMIT, Limit, TraceStream
from dispatchviz.core.seam import recorder
from dispatchviz.running.process.early_end import Keeper, NoKeeper
from dispatchviz.running.program import run
from dispatchviz.running.program_recorder import ProgramRecorder
from dispatchviz.running.recording import Recording

EXAMPLES = Path(__file__).parents[3] / "examples"

LOOP = """\
import torch
w = torch.ones(2, requires_grad=True)
for i in range(60):
    loss = (w * i).sum()
    loss.backward()
    print(i)
"""

CYCLES = """\
import threading, torch
x, found = torch.ones(2), set()
class Cycle:
    def __init__(self):
        self.itself = self
    def __del__(self):
        found.add(threading.current_thread().name)
        x + 1
for i in range(200):
    Cycle()
    y = x * 2
import gc
gc.collect()
print(sorted(found))
"""


MOST_LEFT = 64 << 10
"""The number of bytes of a disk's free space that may stay unused, about those of a block."""


class Disk(io.RawIOBase):
    """A disk with a limited number of free bytes."""

    def __init__(self, path: str, room: int) -> None:
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115
        self._file.seek(0, 2)
        self._room = room

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write as many bytes as fit."""
        if not self._room:
            raise OSError(28, "No space left on device")
        taken = min(len(data), self._room)
        self._room -= taken
        return self._file.write(data[:taken])

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move in the file."""
        return self._file.seek(offset, whence)

    def truncate(self, size: int | None = None) -> int:
        """Truncate the file at its position, which frees space."""
        before = os.fstat(self._file.fileno()).st_size
        after = self._file.truncate(size)
        self._room += before - after
        return after

    def close(self) -> None:
        """Close the file too."""
        self._file.close()
        super().close()


def _streamed(
    program: Path, file: Path, limit: Limit = NO_LIMIT, room: int | None = None, only: str = ""
) -> tuple[Trace, str, TraceStream]:
    """The trace in the file of a program, what it printed, the stream."""
    streams: list[TraceStream] = []

    def keeping(trace: Recording) -> Keeper:
        streams.append(trace.stream_to(file, limit))
        if room is not None:
            stream = streams[0]._writer._stream
            streams[0]._writer._stream = Disk(stream.name, room)  # type: ignore[assignment]
        return NoKeeper()

    output = io.StringIO()
    run(str(program), output=output, keeping=keeping, only=read_only([only]) if only else None)
    streams[0].keep()
    return Trace.load(streams[0].path), output.getvalue(), streams[0]


def _program(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize("suffix", [".dvtrace", ".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("program", sorted(EXAMPLES.glob("*.py"))[:6], ids=lambda path: path.stem)
def test_the_events_of_a_file_are_those_of_a_recording_in_memory(program: Path, suffix: str, tmp_path: Path) -> None:
    output = io.StringIO()
    expected = run(str(program), output=output).trace
    trace, printed, _ = _streamed(program, tmp_path / f"t{suffix}")
    assert list(trace) == list(expected)
    assert trace.header == expected.header
    assert printed == output.getvalue()


def test_notes_read_piece_by_piece_give_the_same_events(tmp_path: Path) -> None:
    program = _program(tmp_path, LOOP)
    expected = run(str(program), output=io.StringIO()).trace
    trace, _, _ = _streamed(program, tmp_path / "t.dvtrace")
    assert list(trace) == list(expected)


def test_finalizers_of_the_program_run_on_its_own_thread(tmp_path: Path) -> None:
    trace, printed, stream = _streamed(_program(tmp_path, CYCLES), tmp_path / "t.dvtrace")
    assert printed == "['MainThread']\n"
    assert not stream.stopped
    assert len(trace) == stream.events


def test_limit_keeps_the_first_events(tmp_path: Path) -> None:
    program = _program(tmp_path, LOOP)
    expected = run(str(program), output=io.StringIO()).trace
    trace, printed, stream = _streamed(program, tmp_path / "t.dvtrace", Limit(events=1234))
    assert list(trace) == list(expected)[:1234]
    assert printed == "".join(f"{i}\n" for i in range(60))
    assert stream.end == "the recording ended before step 1234: the limit of 1,234 events is reached"


@pytest.mark.parametrize("suffix", [".dvtrace", ".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("room", [0, 1, 20_000, 150_000])
def test_a_full_disk_ends_the_recording_and_not_the_program(room: int, suffix: str, tmp_path: Path) -> None:
    program, file = _program(tmp_path, LOOP.replace("60", "200")), tmp_path / f"t{suffix}"
    before = b"the older trace"
    file.write_bytes(before)
    try:
        trace, printed, stream = _streamed(program, file, room=room)
    finally:
        assert file.read_bytes() == before
    assert stream.failed
    assert "No space left on device" in stream.end
    assert printed == "".join(f"{i}\n" for i in range(200))
    assert [event.seq for event in trace] == list(range(stream.events))
    assert len(trace) > 0 or room < MOST_LEFT  # what there is room for is there
    assert room - Path(stream.path).stat().st_size < MOST_LEFT


def test_part_of_a_killed_process_with_the_same_number_is_kept(tmp_path: Path) -> None:
    program = _program(tmp_path, LOOP)
    names = []

    def keeping(trace: Recording) -> Keeper:
        stream = trace.stream_to(tmp_path / "t.dvtrace")
        names.append(stream.path)
        stream.discard()
        return NoKeeper()

    run(str(program), output=io.StringIO(), keeping=keeping)
    Path(names[0]).write_bytes(b"of another")
    trace, _, _ = _streamed(program, tmp_path / "t.dvtrace")
    assert Path(names[0]).read_bytes() == b"of another"
    assert len(trace)


def test_long_recording_keeps_little_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "EVENTS_PER_PART", 1000)

    def twice(gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2

    x = torch.ones(2, requires_grad=True)
    x.register_hook(twice)
    with dispatchviz.record(save=tmp_path / "t.dvtrace") as trace:
        kept = []
        for _ in range(4):
            for _ in range(30):
                (x * 2).sum().backward()
            watcher = recorder.active
            assert isinstance(watcher, ProgramRecorder)
            assert watcher.stream is not None
            watcher.stream.flush()
            events = watcher.builder.events
            assert isinstance(events, StreamedEvents)
            assert not events.recent
            columns = watcher.stream._writer._columns  # type: ignore[attr-defined]
            assert len(columns) - columns.first < 1000
            kept.append(len(events._kept) + len(watcher.builder._last_line))  # type: ignore[attr-defined]
    assert len(trace) > 20_000
    assert max(kept) < 10
