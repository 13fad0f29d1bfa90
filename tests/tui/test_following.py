"""Tests of the stepper on a growing recording."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.record.trace_file import Trace, writers
from dispatchviz.core.record.trace_file.followed_file import FollowedFile
from dispatchviz.core.record.unfinished_files import unfinished_name
from dispatchviz.views.session import Session
from tests.explain.programs import traced

from .screens import Reader, stepper_of
from .test_real_terminal import Terminal

PARTS = (0.1, 0.2, 0.3, 1.0)
"""The shares of the file's bytes; the index is at its end."""


class Growing:
    """A file with a growing part of a recording."""

    def __init__(self, folder: Path) -> None:
        with dispatchviz.record(save=folder / "whole.dvtrace") as self.whole:
            x = torch.ones(2, requires_grad=True)
            for iteration in range(60):
                (x * 2).sum().backward()
                if iteration == 20:
                    str(x)
        self._raw = (folder / "whole.dvtrace").read_bytes()
        self.part = folder / unfinished_name("t", ".dvtrace", os.getpid())
        self.grow(PARTS[0])
        self.file = FollowedFile(self.part)

    def holds(self, trace: Trace) -> None:
        """Make the file the beginning of another recording."""
        self._raw = trace.encoded(".dvtrace")
        self.grow(0.5)
        self.file = FollowedFile(self.part)

    def grow(self, share: float) -> None:
        """Make the file contain a share of the recording."""
        self.part.write_bytes(self._raw[: int(len(self._raw) * share)])

    def session(self) -> Session:
        return Session(self.file.look(), file=str(self.part), followed=self.file)

    def comes(self, session: Session) -> None:
        """Complete the file and update the session."""
        self.grow(1.0)
        session.cursor = session.grown(self.file.look()).cursor


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Growing:
    monkeypatch.setattr(writers, "BLOCKS_PER_PACK", 1)  # so that each share has events
    return Growing(tmp_path)


async def test_current_step_stays_while_the_trace_grows(growing: Growing) -> None:
    async with stepper_of(growing.session()) as reader:
        session = reader.app.session
        await reader.press("s", "s")
        assert "recording" in reader.text
        before, at = len(session.trace), reader.at
        for share in PARTS[1:]:
            growing.grow(share)
            await reader.until(lambda before=before: len(session.trace) > before)
            before = len(session.trace)
            assert reader.at == at
        await reader.until(lambda: growing.file.over and len(session.trace) == len(growing.whole))
        await reader.until(lambda: "The recording ended after" in reader.text)
        assert f"step {at} of {len(growing.whole):,}" in reader.text
        assert "  recording" not in reader.text


LOOP = "import torch\nx = torch.ones(2)\nfor iteration in range(300):\n    x = x + 1\n"


async def test_loop_row_has_final_numbers_when_recording_ends(growing: Growing) -> None:
    growing.holds(traced(LOOP))
    async with stepper_of(growing.session()) as reader:
        assert " operator calls" in rows_seen(reader)
        assert "300 operator calls" not in rows_seen(reader)
        growing.grow(1.0)
        await reader.until(lambda: "300 operator calls" in rows_seen(reader))


def rows_seen(reader: Reader) -> str:
    """The screen from the title of the steps on. Above it, calls are also counted."""
    return reader.text.partition(" Steps ")[2]


async def test_cursor_at_the_end_follows_until_the_next_move(growing: Growing) -> None:
    async with stepper_of(growing.session()) as reader:
        session = reader.app.session
        await reader.press("G")
        before = len(session.trace)
        growing.grow(PARTS[1])
        await reader.until(lambda: len(session.trace) > before)
        assert reader.at == session.cursor.outline.steps[-1]
        await reader.press("S")
        at, before = reader.at, len(session.trace)
        growing.grow(PARTS[2])
        await reader.until(lambda: len(session.trace) > before)
        assert reader.at == at


async def test_filter_of_growing_trace_equals_filter_of_whole_trace(growing: Growing) -> None:
    async with stepper_of(growing.session()) as reader:
        session = reader.app.session
        await reader.press("f", *"Dispatched", "enter")
        await reader.until(lambda: session.cursor.filter_text == "Dispatched")
        growing.grow(1.0)
        await reader.until(lambda: len(session.trace) == len(growing.whole))
        shown = list(session.cursor.shown or ())
        assert shown == [event.seq for event in growing.whole if type(event).__name__ == "Dispatched"]


def test_later_prints_are_folded_as_in_the_whole_trace(growing: Growing) -> None:
    session, opened = growing.session(), Session(growing.whole)
    growing.comes(session)
    assert list(session.cursor.shown or ()) == list(opened.cursor.shown or ())
    assert list(session.cursor.first().rows) == list(opened.cursor.first().rows)


def test_search_finds_later_events(growing: Growing) -> None:
    session, again = growing.session(), Session(growing.whole)
    session.search.find("accumulategrad")
    growing.comes(session)
    again.search.find("accumulategrad")
    while session.search.go_on() or again.search.go_on():
        pass
    assert list(session.search.hits()) == list(again.search.hits())


async def test_screen_does_not_move_while_the_reader_types(growing: Growing) -> None:
    async with stepper_of(growing.session()) as reader:
        before = len(reader.app.session.trace)
        await reader.press("slash", "m")
        growing.grow(1.0)
        await reader.until(lambda: growing.file.over)
        assert len(reader.app.session.trace) == before
        await reader.press("escape")
        await reader.until(lambda: len(reader.app.session.trace) == len(growing.whole))


SLOW = """\
import sys, time, torch
print("terminal:", sys.stdout.isatty(), "keys:", sys.stdin.read(), flush=True)
x = torch.ones(2, requires_grad=True)
for iteration in range({iterations}):
    (x * 2).sum().backward()
    time.sleep(0.01)
print("last", "words")
sys.exit(3)
"""


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def begin(*command: str) -> Terminal:
        opened.append(Terminal(*command))
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


needs_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")


@needs_a_terminal
@pytest.mark.long
def test_followed_program_keeps_its_output_and_status(start: Callable[..., Terminal], tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW.format(iterations=100))
    stepper = start("run", "--follow", "--save", str(tmp_path / "t.dvtrace"), str(tmp_path / "slow.py"))
    stepper.wait_for("  recording")
    stepper.wait_for("The recording ended after")
    assert re.search(rb"(?<!> )last words", stepper.seen) is None  # only the row with the note
    stepper.type("q")
    stepper.seen = b""
    stepper.wait_for("terminal: False keys: ")
    stepper.wait_for("last words")
    assert stepper.ended() == 3
    assert len(Trace.load(tmp_path / "t.dvtrace")) > 1000


@needs_a_terminal
@pytest.mark.long
def test_quitting_does_not_end_the_program_and_ctrl_c_does(start: Callable[..., Terminal], tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW.format(iterations=100_000))
    stepper = start("run", "--follow", "--save", str(tmp_path / "t.dvtrace"), str(tmp_path / "slow.py"))
    stepper.wait_for("  recording")
    stepper.type("q")
    stepper.wait_for("terminal: False keys: ")
    os.killpg(stepper.program.pid, signal.SIGINT)  # the terminal sends this for Ctrl+C
    stepper.wait_for("KeyboardInterrupt")
    stepper.wait_for("interrupted (the trace is kept:")
    assert stepper.ended() == -2
    assert len(Trace.load(tmp_path / "t.dvtrace")) > 100


@needs_a_terminal
@pytest.mark.parametrize(("options", "why"), [
    (("--plain",), "--follow needs the stepper, which does not open here: text was requested"),
    (("--save", "t.jsonl"), "cannot follow t.jsonl: with --follow the name of the trace must end in .dvtrace"),
])  # fmt: skip
def test_options_that_cannot_be_followed_are_refused(
    options: tuple[str, ...], why: str, start: Callable[..., Terminal], tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW.format(iterations=1))
    refused = start("run", "--follow", *options, str(tmp_path / "slow.py"))
    refused.wait_for(why)
    assert refused.ended() == 2
