"""The number of random cases for a test: few in the gate, which has a limit of minutes, more with ``make thorough``."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

from dispatchviz.foundation.pytorch_release import MINOR

Name = TypeVar("Name")

TRUTH = Path(__file__).parents[1] / "truth"
PACKAGE = Path(__file__).parents[1] / "dispatchviz"
PINNED = 3
"""The gate takes one of this many tests that are marked ``pinned``."""

TURNS: Mapping[str, int] = {
    "tests/cli/": 10,
    "tests/conformance/": 12,
    "tests/conformance/test_opinfo_live.py": 4,
    "tests/core/native/test_expressions.py::test_dtypes": 2,
    "tests/core/native/test_expressions.py::test_expression": 2,
    "tests/core/native/test_expressions.py::test_gradient": 2,
    "tests/core/test_interrupts.py": 3,
    "tests/explain/": 16,
    "tests/explain/diagnosis/test_both_engines.py": 12,
    "tests/foundation/": 2,
    "tests/foundation/test_terminal_output.py": 4,
    "tests/fuzzing/": 2,
    "tests/live/": 12,
    "tests/live/test_check.py": 16,
    "tests/model/test_programs.py::test_a_program": 4,
    "tests/notebook/": 2,
    "tests/outputs/": 12,
    "tests/outputs/page/": 12,
    "tests/programs/": 6,
    "tests/running/": 2,
    "tests/serving/": 6,
    "tests/test_docs.py": 4,
    "tests/test_names.py": 2,
    "tests/test_packaging.py": 2,
    "tests/test_retained_memory.py": 2,
    "tests/test_shared_files.py": 2,
    "tests/test_training.py": 2,
    "tests/testing/": 2,
    "tests/testing/test_plugin.py": 6,
    "tests/torch/": 2,
    "tests/tui/": 20,
}
"""The gate takes one of this many tests whose names begin like this; the longest such place counts. They are many and
alike, or each starts processes.
"""

THOROUGH = "DISPATCHVIZ_THOROUGH" in os.environ


def _elsewhere() -> int:
    """Return 1 where another release of PyTorch than the model's is installed, so that the gate runs other tests there
    than on the model's; otherwise 0.
    """
    try:
        return int(not version("torch").startswith(f"{MINOR}."))
    except PackageNotFoundError:
        return 0


ELSEWHERE = _elsewhere()


def amount(gate: int, thorough: int) -> int:
    """Return the number of programs, seeds or samples."""
    return thorough if THOROUGH else gate


def in_turn(names: Sequence[Name], of: int) -> Sequence[Name]:
    """Return every ``of``-th name, or all with ``make thorough``.

    This is for tests that compare a record with the PyTorch of one release, which does not change. The records and
    programs decide which names are chosen, so a change of them chooses others.
    """
    return names if THOROUGH else names[(turn() + ELSEWHERE) % of :: of]


def some(names: Sequence[Name], of: int) -> Sequence[Name]:
    """Return every ``of``-th name, or all with ``make thorough``, for slow tests that differ little from each other.

    The package's files decide which names are chosen, so a change of them chooses others.
    """
    return names if THOROUGH else names[(code_turn() + ELSEWHERE) % of :: of]


def not_in_turn(names: Iterable[str]) -> set[str]:
    """Return the names of tests that the gate skips in this round (``TURNS``)."""
    by_place: dict[str, list[str]] = {}
    for name in sorted(names):
        by_place.setdefault(max((place for place in TURNS if name.startswith(place)), key=len, default=""), []).append(
            name
        )
    return {name for place, own in by_place.items() for name in set(own) - set(some(own, TURNS.get(place, 1)))}


@cache
def code_turn() -> int:
    """Return a number that changes whenever the size of a file of the package does."""
    files = sorted(file for file in PACKAGE.rglob("*.py"))
    return zlib.crc32(repr([(file.name, file.stat().st_size) for file in files]).encode())


@cache
def turn() -> int:
    """Return a number that changes whenever a record, a program or a recorder does."""
    files = sorted(path for path in TRUTH.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return zlib.crc32(b"".join(path.read_bytes() for path in files))
