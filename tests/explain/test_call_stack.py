"""The call stack in PyTorch's names."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.calls.call_stack import Frame, call_stack

from .founding import find, founding


def test_the_stack_in_the_CUDA_kernel() -> None:
    trace = founding()
    assert call_stack(trace, find(trace, ev.ImplEntered)) == (
        Frame("z = torch.add(x, y)", "forum.py:6", 8),
        Frame("THPVariable_add", "torch/csrc/autograd/generated/python_torch_functions_2.cpp", 9),
        Frame("at::_ops::add_Tensor::call", "build/aten/src/ATen/Operators_2.cpp", 10),
        Frame("VariableType::add_Tensor", "torch/csrc/autograd/generated/VariableType_2.cpp", 14),
        Frame("at::_ops::add_Tensor::redispatch", "build/aten/src/ATen/Operators_2.cpp", 21),
        Frame("wrapper_CUDA_add_Tensor", "torch/csrc/autograd/generated/VariableType_2.cpp", 23),
        Frame("structured_ufunc_add_CUDA::impl", "build/aten/src/ATen/UfuncCUDA_add.cu", 27),
    )


def test_the_stack_in_the_engine() -> None:
    trace = founding()
    titles = [frame.title for frame in call_stack(trace, find(trace, ev.GradientAccumulated))]
    assert titles == [
        "z.sum().backward()",
        "torch::autograd::Engine::execute",
        "torch::autograd::Engine::evaluate_function",
        "torch::autograd::AccumulateGrad::apply",
    ]


def test_a_line_is_its_own_only_frame() -> None:
    assert call_stack(founding(), 0) == (Frame("x = torch.randn(2, 2).to(device)", "forum.py:3", 0),)
