"""The processor time of ``dispatchviz export -o page.html``, and how it grows with the number of steps.

    python -m benchmarks.pages

The traces are those of the founding program and of training loops of 10,000 and 100,000 steps. Each export is a process
of its own; the smallest round counts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.processes import own_command, smallest
from benchmarks.sizes import QUICK, judge, often
from benchmarks.tui import ROOT, recorded
from dispatchviz.core.record.trace_file import Trace

ROUNDS = often(3, 1)
ITERATIONS = {"10,000": 1, "100,000": 2} if QUICK else {"10,000": 9, "100,000": 90}
"""Approximate number of steps -> iterations of the loop."""
BARS = {
    "examples/forum.py, s": 2.5,
    "10,000 steps, s": 12,
    "100,000 steps, s": 50,
    "a step of 100,000, of one of 10,000": 1.0,
}


def main() -> int:
    """Print the seconds, and return 1 if a bar is missed."""
    with tempfile.TemporaryDirectory() as folder:
        traces = {name: recorded(Path(folder), iterations) for name, iterations in ITERATIONS.items()}
        sources = {"examples/forum.py, s": ROOT / "examples/forum.py"}
        sources |= {f"{name} steps, s": trace for name, trace in traces.items()}
        page = str(Path(folder) / "page.html")
        results = smallest(
            {name: own_command("export", "-o", page, str(source)) for name, source in sources.items()}, ROUNDS
        )
        short, long = (results[f"{name} steps, s"] / len(Trace.load(trace)) for name, trace in traces.items())
    return judge({**results, "a step of 100,000, of one of 10,000": long / short}, BARS)


if __name__ == "__main__":
    sys.exit(main())
