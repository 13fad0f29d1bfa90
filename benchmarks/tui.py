"""First paint and step repaint of the stepper, side by side with an empty Textual app.

Both run as processes of their own on a pseudo terminal of 120x40, in turns. *First paint* is the time from starting
the interpreter until the last row of the first screen has come out of the terminal, so imports, loading the trace and
drawing all count. *Step* is the time from writing the key into the terminal until the new position has come out of it.
Ratios mean more than times: they travel between machines.

    python -m benchmarks.tui [TRACE.jsonl]     without a trace: that of examples/forum.py, and one of 100,000 steps
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sizes import often

ROOT = Path(__file__).parent.parent
ROUNDS, STEPS = often(11, 1), often(100)
LONG = often(100_000, 1_000)
"""Steps of the long trace."""
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("q quit")
Empty().run()
"""
STEPPER = """
import sys
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.app import show
show(Trace.load(sys.argv[1]), 0)
"""
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z$]|\x1b[()][A-Z0-9]|\x1b[=>]")


class Terminal:
    """A program on a pseudo terminal."""

    def __init__(self, code: str, *arguments: str) -> None:
        self.started = time.perf_counter()
        self._main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", code, *arguments]
        streams = {"stdin": other, "stdout": other, "stderr": other}
        self._process = subprocess.Popen(command, **streams, env=environment, start_new_session=True)
        os.close(other)

    def until(self, text: bytes, limit: float = 20) -> float:
        """The time at which the text was printed; TimeoutError with the output."""
        seen, end = b"", time.perf_counter() + limit
        while time.perf_counter() < end:
            if select.select([self._main], [], [], 0.5)[0]:
                seen += os.read(self._main, 65536)
                if text in ESCAPES.sub(b"", seen):
                    return time.perf_counter()
        raise TimeoutError(seen[-500:])

    def press(self, key: bytes) -> float:
        """Presses a key; returns the time."""
        os.write(self._main, key)
        return time.perf_counter()

    def peak(self) -> float:
        """The most memory that it has had, in KB; 0 where the system does not tell."""
        status = Path(f"/proc/{self._process.pid}/status")
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
        return float(found[1]) if found else 0.0

    def close(self) -> None:
        """Ends the program."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._main)


def first_paint(code: str, *arguments: str) -> float:
    """Milliseconds from the start of the process to the first whole screen."""
    terminal = Terminal(code, *arguments)
    painted = terminal.until(b"q quit")
    terminal.close()
    return 1000 * (painted - terminal.started)


def step_times(trace: Path, steps: Sequence[int], last: int) -> list[float]:
    """Milliseconds from key to repaint, one step of those that are listed after the other."""
    terminal = Terminal(STEPPER, str(trace))
    terminal.until(b"q quit")
    time.sleep(0.5)
    times = []
    for at in steps[:STEPS]:
        pressed = terminal.press(b"s")
        times.append(1000 * (terminal.until(f"{at}/{last}".encode()) - pressed))
        time.sleep(0.01)
    terminal.close()
    return times


def report(name: str, trace: Path) -> None:
    """Prints a table for one trace."""
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.tui.session import Session

    cursor = Session(Trace.load(trace), 0).cursor
    last, listed = cursor.last_step, [step for step in cursor.shown or () if step > cursor.at]
    pairs = [(first_paint(EMPTY), first_paint(STEPPER, str(trace))) for _ in range(ROUNDS)]
    empty, stepper = (statistics.median(times) for times in zip(*pairs, strict=True))
    steps = sorted(step_times(trace, listed, last))
    print(f"{name}, {last + 1:,} steps")
    print(f"  first paint: empty Textual app {empty:.0f} ms, stepper {stepper:.0f} ms, ratio {stepper / empty:.2f}")
    ninth = steps[len(steps) * 9 // 10]
    print(
        f"  step, {len(steps)} times: median {statistics.median(steps):.1f} ms, nine of ten within {ninth:.1f} ms,",
        end=" ",
    )
    print(f"slowest {steps[-1]:.1f} ms")


def main() -> int:
    """Measures the trace that was given, or two made by hand."""
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    for name in given:
        report(name, Path(name))
    if given:
        return 0
    from dispatchviz.program import run
    from tests.tui.synthetic import big

    with tempfile.TemporaryDirectory() as folder:
        for name, trace in (("examples/forum.py", run("examples/forum.py").trace), ("made by hand", big(LONG))):
            path = Path(folder, "trace.jsonl")
            trace.save(path)
            report(name, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
