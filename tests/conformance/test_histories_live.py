"""Thousands of registration histories on the model's ``torch._C`` and on PyTorch's, in one process."""

from __future__ import annotations

import warnings

import pytest

from dispatchviz import torch as model_torch
from tests.amounts import amount
from truth.questions.registration_histories import History, histories

torch = pytest.importorskip("torch")

COUNT = amount(160, 600)
"""For each of the seeds."""


@pytest.mark.parametrize("seed", range(100, 105))
def test_histories_go_as_in_pytorch(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, steps in enumerate(histories(seed, COUNT)):
            assert History(model_torch._C, number).run(steps) == History(torch._C, number).run(steps), steps
