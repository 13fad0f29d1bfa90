"""Every kind of diagnosis has a case: a program that gets it, on the model and on an installed PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.sentences.kinds import diagnosis_kinds
from tests.explain.diagnosis.cases import Case, check

WITHOUT = {
    "unused input: not known which": "only a recording that begins in the middle does not know the inputs",
    "out= with one of several that requires grad": "only a recording that begins in the middle does not know which",
    "gradient of an unknown result": "only a recording that begins in the middle does not know the result",
    "no grad_fn: cut": "of an installed PyTorch alone, if no text says what switched grad mode off",
}
"""Kinds without a case, and why."""

AGAIN = """
import torch
lib = torch.library.Library("again", "DEF")
lib.define("f(Tensor x) -> Tensor")
lib.impl("f", lambda x: x * 2, "CPU")
lib.impl("f", lambda x: torch.ops.again.f(x), "Autograd")
torch.ops.again.f(torch.ones(2))
"""


def test_every_kind_has_a_case() -> None:
    texts = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    names = [kind.name for kind in diagnosis_kinds()]
    assert len(names) == len(set(names)) > 100
    assert {name for name in names if f'"{name}"' not in texts.replace(str(WITHOUT), "")} == set()
    assert WITHOUT.keys() <= set(names)


@pytest.mark.parametrize("part", ["The kernel of again::f at AutogradCPU calls again::f again", "AutogradCPU wins"])
def test_a_kernel_that_calls_its_operator_again(part: str) -> None:
    case = Case("again", AGAIN, "kernel calls its operator again", (part,), "a guard that excludes AutogradCPU")
    check(case, "model")
