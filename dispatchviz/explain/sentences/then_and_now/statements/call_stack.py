"""What was said of the functions between Python and the backend's kernel: the backtrace of torch.add on the CPU."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Source, seen

DISPATCHER = "aten/src/ATen/core/dispatch/Dispatcher.h"
ADD = "aten::add.Tensor"
TORCH_ADD = seen(ev.BindingEntered, function="torch.add")

CALL_STACK = (
    PastStatement(
        "binding-of-add",
        "The binding of add",
        "forum",
        "torch.add is THPVariable_add in python_torch_functions_2.cpp.",
        "still so",
        "x + y has another binding of the same name, that of the method, in python_variable_methods.cpp.",
        Source("torch/csrc/autograd/generated/python_torch_functions_2.cpp", "THPVariable_add"),
        (TORCH_ADD, seen(ev.BindingEntered, pytorch_function="THPVariable_add")),
        "examples/forum.py",
    ),
    PastStatement(
        "inside-the-binding",
        "What the binding does",
        "later",
        "HANDLE_TH_ERRORS, a PythonArgParser with two signatures, one of them deprecated, ParsedArgs<4>, a lambda that "
        "lets the GIL go (gil_scoped_release), and wrap for the result.",
        "still so",
        "The deprecated signature is add(Tensor input, Scalar alpha, Tensor other).",
        Source("tools/autograd/gen_python_functions.py", "gil_scoped_release"),
        (TORCH_ADD,),
        "examples/forum.py",
    ),
    PastStatement(
        "from-the-binding-to-autograd",
        "From the binding to autograd",
        "later",
        "at::Tensor::add, at::_ops::add_Tensor::call, TypedOperatorHandle::call, Dispatcher::call (which computes the "
        "set), KernelFunction::call, callUnboxedKernelFunction, an adapter, VariableType::add_Tensor.",
        "still so",
        "The same functions, in the same order.",
        Source(DISPATCHER, "TypedOperatorHandle"),
        (seen(ev.Dispatched, operator=ADD, how="call"), TORCH_ADD),
        "examples/chains/add.py",
    ),
    PastStatement(
        "from-autograd-to-the-backend",
        "From autograd to the backend",
        "later",
        "at::redispatch::add, at::_ops::add_Tensor::redispatch, TypedOperatorHandle::redispatch, "
        "Dispatcher::redispatch, KernelFunction::call, callUnboxedKernelFunction, an adapter, wrapper_CPU_add_Tensor.",
        "still so",
        "The same functions, in the same order; in a release build most of them are inlined.",
        Source(DISPATCHER, "redispatch"),
        (seen(ev.Dispatched, operator=ADD, how="redispatch"),),
        "examples/chains/add.py",
    ),
    PastStatement(
        "adapters",
        "Adapters",
        "later",
        "wrap_kernel_functor_unboxed_ adapts each kernel: that of the autograd kernel hands the key set on, that of "
        "the backend kernel drops it.",
        "still so",
        "The template has two forms, and a kernel's first parameter decides between them: only one that is a "
        "DispatchKeySet is given the set.",
        Source("aten/src/ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h", "wrap_kernel_functor_unboxed_"),
        (
            seen(ev.KernelEntered, kernel="VariableType::add_Tensor"),
            seen(ev.KernelEntered, kernel="wrapper_*_add_Tensor"),
        ),
        "examples/chains/add.py",
    ),
    PastStatement(
        "file-of-the-operator",
        "The file of at::_ops::add_Tensor",
        "later",
        "at::_ops::add_Tensor::call and redispatch are in Operators_2.cpp.",
        "still so",
        "The generator spreads all operators over five such files.",
        Source("build/aten/src/ATen/Operators_2.cpp", "add_Tensor"),
        (seen(ev.Dispatched, operator=ADD),),
        "examples/chains/add.py",
    ),
)
