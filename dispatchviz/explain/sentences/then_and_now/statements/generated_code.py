"""Older statements about the code generators."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Source, seen

YAML = "aten/src/ATen/native/native_functions.yaml"
BINDING = seen(ev.BindingEntered, pytorch_function="THPVariable_*")
AUTOGRAD = seen(ev.KernelEntered, kernel="VariableType::*")

GENERATED_CODE = (
    PastStatement(
        "what-is-generated",
        "The generated code",
        "later",
        "The generator runs in the build, reads yaml and writes C++. It writes the bindings, the C++ API, autograd, "
        "registrations, factory functions and torch.jit.trace for some 2,000 operators.",
        "still true",
        "native_functions.yaml has 2,584 entries today. It writes kernels for tracing for 3,101 operators.",
        Source("torchgen/gen.py", "parse_native_yaml"),
        (BINDING, AUTOGRAD),
        "examples/forum.py",
    ),
    PastStatement(
        "entry-points-of-the-generator",
        "Where the generator begins",
        "later",
        "torchgen/gen.py is the entry point, an entry of the yaml file is a NativeFunction (torchgen/model.py), and "
        "there are templates such as Functions.h. Autograd has its own entry point.",
        "still true",
        "The entry point of autograd is tools/autograd/gen_autograd.py. An installed PyTorch has all of this in the "
        "package torchgen.",
        Source("torchgen/model.py", "NativeFunction"),
        (BINDING, AUTOGRAD),
        "examples/forum.py",
    ),
    PastStatement(
        "yaml-of-add",
        "The entry of add",
        "later",
        "add.out has device_check, structured, structured_inherits, ufunc_inner_loop, dispatch (SparseCPU, "
        "SparseCUDA, SparseCsrCPU, SparseCsrCUDA, MkldnnCPU, MPS) and tags. add.Tensor has structured_delegate and "
        "variants.",
        "true with a change",
        "They are all still there. dispatch names more keys: SparseMeta, SparseMPS, SparseCsrMeta and MTIA.",
        Source(YAML, "ufunc_inner_loop"),
        (
            seen(ev.KernelEntered, kernel="wrapper_*_add_Tensor"),
            seen(ev.Dispatched, operator="aten::add.Tensor", how="call*"),
        ),
        "examples/forum.py",
    ),
    PastStatement(
        "four-parts-of-a-call",
        "The parts of a call",
        "later",
        "A call goes through a binding, the C++ API, an autograd kernel and a backend kernel. Most of this code is "
        "generated.",
        "still true",
        "For torch.add(x, y), these are THPVariable_add, at::Tensor::add, VariableType::add_Tensor and "
        "wrapper_CPU_add_Tensor, all four generated.",
        Source("build/aten/src/ATen/core/TensorBody.h", "add"),
        (seen(ev.BindingEntered, function="torch.add"), BINDING),
        "examples/chains/add.py",
    ),
)
