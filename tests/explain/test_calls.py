"""A recorded call, written as its author would."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_text import call_text

from .founding import Tape

ADD = "add(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
METHOD = "add(Tensor other, *, Number alpha = 1)"
RANDN = "randn(tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, bool requires_grad = False)"
SUM = "sum(tuple of ints[1] dim, bool keepdim = False, *, torch.dtype dtype = None)"
X, Y = ("input", "t0"), ("other", "t1")


@pytest.mark.parametrize(
    ("function", "signature", "arguments", "text"),
    [
        ("torch.add", ADD, (X, Y, ("alpha", "1"), ("out", "None")), "torch.add(x, y)"),
        ("torch.add", ADD, (X, Y, ("alpha", "2"), ("out", "t0")), "torch.add(x, y, alpha=2, out=x)"),
        ("Tensor.add", METHOD, (("self", "t0"), Y, ("alpha", "1")), "x.add(y)"),
        ("Tensor.__add__", "__add__(Tensor other)", (("self", "t0"), Y), "x + y"),
        ("Tensor.__rsub__", "__rsub__(Number other)", (("self", "t0"), ("other", "1")), "1 - x"),
        ("Tensor.__add__", METHOD, (("self", "t0"), ("other", "1"), ("alpha", "1")), "x + 1"),
        ("Tensor.__imul__", "__imul__(Tensor other)", (("self", "t0"), Y), "x *= y"),
        ("Tensor.__neg__", "__neg__()", (("self", "t0"),), "-x"),
        ("torch.randn", RANDN, (("size", "[2, 2]"), ("dtype", "None"), ("device", "cuda:0")),
         "torch.randn(2, 2, device=cuda:0)"),
        ("Tensor.sum", "sum(*, torch.dtype dtype = None)", (("self", "t0"), ("dtype", "None")), "x.sum()"),
        ("Tensor.sum", SUM, (("self", "t0"), ("dim", "[0, 1]"), ("keepdim", "True")), "x.sum([0, 1], True)"),
        ("Tensor.sum", SUM, (("self", "t0"), ("dim", "[0]"), ("keepdim", "False"), ("dtype", "torch.float64")),
         "x.sum([0], dtype=torch.float64)"),
        ("torch.tensor", "", (("data", "[1.0, 2.0]"),), "torch.tensor([1.0, 2.0])"),
        ("torch.stack", "stack(tuple of Tensors tensors, int dim = 0)", (("tensors", "[t0, t1]"), ("dim", "0")),
         "torch.stack([x, y])"),
    ],
)  # fmt: skip
def test_calls(function: str, signature: str, arguments: tuple[tuple[str, str], ...], text: str) -> None:
    tape = Tape()
    tape.add(ev.NameBound, "x", 0)
    tape.add(ev.NameBound, "y", 1)
    tape.add(ev.BindingEntered, function, "THPVariable", signature, 1, arguments, "")
    event = tape.events[-1]
    assert isinstance(event, ev.BindingEntered)
    assert call_text(tape.trace(), event) == text
