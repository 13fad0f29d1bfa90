"""Run the benchmarks beside this file, and print a table of what people feel.

    python -m benchmarks [--quick] [--keep] [NAME ...]

Each is a process of its own, so that no benchmark finds the machine warmed up by another, and a failure stops no other.
With names, only those run. ``--keep`` also writes their figures into docs/performance.md. Exit status 1: one failed or
missed a bar.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import PAGE, Result, goals, page, read
from benchmarks.sizes import RESULTS

FOLDER = Path(__file__).parent


def benchmarks() -> list[str]:
    """Return the names of the modules here that measure something, which are those with a ``main``."""
    return [path.stem for path in sorted(FOLDER.glob("[a-z]*.py")) if _measures(path)]


def _measures(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in tree.body)


def main() -> int:
    """Run the benchmarks one after the other, and print the table."""
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    names = [word for word in sys.argv[1:] if not word.startswith("-")] or benchmarks()
    runs = [_run(name, [each for each in options if each != "--keep"]) for name in names]
    results = [result for _, found in runs for result in found]
    print("\n".join(goals(results)))
    if "--keep" in options:
        before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        PAGE.write_text(page(results, before), encoding="utf-8")
    return max(failed for failed, _ in runs)


def _run(name: str, options: list[str]) -> tuple[int, list[Result]]:
    """Return 1 if a benchmark fails or misses a bar, otherwise 0, and its results."""
    print(f"-- {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results"
        environment = {**os.environ, RESULTS: str(file)}
        command = [sys.executable, "-m", f"benchmarks.{name}", *options]
        done = subprocess.run(command, cwd=FOLDER.parent, env=environment, check=False)
        return int(done.returncode != 0), read(name, file)


if __name__ == "__main__":
    sys.exit(main())
