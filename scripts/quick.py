"""A check of the changes since ``main``: lint, types, and the tests that import a changed module, the nearest first.

    python -m scripts.quick

It includes commits that are not on ``main`` (on ``main`` itself: those not pushed, or else the last one) and
uncommitted files. A change deep in the package reaches every test, so tests beyond ``MOST`` are left to ``make test``.
No test starts an app or a process (``--start-nothing`` of ``tests/conftest.py``).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGES = ("dispatchviz", "tests", "scripts", "truth", "benchmarks")
MOST = 300
"""The number of test functions that take about a minute. Each runs at most two cases."""

FEW = 60
"""The number of test functions for which a second worker does not pay off."""

NOT_QUICK = re.compile(r"^pytestmark = .*\.(torch|long)\b", re.MULTILINE)
"""The mark of a test module without quick tests."""

_PYTEST = ("-m", "pytest", "-q", "-m", "not torch and not gpu and not long", "--sample", "2", "--start-nothing")


def git(*words: str) -> str:
    """Return the output of git; empty if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def changed_files() -> list[str]:
    """Return the files that differ from ``main``, including new ones."""
    main = next((name for name in ("origin/main", "main") if git("rev-parse", "--verify", "--quiet", name)), "HEAD")
    base, head = git("merge-base", "HEAD", main), git("rev-parse", "HEAD")
    if base == head and not git("status", "--porcelain"):
        base = git("rev-parse", "--verify", "--quiet", "HEAD~1") or head
    changed = git("diff", "--name-only", base) + "\n" + git("ls-files", "--others", "--exclude-standard")
    return sorted(set(changed.split("\n")) - {""})


def module(file: str) -> str:
    """Return the module of a file. For a data file, its package."""
    path = Path(file)
    return ".".join((path.parent if path.name == "__init__.py" or path.suffix != ".py" else path.with_suffix("")).parts)


def importers(graph: grimp.ImportGraph, name: str) -> set[str]:
    """Return the modules that import a module. If none of the package does, a module beside it finds it by its name."""
    package = name.rpartition(".")[0]
    if name.endswith(".conftest"):
        return graph.find_descendants(package)
    found = graph.find_modules_that_directly_import(name) if name in graph.modules else set()
    if name.startswith("dispatchviz.") and not any(other.startswith("dispatchviz.") for other in found):
        found = found.union({package}, *(graph.find_children(place) for place in {name, package} & graph.modules))
    return found


def nearest_tests(graph: grimp.ImportGraph, changed: Iterable[str]) -> Iterator[str]:
    """Yield the test modules that import a changed module, directly or not: by distance, then by the words they
    share.
    """
    seen, front = set[str](), set(changed) - {""}
    words = {word for name in front for word in name.split(".")}
    while front:
        tests = [name for name in front & graph.modules if re.match(r"tests\..*\btest_\w+$", name)]
        yield from sorted(tests, key=lambda name: (-len(words.intersection(re.split(r"\.|test_", name))), name))
        seen |= front
        front = {found for name in front for found in importers(graph, name)} - seen - {"", "tests"}


def within_budget(tests: Iterable[str]) -> tuple[list[str], int, int]:
    """Return the files of the first tests, the number of their functions, and the number of modules that are left
    out.
    """
    files, functions, left = list[str](), 0, 0
    for name in tests:
        file = f"{name.replace('.', '/')}.py"
        text = (ROOT / file).read_text("utf-8")
        more = text.count("\ndef test_")
        if functions + more > MOST or NOT_QUICK.search(text) or "/conformance/" in file:
            left += 1
        else:
            files, functions = [*files, file], functions + more
    return files, functions, left


def commands(changed: list[str], tests: list[str], functions: int) -> Iterator[list[str]]:
    """Yield the checks, as command lines."""
    tools = Path(sys.executable).parent
    sources = [file for file in changed if file.endswith((".py", ".pyi")) and (ROOT / file).exists()]
    if sources:
        yield [f"{tools}/ruff", "check", "--force-exclude", *sources]
        yield [f"{tools}/ruff", "format", "--check", "--force-exclude", *sources]
        yield [f"{tools}/lint-imports", "--no-cache"]
        yield [f"{tools}/mypy"]
    if texts := [file for file in changed if (ROOT / file).is_file()]:
        yield [f"{tools}/codespell", *texts]
        yield [sys.executable, "-m", "scripts.plain_english", *texts]
    if tests:
        yield [sys.executable, *_PYTEST, "-n", "2" if functions > FEW else "0", *tests]


def main() -> int:
    """Run the checks up to the first failure, and print the tests that are left to ``make test``."""
    changed = changed_files()
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    tests, functions, left = within_budget(nearest_tests(graph, map(module, changed)))
    print(
        f"{len(changed)} changed files, {len(tests)} modules of tests; {left} more are left to `make test`", flush=True
    )
    for command in commands(changed, tests, functions):
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status not in (0, NO_TESTS) or (status and "pytest" not in command):
            return status
    return 0


NO_TESTS = 5
"""The status of pytest if all requested tests are long."""

if __name__ == "__main__":
    sys.exit(main())
