"""PyTorch's own names for locations: functions and files, as far as they follow from an operator's name.

A release build splits some generated files into numbered parts. The number of the part follows from the name
(``codegen/generated_files.py``).
"""

from __future__ import annotations

import re

from dispatchviz.core.record import events as ev
from dispatchviz.explain.codegen.generated_files import AUTOGRAD, function_file, method_file, operators_file, placed

GENERATED = AUTOGRAD
DISPATCHER = "aten/src/ATen/core/dispatch/Dispatcher.h"
PYTHON_DISPATCH = "torch/csrc/utils/python_dispatch.cpp"
ENGINE = "torch/csrc/autograd/engine.cpp"
NODE = "torch/csrc/autograd/node.h"
ENTRY = "aten/src/ATen/core/dispatch/OperatorEntry.cpp"
LAYERS = "aten/src/ATen/functorch/DynamicLayer.cpp"
VARIABLE = "torch/csrc/autograd/variable.cpp"
VARIABLE_TYPE = "torch/csrc/autograd/VariableTypeUtils.h"


def debug_file(registered: str) -> str:
    """Return the file name: ``VariableFallbackKernel.cpp`` for ``registered at
    aten/src/ATen/core/VariableFallbackKernel.cpp:103``.
    """
    return registered_path(registered).rpartition("/")[2]


def registered_path(registered: str) -> str:
    """Return the file name with its folders."""
    path, colon, line = placed(registered).rpartition(":")
    return path if colon and line.isdigit() else placed(registered)


def entry_point(dispatched: ev.Dispatched) -> tuple[str, str]:
    """Return the function and file through which a call or redispatch enters: ``at::_ops::add_Tensor::call``."""
    namespace, _, name = dispatched.operator.partition("::")
    if dispatched.passes_objects:
        return f"torch::impl::dispatch::{dispatched.how}_vectorcall", PYTHON_DISPATCH
    if namespace != "aten" or dispatched.how not in ("call", "redispatch"):
        return f"c10::Dispatcher::{dispatched.how}", DISPATCHER
    return f"at::_ops::{name.replace('.', '_')}::{dispatched.how}", operators_file(name.partition(".")[0])


_MANUAL = ("torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy", "torch.frombuffer")


def binding_file(event: ev.BindingEntered) -> str:
    """Return the file of PyTorch with a Python binding; empty if it is not in one of the generated families."""
    if not event.pytorch_function.startswith("THPVariable_"):
        return ""
    if event.function.startswith("Tensor."):
        return method_file()
    if event.function in _MANUAL:
        return "torch/csrc/autograd/python_torch_functions_manual.cpp"
    module = re.match(r"torch\._C\._(\w+)\.", event.function)
    return function_file(event.function.rpartition(".")[2], module[1] if module else "")


_FUNCTIONS = "torch/csrc/autograd/functions"
_APPLY = {
    "AccumulateGrad": ("torch::autograd::AccumulateGrad::apply", f"{_FUNCTIONS}/accumulate_grad.cpp"),
    "CopyBackwards": ("torch::autograd::CopyBackwards::apply", f"{_FUNCTIONS}/tensor.cpp"),
    "CopySlices": ("torch::autograd::CopySlices::apply", f"{_FUNCTIONS}/tensor.cpp"),
    "GraphRoot": ("torch::autograd::GraphRoot::apply", f"{_FUNCTIONS}/basic_ops.h"),
    "DelayedError": ("torch::autograd::DelayedError::apply", f"{_FUNCTIONS}/basic_ops.cpp"),
    "UndefinedGradBackward": ("torch::autograd::UndefinedGradBackward::apply", f"{_FUNCTIONS}/basic_ops.cpp"),
    "UndefinedGrad": ("torch::autograd::UndefinedGrad::apply", f"{_FUNCTIONS}/basic_ops.cpp"),
    "Error": ("torch::autograd::Error::apply", f"{_FUNCTIONS}/basic_ops.cpp"),
    "NotImplemented": ("torch::autograd::Error::apply", f"{_FUNCTIONS}/basic_ops.cpp"),
    "WarnNotImplemented": (
        "torch::autograd::(anonymous namespace)::WarnNotImplemented::apply",
        "torch/csrc/autograd/autograd_not_implemented_fallback.cpp",
    ),
}
"""The function that evaluates each handwritten Node, and its file. NotImplemented inherits it from its base class."""


def apply_function(name: str) -> tuple[str, str]:
    """Return the function and file that evaluate a Node: ``torch::autograd::generated::AddBackward0::apply``."""
    if name.startswith("torch::autograd::"):
        return _APPLY.get(name.rpartition("::")[2], (f"{name}::apply", ""))
    if name.endswith("Backward"):  # the name of a generated Node ends in a number
        return "torch::autograd::PyNode::apply", "torch/csrc/autograd/python_function.cpp"
    return f"torch::autograd::generated::{name}::apply", f"{GENERATED}/Functions.cpp"
