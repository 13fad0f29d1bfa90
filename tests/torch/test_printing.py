"""Printed tensors against what PyTorch printed, from the stored answers."""

from __future__ import annotations

import pytest

from dispatchviz import torch
from truth import records
from truth.questions.printing import IN_TRANSFORMS, answer

pytestmark = pytest.mark.record("printed_tensors")

PRINTED: dict[str, str] = records.read("printed_tensors")["printed"]
PLAIN = [question for question in PRINTED if question not in IN_TRANSFORMS]


@pytest.mark.parametrize("start", range(0, len(PLAIN), 50))
def test_random_tensors(start: int) -> None:
    for question in PLAIN[start : start + 50]:
        assert answer(torch, question) == PRINTED[question], question


@pytest.mark.parametrize("question", IN_TRANSFORMS)
def test_tensors_inside_transforms(question: str) -> None:
    assert answer(torch, question) == PRINTED[question]


def test_options_hold_for_one_program() -> None:
    from dispatchviz.running.process_state import clean_process_state

    with clean_process_state():
        torch.set_printoptions(precision=1)
        assert str(torch.tensor([0.25])) == "tensor([0.2])"
    assert str(torch.tensor([0.25])) == "tensor([0.2500])"
