"""Whatever gives a tensor another ``.grad`` is told: at every step the events say what ``.grad`` is."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

from dispatchviz import torch as model
from dispatchviz.core.record import events as ev
from tests.explain.programs import traced

HEAD = """
import copy, pickle, torch
x = torch.ones(2, requires_grad=True)
"""

PROGRAMS = {
    "assigned": ("x.grad = torch.ones(2)", ["set"]),
    "again the same": ("g = torch.ones(2)\nx.grad = g\nx.grad = g", ["set"]),
    "deleted": ("x.grad = torch.ones(2)\ndel x.grad", ["set", "none"]),
    "deleted without being there": ("del x.grad\nx.grad = None", []),
    "refused": ("try:\n    x.grad = torch.ones(3)\nexcept RuntimeError:\n    pass", []),
    "accumulated": ("(x * 2).sum().backward()\nx.grad = None", ["accumulated", "none"]),
    "retained": ("y = x * 2\ny.retain_grad()\ny.sum().backward()", ["retained", "accumulated"]),
    "captured": ("torch.autograd.grad((x * 2).sum(), x)", []),
    "zero_grad": (
        "(x * 2).sum().backward()\ntorch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=True)",
        ["accumulated", "none"],
    ),
    "zeros": ("(x * 2).sum().backward()\ntorch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=False)", ["accumulated"]),
    "deepcopy": ("x.grad = torch.ones(2)\ny = copy.deepcopy(x)", ["set", "set"]),
    "deepcopy without": ("y = copy.deepcopy(x)", []),
    "pickle": ("x.grad = torch.ones(2)\ny = pickle.loads(pickle.dumps(x))", ["set"]),
    "written by a Function": (
        """
class Write(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.add_(b)
    @staticmethod
    def backward(ctx, gradient):
        return gradient, gradient
y = torch.ones(2)
y.grad = torch.ones(2)
Write.apply(y, x)
assert y._grad is None
""",
        ["set", "none"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_gives_a_tensor_another_grad_is_told(name: str) -> None:
    source, expected = PROGRAMS[name]
    trace = traced(HEAD + source)
    assert not [event.message for event in trace if isinstance(event, ev.ProgramRaised)]
    told = []
    for event in trace:
        if isinstance(event, ev.GradientAccumulated):
            told.append("accumulated")
        elif isinstance(event, ev.GradSet):
            told.append("none" if event.result is None else "retained" if event.retained else "set")
    assert told == expected


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_grad_is_in_the_end_what_it_is_in_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    source = HEAD + PROGRAMS[name][0]
    assert _grads(model, source) == _grads(torch, source)


@pytest.mark.torch
def test_what_may_be_assigned_to_grad() -> None:
    """As the rule of the event says."""
    torch = pytest.importorskip("torch")
    for made in (model, torch):
        x = made.ones(2, requires_grad=True)
        for value in (made.ones(3), made.ones(2, dtype=made.float64), made.ones(2, device="meta")):
            with pytest.raises(RuntimeError, match=r"attempting to assign a gradient|assigned grad has data"):
                x.grad = value
        x.grad = None
    x = torch.ones(2, requires_grad=True)
    assert x.grad_dtype == x.dtype
    x.grad_dtype = torch.float64
    x.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="grad_dtype"):
        x.grad = torch.ones(2)


def _grads(torch: Any, source: str) -> dict[str, Any]:
    """The ``.grad`` of each variable, None where it has none."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a tensor is no leaf
        patch.setitem(sys.modules, "torch", torch)
        exec(source, names)
        tensors = {name: value for name, value in names.items() if isinstance(value, torch.Tensor)}
        return {name: None if tensor._grad is None else tensor._grad.tolist() for name, tensor in tensors.items()}
