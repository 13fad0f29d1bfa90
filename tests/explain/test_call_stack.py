"""The call stack in PyTorch's names."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_stack import Frame, call_stack
from dispatchviz.testing import call, event, redispatch
from tests.steps import line, step

from .founding import founding


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
