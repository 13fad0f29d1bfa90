"""Runs every benchmark beside this file: ``python -m benchmarks``. Exit status 1 if one misses its bar."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> int:
    """Runs them one after the other."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return max(_run(name) for name in names)


def _run(name: str) -> int:
    print(f"-- {name}")
    return int(importlib.import_module(f"benchmarks.{name}").main())


if __name__ == "__main__":
    sys.exit(main())
