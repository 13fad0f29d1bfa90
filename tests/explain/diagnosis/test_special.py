"""Tests of the special features of a sound program, with the line where each begins."""

from __future__ import annotations

import pytest

from dispatchviz import Trace
from dispatchviz.explain.diagnosis.special import special
from dispatchviz.explain.outline.outline import Outline
from dispatchviz.views.cursor.opening import opening_step
from tests.explain.diagnosis.cases import traced
from tests.live.compiled_program import RECORDING

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


MODE = """
class Mode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

with Mode():
    x * 2
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
        (MODE, ["the __torch_dispatch__ of Mode on line 9"]),
        (
            FUNCTION,
            ["the custom Function F on line 13"],
        ),
    ],
)
def test_program_has_its_special_features(source: str, texts: list[str]) -> None:
    assert [each.text for each in special(traced(BEGIN + source))] == texts


def test_compiled_program_opens_where_it_is_compiled() -> None:
    trace = Trace.load(RECORDING)
    first, *others = special(trace)
    assert first.text == "torch.compile of f on line 14"
    assert not [each.text for each in others if "__torch_dispatch__" in each.text], "of PyTorch's own mode"
    assert opening_step(Outline(trace, 0)) == first.at
