"""Tests of the limit of recorded values: the diagnosis states that it does not see what comes later."""

from __future__ import annotations

import pytest

from dispatchviz.explain.diagnosis.diagnose import diagnoses
from dispatchviz.explain.diagnosis.silent.recorded_numbers import until
from dispatchviz.views.cards.diagnosis_text import nothing_wrong
from tests.explain.diagnosis.cases import traced

LOOP = """
import torch
x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
for i in range(40):
    loss = ((x - i) ** 2).sum()
    loss.backward()
    x.grad = None
"""
LATE = LOOP + "(x * 0).sqrt().sum().backward()"
GATE = """
import torch
w = torch.tensor([-1.0], requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
for i in range(40):
    (torch.relu(w + i // 15) + b).sum().backward()
    w.grad = b.grad = None
"""


def test_nan_after_the_limit_is_reported_as_unseen() -> None:
    assert diagnoses(traced(LATE))[0].kind == "not finite in a Node"
    limited = traced(LATE, most=100)
    assert diagnoses(limited) == ()
    assert "Values of tensors were recorded only up to line" in until(limited)
    assert nothing_wrong(limited).endswith("NaN after that is not visible.")


def test_passes_after_the_limit_are_not_counted() -> None:
    assert diagnoses(traced(GATE)) == ()
    (found,) = diagnoses(traced(GATE, most=100))
    assert "In each of the first" in found.why
    assert found.unseen.startswith("Values of tensors were recorded only up to line")


@pytest.mark.parametrize(
    "source", [LATE, GATE, "import torch\nx = torch.ones(99, requires_grad=True)\n(x * x).sum().backward()"]
)
def test_trace_below_the_limit_has_no_remark(source: str) -> None:
    assert until(traced(source)) == ""
