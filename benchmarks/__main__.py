"""Run every benchmark beside this file: ``python -m benchmarks [--quick]``. Exit status 1: one failed or missed a bar.

Each is a process of its own, so that no benchmark finds the machine warmed up by another, and a failure stops no other.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def benchmarks() -> list[str]:
    """Return the names of the modules here that measure something, which are those with a ``main``."""
    return [path.stem for path in sorted(FOLDER.glob("[a-z]*.py")) if _measures(path)]


def _measures(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in tree.body)


def main() -> int:
    """Run the benchmarks one after the other."""
    return max([_run(name) for name in benchmarks()])


def _run(name: str) -> int:
    print(f"-- {name}", flush=True)
    done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], cwd=FOLDER.parent, check=False)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
