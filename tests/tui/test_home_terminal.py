"""Tests of ``dispatchviz`` without arguments on a real terminal: a program runs, the stepper opens, the home screen
returns.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import dispatchviz

from .programs import as_recorded
from .test_real_terminal import Terminal

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")]

HOME = "your file"
"""A text that is always in the footer."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stored traces."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return tmp_path / "cache" / "dispatchviz"


@pytest.fixture
def home(cache: Path) -> Iterator[Terminal]:
    """Open the home screen in a folder without examples."""
    opened = Terminal(size=(200, 60))
    opened.wait_for(HOME)
    yield opened
    opened.close()


def again(home: Terminal, text: str) -> None:
    """Wait for a text after everything seen so far."""
    home.seen = b""
    home.wait_for(text)


def ended(home: Terminal) -> int:
    home.type("q")
    return home.ended()


def test_enter_opens_the_first_lesson_and_q_comes_back_with_the_next_one(home: Terminal, cache: Path) -> None:
    home.type("\r")
    again(home, "examples/lessons/forum.py")
    home.wait_for("1 of 11")  # the home screen has the same title, but no key `c`
    home.type("c")
    again(home, "2 of 11")
    home.type("q")
    again(home, "The next lesson is key_sets")
    home.wait_for(HOME)
    assert not list(cache.glob("*.dvtrace")), "a lesson keeps no trace"
    assert ended(home) == 0


def test_enter_runs_the_founding_program_and_q_comes_back_with_its_trace(home: Terminal, cache: Path) -> None:
    home.type("\t\t\r")  # skip the lessons
    again(home, "examples/forum.py")
    home.wait_for("Steps")
    home.type("q")
    again(home, "the trace is kept: dispatchviz open")
    home.wait_for(HOME)
    assert [path.name for path in cache.glob("*.dvtrace")] == ["forum.dvtrace"]
    home.type("\x1b[Z" * 4)  # four groups back: the recent traces
    again(home, f"{len(as_recorded('forum.py'))} steps")
    home.type("\r")
    again(home, "Steps")
    home.type("q")
    again(home, HOME)
    assert ended(home) == 0


PROGRAMS = {
    "raises.py": ("import torch\nprint('so ' * 3)\ntorch.ones(2) @ torch.ones(3)\n", "RuntimeError"),
    "exits.py": ("import os\nos.environ['CHANGED'] = '1'\nos.chdir('/')\nexit(3)\n", "ended with exit status 3"),
    "broken.py": ("def (\n", "broken.py, line 1: SyntaxError"),
    "interrupted.py": ("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", "interrupted.py: interrupted"),
}  # fmt: skip
"""The programs, with the note after each."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_home_screen_reports_how_each_program_ended(name: str, home: Terminal, tmp_path: Path) -> None:
    text, said = PROGRAMS[name]
    (tmp_path / name).write_text(text)
    (tmp_path / "after.py").write_text("import os, torch\nprint(os.environ.get('CHANGED', 'as before'))\n")
    home.type(f"o{name}\r")
    if name != "broken.py":
        again(home, "Steps")
        home.type("q")
    again(home, said)
    home.wait_for(HOME)  # input before that has no effect
    home.type("oafter.py\r")
    again(home, "as before")
    home.wait_for("Steps")
    home.type("q")
    again(home, HOME)
    assert ended(home) == 0


def test_program_gets_keyboard_and_ctrl_c(home: Terminal, tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text("import time\nprint('Dear', input('name? '))\nprint('now')\ntime.sleep(600)\n")
    home.type("oasks.py\r")
    again(home, "name? ")
    home.type("reader\r")
    home.wait_for("Dear reader")
    home.wait_for("now")
    os.kill(home.program.pid, signal.SIGINT)
    again(home, "The program was interrupted")
    home.type("q")
    again(home, "asks.py: interrupted")
    home.wait_for(HOME)
    assert ended(home) == 0


def test_a_damaged_trace_is_refused_with_its_reason(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "bad.dvtrace").write_bytes(b"\x00" * 100)
    home = Terminal(size=(200, 60))
    home.wait_for(HOME)
    home.type("\x1b[Z\x1b[Z\r")
    home.wait_for("is not a dispatchviz trace")
    assert ended(home) == 0
    home.close()


def test_signal_ends_home_screen_and_restores_terminal(home: Terminal) -> None:
    home.program.send_signal(signal.SIGTERM)
    assert home.ended() == -signal.SIGTERM
    assert b"\x1b[?1049l" in home.seen


def test_input_between_two_screens_arrives_once(home: Terminal) -> None:
    home.type("\r")
    again(home, "Steps")
    home.seen = b""
    home.type("qt")  # back home, then the question for an operator's table
    home.wait_for("dispatchviz table:")
    home.type("add\r")
    home.wait_for("dispatchviz table add")
    assert b"dispatchviz table tadd" not in home.seen
    home.type("q")
    again(home, HOME)
    home.type("\r")
    again(home, "Steps")
    home.type("qq")  # back home, then to the shell
    assert home.ended() == 0


def test_no_screen_prints_commands_to_type(cache: Path) -> None:
    small = Terminal(size=(50, 14))
    small.wait_for("dispatchviz run examples/forum.py")
    assert small.ended() == 0
    small.close()
    assert "dispatchviz run examples/forum.py" in dispatchviz().out
