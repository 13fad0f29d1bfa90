"""Claims of sentences, names and facts that the installed release contradicts: tests that fail there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from truth.following import Left, some

FACTS = ("attributes", "codegen", "engine_facts", "names", "node_card", "structured_classes", "torchgen_parts")
TESTS = ("tests/claims", "tests/explain/then_and_now", *(f"tests/conformance/test_{name}_live.py" for name in FACTS))
"""The tests that compare sentences, names and facts with an installed PyTorch."""


def left() -> Iterator[Left]:
    """Yield the tests that fail, by file."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "torch and not gpu", "-rfE", "--tb=no", *TESTS]
    run = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    failed = failures(run.stdout)
    if run.returncode and not failed:
        yield Left("the tests do not run", run.stdout.strip().splitlines()[-1:], " ".join(command[1:]))
    for file, names in failed.items():
        yield from some(file, names, f"python -m pytest {file}")


def failures(printed: str) -> dict[str, list[str]]:
    """The failed tests by file, from the short summary of pytest."""
    found: dict[str, list[str]] = {}
    for file, name in re.findall(r"^(?:FAILED|ERROR) ([^\s:]+)(?:::(\S+))?", printed, re.MULTILINE):
        found.setdefault(file, []).append(name)
    return found
