"""PyTorch's own names for where things are: functions and files, as far as they follow from an operator's name.

Generated files that a release build splits into numbered shards are written with a star; a shard number is only given
when an event names it.
"""

from __future__ import annotations

from dispatchviz.core import events as ev

GENERATED = "torch/csrc/autograd/generated"
DISPATCHER = "aten/src/ATen/core/dispatch/Dispatcher.h"
ENGINE = "torch/csrc/autograd/engine.cpp"


def debug_file(registered: str) -> str:
    """``VariableFallbackKernel.cpp`` for ``registered at aten/src/ATen/core/VariableFallbackKernel.cpp:103``."""
    return registered_path(registered).rpartition("/")[2]


def registered_path(registered: str) -> str:
    """The same with its folders."""
    path, colon, line = registered.removeprefix("registered at ").rpartition(":")
    return path if colon and line.isdigit() else registered.removeprefix("registered at ")


def entry_point(dispatched: ev.Dispatched) -> tuple[str, str]:
    """Function and file through which a call or redispatch enters: ``at::_ops::add_Tensor::call``."""
    namespace, _, name = dispatched.operator.partition("::")
    if namespace != "aten" or dispatched.how.endswith("Boxed"):
        return f"c10::Dispatcher::{dispatched.how}", DISPATCHER
    return f"at::_ops::{name.replace('.', '_')}::{dispatched.how}", "build/aten/src/ATen/Operators_*.cpp"


_MANUAL = ("torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy", "torch.frombuffer")


def binding_file(event: ev.BindingEntered) -> str:
    """The file of PyTorch that holds a Python binding; empty for what is not one of the generated families."""
    if not event.pytorch_function.startswith("THPVariable_"):
        return ""
    if event.function.startswith("Tensor."):
        return f"{GENERATED}/python_variable_methods.cpp"
    if event.function in _MANUAL:
        return "torch/csrc/autograd/python_torch_functions_manual.cpp"
    return f"{GENERATED}/python_torch_functions_*.cpp"


def apply_function(name: str) -> tuple[str, str]:
    """Function and file that evaluate a Node: ``torch::autograd::generated::AddBackward0::apply``."""
    if name in _NODES:
        return _NODES[name]
    if name.startswith("torch::autograd::"):
        return f"{name}::apply", "torch/csrc/autograd/functions/basic_ops.cpp"
    if name.endswith("Backward"):  # the name of a generated Node ends in a number
        return "torch::autograd::PyNode::apply", "torch/csrc/autograd/python_function.cpp"
    return f"torch::autograd::generated::{name}::apply", f"{GENERATED}/Functions.cpp"


_FUNCTIONS = "torch/csrc/autograd/functions"
_NODES = {
    "torch::autograd::AccumulateGrad": ("torch::autograd::AccumulateGrad::apply", f"{_FUNCTIONS}/accumulate_grad.cpp"),
    "torch::autograd::CopySlices": ("torch::autograd::CopySlices::apply", f"{_FUNCTIONS}/tensor.cpp"),
    "torch::autograd::CopyBackwards": ("torch::autograd::CopyBackwards::apply", f"{_FUNCTIONS}/tensor.cpp"),
    "torch::autograd::GraphRoot": ("torch::autograd::GraphRoot::apply", f"{_FUNCTIONS}/basic_ops.h"),
    "torch::autograd::NotImplemented": ("torch::autograd::Error::apply", f"{_FUNCTIONS}/basic_ops.cpp"),
    "torch::autograd::WarnNotImplemented": (
        "torch::autograd::WarnNotImplemented::apply",
        "torch/csrc/autograd/autograd_not_implemented_fallback.cpp",
    ),
}
"""Handwritten Nodes that are elsewhere than the others."""
