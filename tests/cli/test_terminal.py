"""``run`` and ``open`` in a real terminal: the stepper opens, and the exit status is the program's."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import HANGS

from .command import FORUM, ROOT, dispatchviz, script

pytestmark = pytest.mark.long

pty = pytest.importorskip("pty", reason="needs a Unix terminal")


def in_terminal(*args: str, cwd: Path = ROOT, keys: str = "q", given: Path | None = None) -> tuple[int, str]:
    """Run a command in a terminal of 120 columns and type keys once the screen has content; return exit status and
    output.

    ``given`` is the file for its standard input.
    """
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    command = [sys.executable, "-m", "dispatchviz", *args]
    source = slave if given is None else os.open(given, os.O_RDONLY)
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ},  # without LINES and COLUMNS, which readline puts where Python does not see them
        stdin=source,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(1, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    screen, typed, until = b"", False, time.monotonic() + HANGS
    try:
        while time.monotonic() < until and (piece := _read(master)) is not None:
            screen += piece
            if not typed and (b"Steps" in screen or b"line 1" in screen or b"RuntimeError" in screen):
                typed = bool(os.write(master, keys.encode()))
        return process.wait(HANGS), screen.decode(errors="replace")
    finally:
        process.kill()
        os.close(master)


def _read(descriptor: int) -> bytes | None:
    """Read the available bytes; return None when the other end is closed."""
    if not select.select([descriptor], [], [], 0.05)[0]:
        return b""
    try:
        return os.read(descriptor, 65536) or None
    except OSError:  # how Linux says so
        return None


def test_a_program_that_raises_opens_at_its_last_step_and_exits_with_1(tmp_path: Path) -> None:
    name = script(tmp_path, "import torch\nx = torch.zeros(2, requires_grad=True)\nx.add_(1)\n")
    status, screen = in_terminal("run", name, cwd=tmp_path)
    assert status == 1
    assert "the trace is kept: dispatchviz open" in screen.rpartition("\x1b[?1049l")[2].replace("\r\n", "")


def test_a_program_that_ends_by_exit_leaves_the_keyboard_to_the_stepper(tmp_path: Path) -> None:
    """``exit`` of the module ``site`` closes standard input."""
    name = script(tmp_path, "import torch\ntorch.ones(2)\nexit(3)\n")
    status, screen = in_terminal("run", name, cwd=tmp_path)
    assert status == 3
    assert "\x1b[?1049l" in screen, "it has opened, and the key has closed it"


def test_open_opens_the_stepper_at_a_step(tmp_path: Path) -> None:
    dispatchviz("export", FORUM, "-o", "t.jsonl", cwd=tmp_path)
    status, screen = in_terminal("open", "t.jsonl", "--step", "3", cwd=tmp_path)
    assert status == 0
    assert "step 3 of" in screen


def test_a_terminal_that_cannot_move_its_cursor_gets_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    status, screen = in_terminal("run", "examples/forum.py")
    assert status == 0
    assert "\x1b" not in screen
    assert "z = torch.add(x, y)" in screen
    assert "dispatchviz: the log instead of the stepper: the terminal cannot move its cursor (TERM=dumb)" in screen


@pytest.mark.skipif(not os.path.exists("/dev/tty"), reason="no way to the terminal but standard input")
@pytest.mark.parametrize("command", ["open", "run"])
def test_trace_from_standard_input_uses_keys_of_the_terminal(command: str, tmp_path: Path) -> None:
    if command == "open":
        dispatchviz("export", FORUM, "-o", "given", "--format", "jsonl", cwd=tmp_path)
    else:
        (tmp_path / "given").write_text(Path(FORUM).read_text())
    status, screen = in_terminal(command, "-", cwd=tmp_path, given=tmp_path / "given")
    assert status == 0
    assert "\x1b[?1049h" in screen
    assert "\x1b[?1049l" in screen


def test_a_program_of_standard_input_finds_its_end(tmp_path: Path) -> None:
    """The program reads its end of input as under Python, because the keys belong to the stepper."""
    script(tmp_path, "import sys, torch\ntorch.ones(len(sys.stdin.read()) + 3)\n", "given")
    status, screen = in_terminal("run", "--plain", "-", cwd=tmp_path, given=tmp_path / "given", keys="")
    assert status == 0
    assert "tensor t0  [3] float32 cpu" in screen


def test_binary_output_to_a_terminal_is_refused() -> None:
    status, screen = in_terminal("export", "-o", "-", "--format", "png", FORUM)
    assert (status, screen) == (
        2,
        "dispatchviz: .png is not text for a terminal: write it to a file with -o, or to a pipe\r\n",
    )
