"""Why kernels are written, generated and called as they are."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

KERNELS = (
    Reason(
        "boxing",
        "Why boxing?",
        "An unboxed kernel is a C++ function with one signature. What does the same for any operator, such as the "
        "loop behind vmap, autograd's fallback or a kernel in Python, would be needed once for each of 3,598 "
        "operators. A boxed kernel takes an operator and a stack of values, so one is enough: one loop serves the "
        "2,657 operators without a rule for vmap. Each call pays for it: values are put on the stack and taken off. A "
        "kernel that does nothing took more than twice as long (benchmarks/boxed_calls.cpp, on one CPU).",
        "where arguments are boxed, how many, and where a kernel with a signature takes them off again.",
        Source("aten/src/ATen/core/boxing/KernelFunction.h", "makeFromBoxedFunction"),
        (seen(ev.Boxed), seen(ev.Unboxed)),
        "examples/vmap.py",
    ),
    Reason(
        "code-generation",
        "Why is so much of it generated?",
        "An operator needs a binding, a C++ function, an autograd kernel, a Node, a kernel for tracing and a "
        "registration for each of them. All of it follows from its schema, its formula and the names of its kernels: "
        "2,584 entries in one yaml file, 687 in another. Whoever adds an operator writes an entry and the kernel. And "
        "what is changed in the generator is changed everywhere: when autograd kernels no longer called their operator "
        "again but redispatched, nobody had to edit them one by one.",
        "the binding and the autograd kernel; dispatchviz codegen shows the yaml entries that they come from.",
        Source("aten/src/ATen/native/native_functions.yaml", "structured_delegate"),
        (seen(ev.BindingEntered, pytorch_function="THPVariable_*"), seen(ev.KernelEntered, kernel="VariableType::*")),
        "examples/forum.py",
    ),
    Reason(
        "meta-and-impl-apart",
        "Why is a kernel split into meta and impl?",
        "Shape and dtype of a result are the same on every device, and sometimes they alone are wanted: for tensors on "
        "the device meta, which have no numbers. So they are computed in meta, once, and impl does the numbers, once "
        "for each device. The functional, in-place and out variants differ only in where the result's memory comes "
        "from. meta asks for it by set_output, and each variant answers in its own way.",
        "meta, then where the output comes from, then impl, which is given an output that is ready.",
        Source("aten/src/ATen/TensorMeta.h", "MetaBase"),
        (seen(ev.MetaEntered), seen(ev.OutputAllocated), seen(ev.ImplEntered)),
        "examples/forum.py",
    ),
)
