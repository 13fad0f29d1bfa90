"""Autograd of the model beside a real PyTorch, on random programs; and whether the stored records are PyTorch's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dispatchviz import torch as model
from tests.amounts import amount
from tests.model_runs import watched_engine
from truth.observers.autograd import autograd_record, differing
from truth.questions.autograd_programs import program

torch = pytest.importorskip("torch")

BLOCKS, OF = 12, amount(50, 100)
"""Blocks of so many seeds each, behind those that are stored. By hand any number can be run."""
FIRST = 1000


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_do_the_same(block: int) -> None:
    """Graphs and the order they run in, states after each statement, sequence numbers, gradients, output, errors."""
    from truth.observers.dispatcher import watched_engine as watched_torch

    torch.set_num_threads(1)
    for seed in range(FIRST + block * OF, FIRST + (block + 1) * OF):
        source = program(seed)
        real = autograd_record(torch, source, watched_torch)
        found = differing(real, autograd_record(model, source, watched_engine))
        assert not found, f"seed {seed}\n{source}\n{found}"


@pytest.mark.record("autograd_cases")
@pytest.mark.long
@pytest.mark.pinned
def test_stored_records_are_fresh() -> None:
    """``python -m truth.record autograd_cases`` would write the same file again."""
    check = [sys.executable, "-m", "truth.record", "--check", "autograd_cases"]
    found = subprocess.run(check, cwd=Path(__file__).parent.parent.parent, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
