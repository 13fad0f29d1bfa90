"""Printed tensors compared with a live PyTorch: 4,000 random ones under random print options."""

from __future__ import annotations

from typing import Any

import pytest

from dispatchviz import torch as model
from truth.questions.printing import IN_TRANSFORMS, answer, questions

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("seed", range(1, 21))
def test_random_tensors_print_as_in_pytorch(seed: int) -> None:
    for question in questions(seed, 200):
        assert answer(model, question) == answer(torch, question), question


@pytest.mark.parametrize("question", IN_TRANSFORMS)
def test_tensors_inside_transforms_print_as_in_pytorch(question: str) -> None:
    assert answer(model, question) == answer(torch, question)
