"""End recordings at random moments, by signals and full disks, and report problems of the files that they leave.

``python -m tests.programs.kills 200`` does so 200 times and prints how often each end was tried.
"""

from __future__ import annotations

import collections
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from dispatchviz.core.record.events import Printed
from dispatchviz.core.record.trace_file import Trace
from tests.waiting import HANGS

LOST_SECONDS = 0.1
LOST_BYTES = 64 << 10
"""A killed process may lose this many bytes, or the events of ``LOST_SECONDS`` if these are more."""

SUFFIXES = (".dvtrace", ".jsonl", ".jsonl.gz")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
FULL = "full disk"

PROGRAM = """\
import os, time, torch
x = torch.ones(2)
for i in range(10**9):
    x = x + 1
    if i % {every} == 0:
        print(i, time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
    {pause}
"""


class Way(NamedTuple):
    """A way to end one recording."""

    end: signal.Signals | str
    suffix: str
    seconds: float
    """Seconds after its first line of output."""
    paused: bool
    """True if the program sleeps between its operators."""
    older: bool
    """True if there is a trace at the target before."""

    def __str__(self) -> str:
        name = self.end.name if isinstance(self.end, signal.Signals) else self.end
        return f"{name} after {self.seconds:.3f} s, {self.suffix}{', over another' * self.older}"


class Left(NamedTuple):
    """The files after the end of one recording."""

    wrong: list[str]
    seconds: float = 0.0
    """The most seconds of the recording's end that are not in the file."""


def ways(seed: int, number: int) -> list[Way]:
    """Return ``number`` ways, which cycle through all ends and all kinds of files."""
    chosen = random.Random(seed)
    ends = (*SIGNALS, FULL)
    return [
        Way(ends[n % 5], SUFFIXES[n // 5 % 3], chosen.uniform(0, 0.8), chosen.random() < 0.5, chosen.random() < 0.5)
        for n in range(number)
    ]


def end_one(way: Way, folder: Path, older: bytes) -> Left:
    """Run a program and end it."""
    target = folder / f"t{way.suffix}"
    if way.older:
        target.write_bytes(older)
    pause = "time.sleep(0.002)" if way.paused else "pass"
    (folder / "program.py").write_text(PROGRAM.format(every=1 if way.paused else 10, pause=pause))
    command = [sys.executable, "-m", "dispatchviz", "trace", "-o", "/dev/null", "--save", target.name, "program.py"]
    if way.end == FULL:
        command = ["sh", "-c", f'ulimit -f {_room(way) // BLOCK}; exec "$@"', "sh", *command]
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=err)
        assert process.stdout is not None
        out.write(process.stdout.readline())
        time.sleep(way.seconds + (1.5 if way.end == FULL else 0))
        ended_at = time.clock_gettime(time.CLOCK_MONOTONIC)
        alive = process.poll() is None
        process.send_signal(way.end if isinstance(way.end, signal.Signals) else signal.SIGTERM)
        out.write(process.communicate(timeout=HANGS)[0])
    left = _left(way, folder, target, older, process.returncode, ended_at)
    return left if alive else Left([*left.wrong, "the program ended before its time"])


BLOCK = 512
"""The bytes of a unit of ``ulimit -f``."""


def _room(way: Way) -> int:
    """Return the bytes that fit on a full disk."""
    return (8 + int(way.seconds * 400)) * BLOCK


def _left(way: Way, folder: Path, target: Path, older: bytes, status: int, ended_at: float) -> Left:
    wrong = []
    number = way.end if isinstance(way.end, signal.Signals) else signal.SIGTERM
    if status != -number:
        wrong.append(f"status {status}")
    parts = sorted(folder.glob("t.part-*"))
    replaced = not way.older or (target.exists() and target.read_bytes() != older)
    if way.older and way.end in (signal.SIGKILL, FULL) and replaced:
        wrong.append("the older trace is not what it was")
    if way.end not in (signal.SIGKILL, FULL) and parts:
        wrong.append(f"left {parts}")
    (file,) = parts or [target]
    try:
        trace = Trace.load(file)
    except Exception as error:
        return Left([*wrong, f"{file.name} does not open: {error!r}"])
    seen = sum(isinstance(event, Printed) for event in trace)
    printed = (folder / "out").read_text().rpartition("\n")[0]  # a line that it was ended in does not count
    lines = [line.split() for line in printed.splitlines() if line.count(" ") == 1]
    if way.end == FULL:
        is_empty = not len(trace) and _room(way) > LOST_BYTES
        return Left([*wrong, "no event is in the file"] if is_empty else wrong)
    lost = [float(at) for _, at in lines[seen:]]
    seconds = max(ended_at - lost[0], 0.0) if lost else 0.0
    if seconds > LOST_SECONDS and _bytes_of(trace, len(lines) - seen, seen) > LOST_BYTES:
        wrong.append(f"what was printed {seconds:.3f} s before the end is lost")
    return Left(wrong, seconds)


def _bytes_of(trace: Trace, lines: int, of: int) -> float:
    """Estimate the bytes that the events of some lines take, from those in the trace."""
    from dispatchviz.core.record.trace_file.event_lines import encode_lines

    return len(encode_lines(list(trace))) * lines / max(of, 1)


def older_trace(folder: Path, suffix: str) -> bytes:
    """Return the bytes of a complete trace."""
    (folder / "older.py").write_text("import torch\ntorch.ones(2)\n")
    command = [sys.executable, "-m", "dispatchviz", "trace", "-o", "/dev/null", "--save", f"o{suffix}", "older.py"]
    subprocess.run(command, cwd=folder, check=True, timeout=HANGS)
    return (folder / f"o{suffix}").read_bytes()


def main(number: int, seed: int) -> int:
    """End ``number`` recordings; return how many left a problem."""
    tried, bad, longest = collections.Counter[str](), 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        older = {suffix: older_trace(Path(name), suffix) for suffix in SUFFIXES}
    for way in ways(seed, number):
        with tempfile.TemporaryDirectory() as name:
            wrong, seconds = end_one(way, Path(name), older[way.suffix])
        tried[way.end if isinstance(way.end, str) else way.end.name] += 1
        bad, longest = bad + bool(wrong), max(longest, seconds)
        if wrong:
            print(f"{way}: {'; '.join(wrong)}", flush=True)
    print(f"seed {seed}: {dict(tried)}: {bad} of {number} left something wrong; at most {longest:.3f} s are lost")
    return bad


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(1 if main(given[0] if given else 200, given[1] if len(given) > 1 else 0) else 0)
