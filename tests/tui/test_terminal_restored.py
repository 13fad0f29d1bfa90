"""Tests that the terminal is restored however the stepper ends, and that the exit status shows the cause."""

from __future__ import annotations

import os
import random
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .synthetic import forum
from .test_real_terminal import Terminal

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")]

FAILING = """
import sys
from dispatchviz.tui import actions
def mistaken(session, how):
    raise ValueError("a mistake [/] of\\nours" + "x" * 5000)
actions.ACTIONS["move"] = mistaken
from dispatchviz.cli import main
sys.exit(main(sys.argv[1:]))
"""

GIVEN_BACK = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1004l", b"\x1b[?7h")
"""The sequences that restore the terminal: the normal screen, the cursor, pastes, the mouse, the focus, long lines."""


class Watched(Terminal):
    """A terminal that checks whether a program left it unchanged."""

    def __init__(self, *command: str, code: str = "") -> None:
        super().__init__(*command, begin=("-c", code) if code else ("-m", "dispatchviz"))
        self.before = self.modes()
        self.wait_for(" quit")

    def modes(self) -> list[object]:
        """The modes of the line: echo, signals of keys, whole lines."""
        import termios

        return termios.tcgetattr(self.screen)

    def restored(self) -> None:
        """Assert that everything is restored."""
        painted = self.seen[self.seen.rindex(b"\x1b[?1049h") :]
        assert [end for end in GIVEN_BACK if end not in painted] == []
        assert self.modes() == self.before

    def signal(self, number: int) -> None:
        os.kill(self.program.pid, number)

    def stopped(self) -> None:
        """Wait until the program is stopped, reading its output, since it would block otherwise."""
        status = 0
        while not status:
            if select.select([self.screen], [], [], 0.05)[0]:
                self.seen += os.read(self.screen, 65536)
            status = os.waitpid(self.program.pid, os.WUNTRACED | os.WNOHANG)[1]
        assert os.WIFSTOPPED(status)

    def wait_for_new(self, text: str) -> None:
        """Wait for a text that is painted after this call."""
        self.seen = b""
        self.wait_for(text)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    forum().save(tmp_path / "forum.jsonl")
    terminals: list[Watched] = []

    def begin(code: str = "") -> Watched:
        terminals.append(Watched("open", str(tmp_path / "forum.jsonl"), code=code))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.close()


def test_quitting_restores_the_terminal(opened: Callable[..., Watched]) -> None:
    stepper = opened()
    stepper.type("q")
    assert stepper.ended() == 0
    stepper.restored()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_terminating_signal_restores_the_terminal(opened: Callable[..., Watched], number: int) -> None:
    stepper = opened()
    stepper.signal(number)
    assert stepper.ended() == -number
    stepper.restored()


def test_bug_of_ours_prints_one_line_and_sets_the_status(opened: Callable[..., Watched]) -> None:
    stepper = opened(FAILING)
    stepper.type("s")
    assert stepper.ended() == 70
    stepper.restored()
    said = stepper.seen[stepper.seen.rindex(b"\x1b[?1049l") :].decode()
    assert said.count("\n") == 1
    assert re.search("dispatchviz: the stepper failed at step [0-9]+: ValueError: a mistake \\[/\\] of ours", said)
    report = Path(said.rpartition("the report is in ")[2].partition(")")[0])
    assert "in mistaken" in report.read_text()
    report.unlink()


@pytest.mark.parametrize("key", [True, False])
def test_resumed_stepper_repaints_everything(opened: Callable[..., Watched], key: bool) -> None:
    stepper = opened()
    for _ in range(2):
        if key:
            stepper.type("\x1a")
        else:
            stepper.signal(signal.SIGTSTP)
        stepper.stopped()
        assert stepper.modes() == stepper.before
        stepper.signal(signal.SIGCONT)
        stepper.wait_for_new("Steps")
        stepper.wait_for(" quit")
    stepper.type(":1\r")
    stepper.wait_for_new("step 1 of")
    stepper.type("q")
    assert stepper.ended() == 0
    assert stepper.modes() == stepper.before


def test_stopped_stepper_restores_the_terminal_it_found(opened: Callable[..., Watched]) -> None:
    stepper = opened()
    stepper.signal(signal.SIGSTOP)
    stepper.stopped()
    stepper.signal(signal.SIGCONT)
    stepper.wait_for_new("Steps")
    stepper.type(":1\r")
    stepper.wait_for_new("step 1 of")
    stepper.type("q")
    assert stepper.ended() == 0
    assert stepper.modes() == stepper.before


def test_invalid_bytes_are_skipped(opened: Callable[..., Watched]) -> None:
    stepper, chance = opened(), random.Random(1)
    pieces = [
        *(b"\xff\xfe", b"\xc3", b"\x1b[", b"\x1b[M\xff\xff\xff", b"\x1b[<0;999;999M", b"\x1b[<35;-1;0m", b"\x9b31m"),
        *(b"\x1b]11;rgb:zz\x07", b"\x1b[200~", b"\x1b[201~", b"\x1b[99999999999u", b"\x1b[1;1R", b"\x00", b"\x7f"),
    ]
    for _ in range(300):
        os.write(stepper.screen, chance.choice(pieces))
    os.write(stepper.screen, b"\x1b[201~\x1b\x1b\x1b")
    os.write(stepper.screen, b":3\r")
    stepper.signal(signal.SIGTERM)
    assert stepper.ended() == -signal.SIGTERM
    stepper.restored()


def test_closed_terminal_ends_the_stepper_by_a_signal(opened: Callable[..., Watched]) -> None:
    stepper = opened()
    screen, stepper.screen = stepper.screen, os.open(os.devnull, os.O_RDONLY)
    os.close(screen)
    assert stepper.program.wait() in (-signal.SIGHUP, -signal.SIGTERM)


def test_the_trace_of_a_program_is_kept_when_a_signal_ends_the_stepper(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import torch\ntorch.ones(2)\n")
    stepper = Watched("run", str(tmp_path / "program.py"))
    stepper.signal(signal.SIGTERM)
    assert stepper.ended() == -signal.SIGTERM
    kept = stepper.seen.decode().rpartition("dispatchviz open ")[2].partition(")")[0]
    log = subprocess.run([sys.executable, "-m", "dispatchviz", "open", "--plain", kept], capture_output=True, text=True)
    stepper.close()
    assert "line 2  torch.ones(2)" in log.stdout
