"""Printed tensors against what PyTorch printed, from the stored answers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dispatchviz import torch
from scripts.printing_questions import IN_TRANSFORMS, answer

STORED = Path(__file__).parent.parent / "data" / "printed_tensors.json.gz"
PRINTED: dict[str, str] = json.loads(gzip.decompress(STORED.read_bytes()))["printed"]
PLAIN = [question for question in PRINTED if question not in IN_TRANSFORMS]


@pytest.mark.parametrize("start", range(0, len(PLAIN), 50))
def test_random_tensors(start: int) -> None:
    for question in PLAIN[start : start + 50]:
        assert answer(torch, question) == PRINTED[question], question


@pytest.mark.parametrize("question", IN_TRANSFORMS)
def test_tensors_inside_transforms(question: str) -> None:
    assert answer(torch, question) == PRINTED[question]


def test_options_hold_for_one_program() -> None:
    from dispatchviz.fresh import machine_as_new

    with machine_as_new():
        torch.set_printoptions(precision=1)
        assert str(torch.tensor([0.25])) == "tensor([0.2])"
    assert str(torch.tensor([0.25])) == "tensor([0.2500])"
