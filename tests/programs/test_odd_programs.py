"""What a shell sees of a program that misbehaves is what it sees without dispatchviz: status, output, traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.amounts import some

from .odd_programs import PLAIN, TORCH, Odd
from .ways import PYTHON, TRACED, UNTRACED, seen


def _named(odd: Odd) -> str:
    return odd.name


@pytest.mark.long
@pytest.mark.parametrize("odd", some(PLAIN, 4), ids=_named)
def test_an_odd_program_is_seen_as_under_python(odd: Odd, tmp_path: Path) -> None:
    """With a trace; the gate takes every fourth."""
    assert seen(odd, TRACED, tmp_path / "traced") == seen(odd, PYTHON, tmp_path / "plain")


@pytest.mark.long
@pytest.mark.parametrize("odd", some(PLAIN, 8), ids=_named)
def test_an_odd_program_without_a_trace_is_seen_as_under_python(odd: Odd, tmp_path: Path) -> None:
    """Less is done there than with a trace, by the same runner: the gate takes an eighth of them."""
    assert seen(odd, UNTRACED, tmp_path / "untraced") == seen(odd, PYTHON, tmp_path / "plain")


@pytest.mark.torch
@pytest.mark.parametrize("odd", some(TORCH, 6), ids=_named)
def test_an_odd_program_is_seen_as_under_pytorch(odd: Odd, tmp_path: Path) -> None:
    assert seen(odd, TRACED, tmp_path / "traced") == seen(odd, PYTHON, tmp_path / "pytorch")
