"""``dispatchviz check examples/mlp.py``, compared with the two runs that it makes: PyTorch's and the model's.

    python -m benchmarks.commands            (with PyTorch where it is installed)

Each run is a process of its own, measured in processor time; the smallest round counts.
"""

from __future__ import annotations

import sys

from benchmarks.processes import own_command, smallest
from benchmarks.sizes import is_installed, judge, often
from benchmarks.tui import PROGRAM

ROUNDS = often(5, 1)
SCRIPT = "examples/mlp.py"
ALONE = "import runpy, sys, torch; torch.set_num_threads(1); runpy.run_path(sys.argv[1])"
BARS = {"check, of both runs": 1.6}


def main() -> int:
    """Print the seconds and the ratio, and return 1 if the bar is missed. Without PyTorch, say so."""
    if not is_installed("torch"):
        return judge({}, BARS, "torch")
    found = smallest(
        {
            "check": own_command("check", "--plain", SCRIPT),
            "PyTorch": [sys.executable, "-c", ALONE, SCRIPT],
            "model": [sys.executable, "-c", PROGRAM, SCRIPT],
        },
        ROUNDS,
    )
    for name, took in found.items():
        print(f"  {name:8} {took:.2f} s")
    return judge({"check, of both runs": found["check"] / (found["PyTorch"] + found["model"])}, BARS)


if __name__ == "__main__":
    sys.exit(main())
