"""Recording a program of a million steps to a file (``--save``), compared with the same run without a recording.

    python -m benchmarks.keeping

The program is the training loop of ``tui.py``. Each run is a process of its own, measured in processor time; the
smallest round counts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.processes import own_command, smallest
from benchmarks.sizes import judge, often
from benchmarks.tui import LOOP

ROUNDS = often(3, 1)
ITERATIONS = often(891)
RECORD = """
import sys
from dispatchviz.cli.script_run import run_script
run_script(sys.argv[1], (), "auto", sys.argv[2])
"""
"""The recording alone: commands also print a log or open the stepper."""
BARS = {"recording with --save, of --no-trace": 6.0}


def main() -> int:
    """Print the ratio, and return 1 if the bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        script, trace = (str(Path(folder) / name) for name in ("loop.py", "loop.dvtrace"))
        Path(script).write_text(LOOP.format(iterations=ITERATIONS), encoding="utf-8")
        commands = {
            "recorded": [sys.executable, "-c", RECORD, script, trace],
            "plain": own_command("run", "--no-trace", script),
        }
        found = smallest(commands, ROUNDS)
    print(f"  plain {found['plain']:.2f} s, recorded {found['recorded']:.2f} s")
    return judge({"recording with --save, of --no-trace": found["recorded"] / found["plain"]}, BARS)


if __name__ == "__main__":
    sys.exit(main())
