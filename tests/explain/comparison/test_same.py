"""A program compared with itself never differs; any two programs can be compared."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from dispatchviz.explain.comparison.divergences import compare
from dispatchviz.trace import Trace, TraceError
from dispatchviz.views.cards.diff_text import diff_lines
from dispatchviz.views.text.console import Console
from truth.programs import PROGRAMS

from .runs import traced

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(PROGRAMS)
SOME = NAMES[::20]


def twice(source: str) -> None:
    traced.cache_clear()
    first = traced(source)
    traced.cache_clear()
    found = compare(first, traced(source))
    assert found.same, [each.main for each in found.divergences]
    assert found.output is None
    assert found.edit is None


@pytest.mark.long
@pytest.mark.parametrize("name", SOME)
def test_a_program_is_like_itself(name: str) -> None:
    twice(PROGRAMS[name])


@pytest.mark.parametrize(
    "example", ["forum", "vmap", "autocast", "inplace_error", "custom_operator", "wrapper_subclass"]
)
def test_an_example_is_like_itself(example: str) -> None:
    twice((EXAMPLES / f"{example}.py").read_text())


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
def test_any_two_programs_can_be_compared(seed: int) -> None:
    chosen = random.Random(seed)
    first, second = (traced(PROGRAMS[chosen.choice(NAMES)]) for _ in range(2))
    found = compare(first, second)
    lines = list(diff_lines(found, ("in A", "in B"), Console(80, False), every=True))
    assert lines
    assert all(len(line) <= 80 or " " not in line.strip() or line.startswith("  ") for line in lines)
    back = compare(second, first)
    assert back.same == found.same


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_programs_with_lines_left_out_can_be_compared(seed: int) -> None:
    chosen = random.Random(seed)
    lines = PROGRAMS[chosen.choice(NAMES)].splitlines(keepends=True)
    kept = [line for line in lines if line.startswith((" ", "import")) or chosen.random() < 0.8]
    try:
        compile("".join(kept), "p.py", "exec")
    except SyntaxError:
        return
    found = compare(traced("".join(lines)), traced("".join(kept)))
    assert list(diff_lines(found, ("in A", "in B"), Console(80, False)))


@pytest.mark.parametrize("seed", range(30))
def test_damaged_and_forged_files_can_be_compared(seed: int) -> None:
    chosen = random.Random(seed)
    whole = traced((EXAMPLES / "vmap.py").read_text())
    raw = bytearray(whole.encoded((".dvtrace", ".jsonl")[seed % 2]))
    for _ in range(chosen.randrange(1, 6)):
        raw[chosen.randrange(len(raw))] = chosen.randrange(256)
    try:
        damaged = Trace.decoded(bytes(raw), "t")
    except TraceError:
        return
    for pair in ((whole, damaged), (damaged, whole), (damaged, damaged)):
        assert list(diff_lines(compare(*pair), ("in A", "in B"), Console(80, False), every=True))


def test_columns_that_lead_nowhere_end() -> None:
    whole = traced("import torch\nwith torch.inference_mode():\n    x = torch.ones(2) + 1\n")
    chosen = random.Random(0)
    for name in ("parents", "lines", "ends", "operators", "keys"):
        column: Any = [chosen.randrange(-5, 2 * len(whole)) for _ in whole]
        columns: Any = dataclasses.replace(whole.columns, **{name: column})
        forged = Trace(whole.header, whole.events, columns=columns)
        compare(whole, forged)
        compare(forged, whole)
