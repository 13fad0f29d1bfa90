"""First paint and step repaint of the stepper, compared with an empty Textual app and the program alone.

    python -m benchmarks.tui [TRACE]     without a trace: of examples/forum.py, and of a training loop of 10,000,
                                         100,000 and a million steps, at its beginning, middle and end

All run alternately as processes of their own on a pseudo terminal of 120x40. *First paint* is the time from starting
the interpreter until the terminal has printed the last row of the first screen, so imports, the run or loading the
trace, and drawing all count. *Step* is the time from writing the key into the terminal until the terminal has printed
the new position. Beside it are the processor time of the process for each step, which does not depend on other work of
the machine, and the same for an empty app, in which a key changes one word. The keys of a search, a filter and a
breakpoint, of panes and of the presenter are measured until the terminal prints something. Ratios are more meaningful
than times because they transfer between machines.
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
from typing import NamedTuple

from benchmarks.sizes import QUICK, judge, often
from dispatchviz.explain.sentences.statement import place_of

ROOT = Path(__file__).parent.parent
ROUNDS, STEPS = often(11, 1), often(200)
ITERATIONS = {"1,000": 1} if QUICK else {"10,000": 9, "100,000": 90, "1,000,000": 891}
"""Number of steps -> iterations of the training loop."""
BARS = {
    "first paint of a run / (empty app + the program)": 1.5,
    "first paint of 1,000,000 steps / empty app": 3.2,
    "a step, median, ms": 20,
    "a step, nine of ten within, ms": 30,
    "a step, processor, median, ms": 12,
    "a step, processor, nine of ten within, ms": 20,
    "any key, search, filter or breakpoint, processor, ms": 50,
    "a step / a key of an empty app": 8,
}
LOOP = """
import torch
w1 = torch.ones(4, 8, requires_grad=True)
b1 = torch.zeros(8, requires_grad=True)
w2 = torch.ones(8, 2, requires_grad=True)
x, y = torch.ones(3, 4), torch.zeros(3, 2)
for step in range({iterations}):
    h = torch.tanh(x @ w1 + b1)
    out = h @ w2
    loss = ((out - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w1, b1, w2):
            p -= 0.01 * p.grad
            p.grad = None
at_the_end = loss.exp()
"""
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    pressed = 0
    def compose(self):
        yield Static("q quit")
    def on_key(self):
        self.pressed += 1
        self.query_one(Static).update(f"pressed {self.pressed}.")
Empty().run()
"""
STEPPER = """
import sys
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.tui.app import show
show(Trace.load(sys.argv[1]), int((*sys.argv, 0)[2]))
"""
RUN = "import sys; from dispatchviz.cli import main; sys.exit(main())"
PROGRAM = """
import runpy, sys
import dispatchviz.torch
sys.modules["torch"] = dispatchviz.torch
runpy.run_path(sys.argv[1])
"""
KEYS = "/mul\rfmul\rf\rbmul\rcCnNGgPsP\t\t234678901zz"
"""The other keys, of which none may freeze the screen."""
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
        """Return the time at which the text was printed. Raise TimeoutError with the output."""
        seen, end = b"", time.perf_counter() + limit
        while time.perf_counter() < end:
            if select.select([self._main], [], [], 0.5)[0]:
                seen += os.read(self._main, 65536)
                if text in ESCAPES.sub(b"", seen):
                    return time.perf_counter()
        raise TimeoutError(seen[-500:])

    def drain(self, quiet: float = 0.1) -> None:
        """Read until nothing has been printed for some seconds, as far as that happens at all."""
        end = time.perf_counter() + 2
        while select.select([self._main], [], [], quiet)[0] and time.perf_counter() < end:
            os.read(self._main, 65536)

    def freeze(self, key: bytes) -> float:
        """Press a key and return the milliseconds of processor time until something is printed."""
        self.drain()
        before = self.processor()
        self.press(key)
        if not select.select([self._main], [], [], 20)[0]:
            raise TimeoutError(key)
        return self.processor() - before

    def press(self, key: bytes) -> float:
        """Press a key and return the time."""
        os.write(self._main, key)
        return time.perf_counter()

    def peak(self) -> float:
        """Return the peak memory in KB, or 0 if the system does not report it."""
        status = Path(f"/proc/{self._process.pid}/status")
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
        return float(found[1]) if found else 0.0

    def processor(self) -> float:
        """Return the processor time in milliseconds, or 0 if the system does not report it."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text().split()[0]) for each in threads) / 1e6

    def close(self) -> None:
        """End the program."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._main)


def first_paint(code: str, *arguments: str) -> float:
    """Return the milliseconds from the start of the process to the first complete screen."""
    terminal = Terminal(code, *arguments)
    painted = terminal.until(b"q quit")
    terminal.close()
    return 1000 * (painted - terminal.started)


def recorded(folder: Path, iterations: int) -> Path:
    """Record a trace of the training loop."""
    script, trace = folder / f"{iterations}.py", folder / f"{iterations}.dvtrace"
    script.write_text(LOOP.format(iterations=iterations), encoding="utf-8")
    log = str(folder / "log")
    record = [sys.executable, "-m", "dispatchviz", "trace", "--save", str(trace), "-o", log, str(script)]
    subprocess.run(record, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return trace


class Steps(NamedTuple):
    """The milliseconds of some steps: from key to repaint, and of the processor. Both are sorted."""

    times: list[float]
    processor: list[float]


def steps_from(trace: Path, at: int, steps: Sequence[int], last: int) -> Steps:
    """Return the times of consecutive steps, in a stepper that opens at ``at``."""
    shown = [place_of(step, last + 1).encode() for step in steps]
    return _keys(Terminal(STEPPER, str(trace), str(at)), shown)


def keys_of_an_empty_app() -> Steps:
    """Return the times of keys in an app that does almost nothing."""
    return _keys(Terminal(EMPTY), [f"pressed {number}.".encode() for number in range(1, STEPS + 1)])


def _keys(terminal: Terminal, shown: Sequence[bytes]) -> Steps:
    """Press a key for each text that should appear."""
    try:
        terminal.until(b"q quit", 60)
        time.sleep(1)  # until the whole first screen is drawn and Pygments is loaded
        times, processor = list[float](), list[float]()
        for text in shown:
            before, pressed = terminal.processor(), terminal.press(b"s")
            times.append(1000 * (terminal.until(text) - pressed))
            time.sleep(0.02)
            processor.append(terminal.processor() - before)
        return Steps(sorted(times), sorted(processor))
    finally:
        terminal.close()


def longest_freeze(trace: Path) -> float:
    """Return the longest processor time of a key until the screen changes, after some steps."""
    terminal = Terminal(STEPPER, str(trace), "0")
    try:
        terminal.until(b"q quit", 60)
        time.sleep(1)
        found = {at: terminal.freeze(key.encode()) for at, key in enumerate(("s", *KEYS))}
    finally:
        terminal.close()
    slowest = max(found, key=found.__getitem__)
    print(f"  the longest of {len(found)} other keys: {found[slowest]:.1f} ms, {('s', *KEYS)[slowest]!r}")
    return found[slowest]


def opened_beside_empty(trace: Path) -> float:
    """Return the first paint of a trace relative to an empty app's."""
    pairs = [(first_paint(EMPTY), first_paint(STEPPER, str(trace))) for _ in range(ROUNDS)]
    empty, stepper = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"  first paint: empty app {empty:.0f} ms, stepper {stepper:.0f} ms, ratio {stepper / empty:.2f}")
    return stepper / empty


def run_beside_parts() -> float:
    """Return the first paint of a run of the founding program, relative to an empty app's and to the program's own
    run.
    """
    program, times = "examples/forum.py", dict[str, list[float]]()
    for _ in range(ROUNDS):
        times.setdefault("run", []).append(first_paint(RUN, "run", program))
        times.setdefault("empty", []).append(first_paint(EMPTY))
        times.setdefault("program", []).append(_seconds(PROGRAM, program) - _seconds("pass"))
    run, empty, own = (statistics.median(times[name]) for name in ("run", "empty", "program"))
    print(f"run {program}\n  first paint {run:.0f} ms: empty app {empty:.0f} ms, the program {own:.0f} ms,", end=" ")
    print(f"ratio {run / (empty + own):.2f}")
    return run / (empty + own)


def _seconds(code: str, *arguments: str) -> float:
    """Return the milliseconds that a process takes."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return 1000 * (time.perf_counter() - start)


def stepped(name: str, trace: Path, empty: Steps) -> list[Steps]:
    """Measure and print steps at the beginning, in the middle and at the end of a trace."""
    from dispatchviz.core.record.trace_file import Trace
    from dispatchviz.views.session import Session

    cursor = Session(Trace.load(trace), 0).cursor
    last, listed, found = cursor.last_step, list(cursor.shown or ()), []
    print(f"{name}, {last + 1:,} steps")
    for part in (0, 1, 2):
        first = part * max(len(listed) - STEPS - 2, 0) // 2
        steps = steps_from(trace, listed[first], listed[first + 1 : first + 1 + STEPS], last)
        median, ninth = _median_and_ninth(steps.times)
        print(f"  {len(steps.times)} steps from {listed[first]:,}: median {median:.1f} ms,", end=" ")
        print(f"nine of ten within {ninth:.1f} ms, processor {_said(steps)},", end=" ")
        print(f"{median / statistics.median(empty.times):.1f} times a key of an empty app")
        found.append(steps)
    return found


def _median_and_ninth(times: Sequence[float]) -> tuple[float, float]:
    return statistics.median(times), times[len(times) * 9 // 10]


def _said(steps: Steps) -> str:
    median, ninth = _median_and_ninth(steps.processor)
    return f"{median:.1f} ms, {ninth:.1f} ms, longest {steps.processor[-1]:.1f} ms"


def worst(found: Sequence[Steps], empty: Steps, freeze: float) -> dict[str, float]:
    """Return the values that are judged, from the slowest place. ``freeze`` is the longest other key."""
    median = max(_median_and_ninth(steps.times)[0] for steps in found)
    return {
        "a step, median, ms": median,
        "a step, nine of ten within, ms": max(_median_and_ninth(steps.times)[1] for steps in found),
        "a step, processor, median, ms": max(_median_and_ninth(steps.processor)[0] for steps in found),
        "a step, processor, nine of ten within, ms": max(_median_and_ninth(steps.processor)[1] for steps in found),
        "any key, search, filter or breakpoint, processor, ms": max(freeze, *(steps.processor[-1] for steps in found)),
        "a step / a key of an empty app": median / statistics.median(empty.times),
    }


def main() -> int:
    """Measure the given trace, or those that are recorded here. Return 1 if a bar is missed."""
    given = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    empty = keys_of_an_empty_app()
    print(f"a key of an empty app: median {statistics.median(empty.times):.1f} ms, processor {_said(empty)}")
    if given:
        found = [steps for trace in given for steps in stepped(trace.name, trace, empty)]
        results = {"first paint of 1,000,000 steps / empty app": max(map(opened_beside_empty, given))}
        return judge(results | worst(found, empty, max(map(longest_freeze, given))), BARS)
    results = {"first paint of a run / (empty app + the program)": run_beside_parts()}
    with tempfile.TemporaryDirectory() as folder:
        found, freeze = [], 0.0
        for name, iterations in ITERATIONS.items():
            trace = recorded(Path(folder), iterations)
            found += stepped(f"a training loop, {name} steps", trace, empty)
            freeze = max(freeze, longest_freeze(trace))
            results["first paint of 1,000,000 steps / empty app"] = opened_beside_empty(trace)
    return judge(results | worst(found, empty, freeze), BARS)


if __name__ == "__main__":
    sys.exit(main())
