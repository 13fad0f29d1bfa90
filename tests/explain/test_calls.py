"""Call stacks and cells of calls, operators of the host, and printing that is folded."""

from __future__ import annotations

from typing import Any

import pytest

import dispatchviz
from dispatchviz import torch
from dispatchviz.core.codegen.host_operators import BY_NUMPY, BY_PYTHON, host_operators
from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_stack import Frame, call_stack
from dispatchviz.explain.calls.call_text import call_text
from dispatchviz.explain.calls.cell_card import cell_card
from dispatchviz.explain.kinds.all_kinds import label, why_here
from dispatchviz.explain.outline.levels import ALL, DEFAULT, steps_at
from dispatchviz.explain.trace_index.folded_steps import unfolded
from dispatchviz.outputs.log.text_log import text_log
from dispatchviz.testing import call, event, redispatch
from dispatchviz.trace import Trace
from tests import cupy_stand_in
from tests.cuda_kinds import STAND_IN, cuda_is
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
def test_call_text_is_as_the_author_wrote_it(
    function: str, signature: str, arguments: tuple[tuple[str, str], ...], text: str
) -> None:
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


Calls = dict[str, Any]
LEAVING: Calls = {
    "erf": lambda x: torch.erf(x),
    "lgamma": lambda x: torch.lgamma(x),
    "erfinv": lambda x: torch.erfinv(x / 9),
    "linalg_eig": lambda x: torch.linalg.eig(x),
    "median": lambda x: torch.median(x),
    "_cummax_helper": lambda x: torch.cummax(x, 0),
    "histc": lambda x: torch.histc(x),
}
STAYING: Calls = {
    "add": lambda x: x + x,
    "exp": lambda x: x.exp(),
    "sum": lambda x: x.sum(),
    "mm": lambda x: x.mm(x),
    "softmax": lambda x: x.softmax(-1),
    "clamp": lambda x: x.clamp(0, 1),
}


def leaves(call: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether an array of the stand-in is copied to the host, or its numbers are read."""
    seen = []
    with cuda_is(STAND_IN), monkeypatch.context() as patch:
        x = (torch.arange(9.0, dtype=torch.float64).reshape(3, 3) / 9).to("cuda")
        for name in ("get", "tolist"):
            original = getattr(cupy_stand_in.ndarray, name)
            patch.setattr(
                cupy_stand_in.ndarray,
                name,
                lambda self, *given, original=original: seen.append(1) or original(self, *given),
            )
        call(x)
    return bool(seen)


@pytest.mark.parametrize("name", LEAVING)
def test_listed_operators_leave_the_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name in host_operators(BY_NUMPY | BY_PYTHON)
    assert leaves(LEAVING[name], monkeypatch)


@pytest.mark.parametrize("name", STAYING)
def test_unlisted_operators_stay_on_the_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name not in host_operators(BY_NUMPY | BY_PYTHON)
    assert not leaves(STAYING[name], monkeypatch)


def test_copies_by_numpy_and_by_python_are_distinguished() -> None:
    assert "erf" not in host_operators(BY_NUMPY)
    assert "histc" not in host_operators(BY_PYTHON)
    assert not host_operators(frozenset({"no such name"}))


@pytest.fixture(scope="module")
def trace() -> Trace:
    x = torch.tensor([1.5, 2.0])
    with dispatchviz.record() as found:
        y = x + 1
        str(y)
        f"{y.sum():.1f}"
    return found


def test_printing_is_one_row_that_counts_its_calls(trace: Trace) -> None:
    rows = [label(trace, seq) for seq in unfolded(trace) if isinstance(trace[seq], ev.TensorFormatted)]
    assert rows == ["Tensor.__repr__ of y (t3) (90 calls)", "Tensor.__format__ of t39 (three calls)"]
    inside = {
        seq
        for event in trace
        if isinstance(event, ev.TensorFormatted)
        for seq in range(event.seq + 1, trace.ends[event.seq] + 1)
    }
    assert inside
    assert not inside.intersection(steps_at(trace, DEFAULT))
    assert inside.issubset(steps_at(trace, ALL))
    assert not any("masked_select" in line for line in text_log(trace))


def test_log_that_begins_within_printing_shows_its_calls(trace: Trace) -> None:
    within = step(trace, call("aten::masked_select"))
    assert any("masked_select" in line for line in text_log(trace, within))


def test_a_trace_without_printing_is_shown_whole() -> None:
    with dispatchviz.record() as found:
        torch.ones(2)
    assert list(unfolded(found)) == list(range(len(found)))


def test_printing_that_fails_is_not_folded() -> None:
    class Odd(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise ValueError("no")

    odd = torch.Tensor._make_wrapper_subclass(Odd, (2,))
    with dispatchviz.record() as found, pytest.raises(ValueError, match="no"):
        repr(odd)
    assert list(unfolded(found)) == list(range(len(found)))


def test_the_sentence_says_how_many(trace: Trace) -> None:
    assert why_here(trace, step(trace, ev.TensorFormatted)) == (
        "PyTorch's Python code formats y (t3) under no_grad and with all modes disabled. It makes 90 calls, none of "
        "which is recorded for backward."
    )


def test_formatting_by_the_recorder_is_not_recorded() -> None:
    x, i = torch.ones(3), torch.tensor(1)
    with dispatchviz.record() as found:
        x[i:]
    assert not any(isinstance(event, ev.TensorFormatted) for event in found)
