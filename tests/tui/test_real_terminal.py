"""Tests of the stepper as a program on a real terminal: the bytes that are typed, the bytes that it paints."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import HANGS

from .programs import as_recorded

FORUM = str(Path(__file__).parents[2] / "examples" / "forum.py")

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")]


class Terminal:
    """A terminal with ``dispatchviz`` running in it."""

    def __init__(
        self, *command: str, size: tuple[int, int] = (120, 40), begin: tuple[str, str] = ("-m", "dispatchviz")
    ) -> None:
        import pty  # does not exist on Windows

        self.screen, terminal = pty.openpty()
        width, height = map(str, size)
        self.program = subprocess.Popen(
            [sys.executable, *begin, *command],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=os.environ | {"TERM": "xterm-256color", "COLUMNS": width, "LINES": height},
            start_new_session=True,
        )
        os.close(terminal)
        self.seen = b""

    def type(self, text: str) -> None:
        os.write(self.screen, text.encode())

    def wait_for(self, text: str) -> None:
        """Read until a text has appeared. Raise OSError if the program ends before that, AssertionError if it stops
        writing.
        """
        while text.encode() not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], HANGS)
            assert ready, f"{text!r} does not come"
            self.seen += os.read(self.screen, 65536)

    def ended(self) -> int:
        """Read the remaining output and return the exit status."""
        try:
            while read := os.read(self.screen, 65536):
                self.seen += read
        except OSError:  # no process has the terminal open any more
            pass
        return self.program.wait()

    def close(self) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self.screen)


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def begin(*command: str, size: tuple[int, int] = (120, 40)) -> Terminal:
        opened.append(Terminal(*command, size=size))
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


def test_input_before_the_program_starts_arrives(start: Callable[..., Terminal]) -> None:
    count = len(as_recorded("forum.py"))
    stepper = start("run", FORUM)
    stepper.type(":12\r")
    stepper.wait_for(f"step 12 of {count}")
    stepper.type("s")
    stepper.wait_for(f"step 16 of {count}")  # the redispatch: the steps between are not rows


@pytest.mark.parametrize("sign", ["\x1b[?1049h", "1 Steps", "Key set"])
def test_input_while_the_screen_appears_arrives(start: Callable[..., Terminal], sign: str) -> None:
    stepper = start("run", FORUM)
    stepper.wait_for(sign)
    stepper.type(":12\rs/nodestarted\r.")
    stepper.wait_for("Hit 2 of ")
    stepper.type("q")
    assert stepper.ended() == 0


def test_copied_command_has_the_program_arguments(start: Callable[..., Terminal]) -> None:
    stepper = start("run", "--cuda", "emulated", FORUM, "--lr", "0 1", size=(200, 40))
    stepper.type(":12\ry")
    stepper.wait_for(f"dispatchviz run --step 12 --cuda emulated {FORUM} --lr '0 1'")


def test_ctrl_c_in_a_program_is_not_an_error(start: Callable[..., Terminal], tmp_path: Path) -> None:
    (tmp_path / "stopped.py").write_text("import torch\ntorch.ones(2)\nraise KeyboardInterrupt\n")
    stepper = start("run", str(tmp_path / "stopped.py"))
    stepper.wait_for("The program was interrupted here")
    stepper.type("q")
    stepper.wait_for("line 3: interrupted")


def test_small_terminal_prints_the_log_and_the_reason(start: Callable[..., Terminal]) -> None:
    small = start("run", "--no-pager", FORUM, size=(50, 14))
    small.wait_for("the log instead of the stepper: the terminal is 50x14, and the stepper needs at least 60x15")
    small.wait_for("line 6  z = torch.add(x, y)")
    assert small.ended() == 0


def test_two_runs_are_side_by_side_and_one_opens_in_the_stepper(start: Callable[..., Terminal]) -> None:
    both = start("diff", "--what-if", "6: no_grad", FORUM)
    both.wait_for("they differ in two places")
    both.type("\t\r")
    both.wait_for("1 Steps")
    both.seen = b""
    both.type("q")
    both.wait_for("side by side")
    both.type("q")
    assert both.ended() == 1


def test_closing_a_what_if_comparison_returns_to_the_stepper(start: Callable[..., Terminal]) -> None:
    stepper = start("run", FORUM)
    stepper.type(":line 6\rW\r")
    stepper.wait_for("Running with line 6: no_grad")
    stepper.wait_for("they differ in two places")
    stepper.seen = b""
    stepper.type("q")
    stepper.wait_for("1 Steps")
    stepper.type("q")
    assert stepper.ended() == 0
