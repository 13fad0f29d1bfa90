"""How soon the commands that look something up answer, beside NumPy's import and bare Python.

    python -m benchmarks.start

Each contestant is a process of its own; they take turns, and a contestant's number is the smallest of its rounds (what
disturbs a process only makes it slower). Ratios mean more than times: they travel between machines. On a busy machine
NumPy's import, which uses several threads, looks slower than it is, so look at the ratios on an idle one.
"""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.sizes import QUICK, often

ROUNDS = often(15)
LOOKING_UP = 1.3
"""The bar of ``table``, ``why``, ``keys`` and ``codegen``: times ``python -c "import numpy"``."""
HELP = 3.0
"""The bar of ``--help``: times ``python -c pass``."""

NUMPY, BARE = "import numpy", "pass"
COMMANDS = {
    "--help": (["--help"], BARE, HELP),
    "keys": (["keys"], NUMPY, LOOKING_UP),
    "keys 274877939713": (["keys", "274877939713"], NUMPY, LOOKING_UP),
    "keys QuantizedCPU": (["keys", "QuantizedCPU"], NUMPY, LOOKING_UP),
    "table add": (["table", "add"], NUMPY, LOOKING_UP),
    "why linear PrivateUse1": (["why", "linear", "PrivateUse1"], NUMPY, LOOKING_UP),
    "codegen add": (["codegen", "add"], NUMPY, LOOKING_UP),
}
"""Command lines, what each is compared with, and its bar."""

START = "import sys; from dispatchviz.cli import main; sys.exit(main())"
"""What the installed script does."""


def main() -> int:
    """Prints the ratios. Exit status 1 if a bar is missed."""
    processes = {name: [sys.executable, "-c", START, *command] for name, (command, _, _) in COMMANDS.items()}
    times = smallest({**processes, NUMPY: [sys.executable, "-c", NUMPY], BARE: [sys.executable, "-c", BARE]})
    print(f"  bare Python {times[BARE] * 1000:.0f} ms, import numpy {times[NUMPY] * 1000:.0f} ms")
    missed = False
    for name, (_, rival, bar) in COMMANDS.items():
        ratio = times[name] / times[rival]
        missed |= ratio > bar and not QUICK
        against = "bare Python" if rival == BARE else "import numpy"
        print(f"  {name:<24} {times[name] * 1000:4.0f} ms, {ratio:.2f} times {against} (bar {bar})")
    return int(missed)


def smallest(processes: dict[str, list[str]]) -> dict[str, float]:
    """Seconds of each process, smallest over rounds in which all take turns."""
    found = dict.fromkeys(processes, float("inf"))
    for _ in range(ROUNDS):
        for name, command in processes.items():
            found[name] = min(found[name], _seconds(command))
    return found


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
