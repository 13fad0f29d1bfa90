"""The call stack, a call as its author would write it, the cell card."""

from __future__ import annotations

import pytest

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_stack import Frame, call_stack
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.testing import call, event, redispatch
from tests.steps import line, step

from .founding import Tape, founding

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


def test_the_stack_in_the_CUDA_kernel() -> None:
    trace = founding()
    impl = step(trace, ev.ImplEntered)
    bound = step(trace, event(ev.BindingEntered, function="torch.add"))
    called, passed_on = step(trace, call()), step(trace, redispatch())
    kernel, below = (step(trace, ev.KernelEntered, within=at) for at in (called, passed_on))
    assert call_stack(trace, impl) == (
        Frame("z = torch.add(x, y)", "forum.py:6", line(trace, 6)),
        Frame("THPVariable_add", "torch/csrc/autograd/generated/python_torch_functions_2.cpp", bound),
        Frame("at::_ops::add_Tensor::call", "build/aten/src/ATen/Operators_2.cpp", called),
        Frame("VariableType::add_Tensor", "torch/csrc/autograd/generated/VariableType_2.cpp", kernel),
        Frame("at::_ops::add_Tensor::redispatch", "build/aten/src/ATen/Operators_2.cpp", passed_on),
        Frame("wrapper_CUDA_add_Tensor", "torch/csrc/autograd/generated/VariableType_2.cpp", below),
        Frame("structured_ufunc_add_CUDA::impl", "build/aten/src/ATen/UfuncCUDA_add.cu", impl),
    )


def test_the_stack_in_the_engine() -> None:
    trace = founding()
    titles = [frame.title for frame in call_stack(trace, step(trace, ev.GradientAccumulated))]
    assert titles == [
        "z.sum().backward()",
        "torch::autograd::Engine::execute",
        "torch::autograd::Engine::evaluate_function",
        "torch::autograd::AccumulateGrad::apply",
    ]


def test_a_line_is_its_own_only_frame() -> None:
    trace = founding()
    at = line(trace, 3)
    assert call_stack(trace, at) == (Frame("x = torch.randn(2, 2).to(device)", "forum.py:3", at),)


def test_the_cell_of_the_dispatch_around_a_step() -> None:
    trace = founding()
    card = cell_card(trace, step(trace, ev.NodeCreated))
    assert card is not None
    assert (card.operator, card.key, card.index) == ("aten::add.Tensor", "AutogradCUDA", 97)
    assert (card.kernel, card.reason, card.source) == ("VariableType::add_Tensor", "autograd kernel", "Autograd")
    assert card.registered == "registered at torch/csrc/autograd/generated/VariableType_2.cpp:10455"
    assert [(candidate.source, candidate.taken) for candidate in card.candidates] == [
        ("AutogradCUDA", False),
        ("CompositeImplicitAutograd", False),
        ("Autograd", True),
        ("fallback of AutogradCUDA", False),
    ]


def test_the_innermost_dispatch_counts() -> None:
    trace = founding()
    card = cell_card(trace, step(trace, ev.MetaEntered))
    assert card is not None
    assert (card.key, card.index, card.kernel) == ("CUDA", 2, "wrapper_CUDA_add_Tensor")


def test_no_card_outside_a_dispatch() -> None:
    assert cell_card(founding(), 0) is None
