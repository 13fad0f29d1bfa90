"""Checks what changed since ``main``: lint, types, and the tests that import a changed module, the nearest first.

    python -m scripts.quick

Counts commits that are not on ``main`` (on ``main`` itself: those not pushed, else the last one) and uncommitted files.
A change deep in the package reaches every test: those beyond ``MOST`` are left to ``make test``. No test starts an app
or a process (``--start-nothing`` of ``tests/conftest.py``).
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
"""Test functions that are worth a minute; each runs two cases at most."""

FEW = 60
"""Test functions for which a second worker does not pay."""

NOT_QUICK = re.compile(r"^pytestmark = .*\.(torch|long)\b", re.MULTILINE)
"""In a test module of which no test is quick."""

_PYTEST = ("-m", "pytest", "-q", "-m", "not torch and not gpu and not long", "--sample", "2", "--start-nothing")


def git(*words: str) -> str:
    """What git prints; nothing if it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def changed_files() -> list[str]:
    """Files that differ from ``main``, new ones included."""
    main = next((name for name in ("origin/main", "main") if git("rev-parse", "--verify", "--quiet", name)), "HEAD")
    base, head = git("merge-base", "HEAD", main), git("rev-parse", "HEAD")
    if base == head and not git("status", "--porcelain"):
        base = git("rev-parse", "--verify", "--quiet", "HEAD~1") or head
    changed = git("diff", "--name-only", base) + "\n" + git("ls-files", "--others", "--exclude-standard")
    return sorted(set(changed.split("\n")) - {""})


def module(file: str) -> str:
    """The module of a file; for a file of data its package."""
    path = Path(file)
    return ".".join((path.parent if path.name == "__init__.py" or path.suffix != ".py" else path.with_suffix("")).parts)


def importers(graph: grimp.ImportGraph, name: str) -> set[str]:
    """The modules that import one. If none of the package does, one beside it finds it by its name."""
    package = name.rpartition(".")[0]
    if name.endswith(".conftest"):
        return graph.find_descendants(package)
    found = graph.find_modules_that_directly_import(name) if name in graph.modules else set()
    if name.startswith("dispatchviz.") and not any(other.startswith("dispatchviz.") for other in found):
        found = found.union({package}, *(graph.find_children(place) for place in {name, package} & graph.modules))
    return found


def nearest_tests(graph: grimp.ImportGraph, changed: Iterable[str]) -> Iterator[str]:
    """The test modules that import a changed module, directly or not: by distance, then by the words they share."""
    seen, front = set[str](), set(changed) - {""}
    words = {word for name in front for word in name.split(".")}
    while front:
        tests = [name for name in front & graph.modules if re.match(r"tests\..*\btest_\w+$", name)]
        yield from sorted(tests, key=lambda name: (-len(words.intersection(re.split(r"\.|test_", name))), name))
        seen |= front
        front = {found for name in front for found in importers(graph, name)} - seen - {"", "tests"}


def within_budget(tests: Iterable[str]) -> tuple[list[str], int, int]:
    """The files of the first tests, so many functions they have, and how many modules are left out."""
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
    """The checks, as command lines."""
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
    """Run them up to the first that fails, and says what is left to ``make test``."""
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
"""pytest's status if all tests that were asked for are long."""

if __name__ == "__main__":
    sys.exit(main())
