"""The sizes of a benchmark, its results beside their bars, and its message about rivals that are not installed.

``--quick`` measures almost nothing. It shows quickly whether a benchmark runs at all, and judges no bar.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping

QUICK = "--quick" in sys.argv

RIVALS = {
    "autograd": "HIPS autograd is not installed and not compared; this brings it: pip install -e '.[bench]'",
    "torch": "PyTorch is not installed and not compared; this brings it: pip install torch==2.13.0",
}
"""Rival package -> the line that is printed if it is missing."""


def often(many: int, few: int = 2) -> int:
    """Return the number of rounds, calls or steps: ``many``, or at most ``few`` with ``--quick``."""
    return min(many, few) if QUICK else many


def is_installed(rival: str) -> bool:
    """Return whether a package that we are compared with is installed."""
    return importlib.util.find_spec(rival) is not None


RESULTS = "BENCHMARK_RESULTS"
"""The environment variable that names the file to which results are added, as lines of JSON: name, value and bar."""


def judge(results: Mapping[str, float], bars: Mapping[str, float], *rivals: str) -> int:
    """Print the result for each bar, and the missing rivals. Return 1 if a bar is missed."""
    missed = [name for name, value in results.items() if value > bars[name] and not QUICK]
    if RESULTS in os.environ:
        with open(os.environ[RESULTS], "a", encoding="utf-8") as file:
            file.writelines(json.dumps([name, value, bars[name]]) + "\n" for name, value in results.items())
    for name, value in results.items():
        print(f"  {name:<52}{value:8.2f}   bar {bars[name]:g}{'   MISSED' * (name in missed)}")
    for rival in rivals:
        if not is_installed(rival):
            print(f"  ({RIVALS[rival]})")
    return int(bool(missed))
