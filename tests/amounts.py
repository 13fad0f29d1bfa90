"""How many random cases a test tries: few in the gate, which has its minutes, more with ``make thorough``."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

Name = TypeVar("Name")

TRUTH = Path(__file__).parents[1] / "truth"
PACKAGE = Path(__file__).parents[1] / "dispatchviz"
PINNED = 3
"""Of the tests marked ``pinned`` the gate takes one in so many."""

TURNS: Mapping[str, int] = {
    "tests/cli/": 6,
    "tests/conformance/test_opinfo_live.py": 2,
    "tests/core/native/test_expressions.py": 2,
    "tests/explain/": 4,
    "tests/live/test_check.py": 3,
    "tests/model/test_programs.py": 4,
    "tests/outputs/page/": 6,
    "tests/programs/": 4,
    "tests/outputs/": 4,
    "tests/serving/": 6,
    "tests/test_names.py": 2,
    "tests/foundation/test_terminal_output.py": 3,
    "tests/testing/test_plugin.py": 3,
    "tests/tui/": 4,
}
"""Of the tests in these folders and files, many and alike or each with processes of its own, the gate takes one in so
many."""

THOROUGH = "DISPATCHVIZ_THOROUGH" in os.environ


def amount(gate: int, thorough: int) -> int:
    """So many programs, seeds or samples."""
    return thorough if THOROUGH else gate


def in_turn(names: Sequence[Name], of: int) -> Sequence[Name]:
    """Every ``of``-th of them, all with ``make thorough``.

    For what asks the PyTorch of one release, which does not change, whether a record is still its answer. Whose turn it
    is, the records and programs decide: once one has changed, others are asked.
    """
    return names if THOROUGH else names[turn() % of :: of]


def some(names: Sequence[Name], of: int) -> Sequence[Name]:
    """Every ``of``-th of them, all with ``make thorough``: for what takes long and differs little from one to the next.

    Whose turn it is, the package's files decide: with a change of theirs others are tested.
    """
    return names if THOROUGH else names[code_turn() % of :: of]


def not_in_turn(names: Iterable[str]) -> set[str]:
    """Of the names of tests those that the gate leaves out this time (``TURNS``)."""
    there = sorted(names)
    found = set[str]()
    for place, of in TURNS.items():
        own = [name for name in there if name.startswith(place)]
        found |= set(own) - set(some(own, of))
    return found


@cache
def code_turn() -> int:
    """A number that changes whenever the size of a file of the package does."""
    files = sorted(file for file in PACKAGE.rglob("*.py"))
    return zlib.crc32(repr([(file.name, file.stat().st_size) for file in files]).encode())


@cache
def turn() -> int:
    """A number that changes whenever a record, a program or a recorder does."""
    files = sorted(path for path in TRUTH.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return zlib.crc32(b"".join(path.read_bytes() for path in files))
