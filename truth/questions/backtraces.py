"""Calls whose backtrace a debugger takes in a release build of PyTorch, at the beginning of a function.

A statement is run after ``BEFORE``, in the watched process, after a call of ``os.getloadavg``, by which the debugger
recognizes it. Python code that marks the end of a backtrace calls ``os.getppid``.
"""

from __future__ import annotations

from typing import NamedTuple

BEFORE = """
import os
import torch
x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)
lib = torch.library.Library("mine", "DEF")
lib.define("twice(Tensor x) -> Tensor")
def twice(x):
    os.getppid()
    return x * 2
lib.impl("twice", twice, "CPU")
def hook(*all):
    os.getppid()
def leaf():
    return torch.ones(2, 2, requires_grad=True)
def hooked(register):
    z = leaf() * y
    register(z)
    z.backward(y)
def hooked_leaf():
    a = leaf()
    a.register_post_accumulate_grad_hook(hook)
    (a * y).backward(y)
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        os.getppid()
        return grad * 2
"""

PYTHON = "getppid"
"""The function by which Python code marks the end of a backtrace."""


HOOKED = "torch::autograd::_call_hooks"
"""The model's name of PyTorch's innermost frame in a hook."""


class Case(NamedTuple):
    """A call, and the function at which the debugger stops."""

    statement: str
    stop: str
    """The C++ function, without its arguments."""
    frame: str
    """The model's name of the innermost frame."""


CASES = {
    "torch.add, to its loop": Case(
        "torch.add(x, y)", "at::TensorIteratorBase::for_each", "at::TensorIteratorBase::for_each"
    ),
    "torch.sum": Case("torch.sum(x)", "at::native::structured_sum_out::impl", "structured_sum_out::impl"),
    "torch.mm": Case("torch.mm(x, y)", "at::native::structured_mm_out_cpu::impl", "structured_mm_out_cpu::impl"),
    "a custom operator with a kernel in Python: boxed": Case(
        "torch.ops.mine.twice(x)", PYTHON, "torch::impl::dispatch::PythonKernelHolder::operator()"
    ),
    "backward of a mul": Case(
        "(x * y).backward(y)",
        "torch::autograd::generated::MulBackward0_apply_functional",
        "torch::autograd::generated::MulBackward0_apply_functional",
    ),
    "sum over a dimension, a method": Case(
        "x.sum(0)", "at::native::structured_sum_out::impl", "structured_sum_out::impl"
    ),
    "torch.randn, to normal_": Case("torch.randn(2)", "at::native::normal_", "at::native::normal_"),
    "in place": Case("y.add_(y)", "at::native::structured_ufunc_add_CPU::impl", "structured_ufunc_add_CPU::impl"),
    "into out": Case(
        "torch.add(y, y, out=torch.empty(2, 2))",
        "at::native::structured_ufunc_add_CPU::impl",
        "structured_ufunc_add_CPU::impl",
    ),
    "a view": Case("x.view(4)", "at::native::view", "at::native::view"),
    "an operator of PyTorch by torch.ops: unboxed again": Case(
        "torch.ops.aten.sin.default(x)", "at::native::structured_sin_out::impl", "structured_sin_out::impl"
    ),
    "a gradient that arrives at a leaf": Case(
        "(x * y).backward(y)", "torch::autograd::AccumulateGrad::apply", "torch::autograd::AccumulateGrad::apply"
    ),
    "backward of a torch.autograd.Function": Case(
        "Twice.apply(x).backward(y)", PYTHON, "torch::autograd::PyNode::apply"
    ),
    "a hook of a tensor": Case("hooked(lambda z: z.register_hook(hook))", PYTHON, HOOKED),
    "a hook before a Node": Case("hooked(lambda z: z.grad_fn.register_prehook(hook))", PYTHON, HOOKED),
    "a hook after a Node": Case("hooked(lambda z: z.grad_fn.register_hook(hook))", PYTHON, HOOKED),
    "a hook after accumulation": Case("hooked_leaf()", PYTHON, HOOKED),
}
