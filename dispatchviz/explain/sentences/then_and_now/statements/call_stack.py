"""Older statements about the functions between Python and the backend kernel: the backtrace of torch.add on the CPU."""

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
        "still true",
        "x + y has another binding of the same name, for the method, in python_variable_methods.cpp.",
        Source("torch/csrc/autograd/generated/python_torch_functions_2.cpp", "THPVariable_add"),
        (TORCH_ADD, seen(ev.BindingEntered, pytorch_function="THPVariable_add")),
        "examples/forum.py",
    ),
    PastStatement(
        "inside-the-binding",
        "The parts of the binding",
        "later",
        "The binding has HANDLE_TH_ERRORS, a PythonArgParser with two signatures, one of them deprecated, "
        "ParsedArgs<4>, a lambda that releases the GIL (gil_scoped_release), and wrap for the result.",
        "still true",
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
        "still true",
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
        "still true",
        "The same functions, in the same order. A release build inlines most of them.",
        Source(DISPATCHER, "redispatch"),
        (seen(ev.Dispatched, operator=ADD, how="redispatch"),),
        "examples/chains/add.py",
    ),
    PastStatement(
        "adapters",
        "Adapters",
        "later",
        "wrap_kernel_functor_unboxed_ adapts each kernel. The adapter of the autograd kernel passes the key set on, "
        "and that of the backend kernel drops it.",
        "still true",
        "The template has two forms, and the first parameter of a kernel decides between them. Only a kernel whose "
        "first parameter is a DispatchKeySet receives the set.",
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
        "still true",
        "The generator spreads all operators over five files of this kind.",
        Source("build/aten/src/ATen/Operators_2.cpp", "add_Tensor"),
        (seen(ev.Dispatched, operator=ADD),),
        "examples/chains/add.py",
    ),
)
