"""``examples/library``: its fifteen tests pass on both engines, on several workers, and with the same coverage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

FOLDER = Path(__file__).parents[2] / "examples" / "library"
UNUSED = "\n\ndef unused(x):\n    return x\n"
"""A function that no test calls, at the end of the library."""


def _covered(pytester: pytest.Pytester, *options: str) -> list[str]:
    """Run the tests on two workers, and return the lines that they do not cover."""
    shutil.copytree(FOLDER, pytester.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    library = pytester.path / "blend.py"
    library.write_text(library.read_text("utf-8") + UNUSED, "utf-8")
    coverage = ("--cov=blend", "--cov-report=term-missing")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n2", *coverage, *options)
    result.assert_outcomes(passed=15)
    (row,) = [line.split() for line in result.outlines if line.startswith("blend.py ")]
    return row[4:]


def _last_line() -> list[str]:
    return [str(len((FOLDER / "blend.py").read_text("utf-8").splitlines()) + UNUSED.count("\n"))]


def test_passes_on_the_model(pytester: pytest.Pytester) -> None:
    assert _covered(pytester, "--dispatchviz-engine=model") == _last_line()


@pytest.mark.torch
def test_passes_on_the_pytorch_that_it_imports(pytester: pytest.Pytester) -> None:
    assert _covered(pytester) == _last_line()
