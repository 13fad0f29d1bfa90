"""Errors of a recorded program: none of our kernels is in their text, and each ends as in a plain run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dispatchviz

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_error_of_a_call_without_tensors_has_the_text_of_a_plain_run() -> None:
    library = torch.library.Library("plain_errors", "DEF")
    library.define("total(Tensor[] prices) -> Tensor")
    library.impl("total", lambda prices: sum(prices), "CPU")
    total = torch.ops.plain_errors.total
    with pytest.raises(NotImplementedError) as plain:
        total([])
    with pytest.raises(NotImplementedError) as recorded, dispatchviz.record(engine="torch"):
        total([])
    assert str(recorded.value) == str(plain.value)
    assert "Available functions are [CPU, Meta, " in str(plain.value)


ENDLESS = """
import torch
library = torch.library.Library("endless", "DEF")
library.define("g(Tensor x) -> Tensor")
library.impl("g", lambda x: torch.ops.endless.g(x * 2), "CPU")

def deeper(levels):
    return deeper(levels - 1) if levels else torch.ops.endless.g(torch.ones(2))

for levels in range(8):
    try:
        deeper(levels)
    except RecursionError:
        print(levels)
"""


def test_endless_recursion_ends_with_an_error_wherever_the_stack_ends(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "dispatchviz", "trace", "--engine", "torch", "-o", "log.txt", "endless.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == list("01234567")
