"""Tests of the special features of a sound program, with the line where each begins."""

from __future__ import annotations

import pytest

from dispatchviz.explain.diagnosis.special import special
from tests.explain.diagnosis.cases import traced

BEGIN = "import torch\nx = torch.ones(2, requires_grad=True)\n"

FUNCTION = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

F.apply(x)
"""


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("y = x * 2", []),
        ("torch.nn.Linear(2, 2)", []),  # turns grad mode off to initialize its parameters
        ("with torch.no_grad():\n    x * 2", ["torch.no_grad() on line 3"]),
        ("torch.func.vmap(torch.sin)(x)", ["the transform vmap on line 3"]),
        ("torch.autograd.grad(x.sin().sum(), x, create_graph=True)", ["a backward pass with create_graph on line 3"]),
        ("with torch.autocast('cpu'):\n    x @ x", ["autocast to torch.bfloat16 on line 3"]),
        ("x.register_hook(print)", ["a tensor pre hook on line 3"]),
        (
            FUNCTION,
            ["the custom Function F on line 13"],
        ),
    ],
)
def test_program_has_its_special_features(source: str, texts: list[str]) -> None:
    assert [each.text for each in special(traced(BEGIN + source))] == texts
