"""Older statements about boxed and unboxed kernels, and about vmap."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Source, seen

BOXED, UNBOXED = seen(ev.Boxed), seen(ev.Unboxed)
LOOP = seen(ev.KernelEntered, kernel="batchedTensorForLoopFallback")
RULE = seen(ev.KernelEntered, kernel="*(BatchRules*.cpp)")

BOXING = (
    PastStatement(
        "two-calling-conventions",
        "Boxed and unboxed",
        "2020",
        "In unboxed code, each type has its own layout, and templates generate a function for each signature. In "
        "boxed code, values are IValues on a stack, and one function serves all operators.",
        "still true",
        "A template gives every unboxed kernel its boxed form. libtorch_cpu.so has over 10,000 adapters of this kind.",
        Source("aten/src/ATen/core/boxing/impl/make_boxed_from_unboxed_functor.h", "make_boxed_from_unboxed_functor"),
        (BOXED, UNBOXED),
        "examples/vmap.py",
    ),
    PastStatement(
        "signature-of-boxed-kernels",
        "The signature of a boxed kernel",
        "2020",
        "A boxed kernel is void f(const OperatorHandle& op, Stack* stack) (KernelFunction.h).",
        "true with a change",
        "There is a second form with a DispatchKeySet between the two, for kernels that redispatch. Both are in "
        "BoxedKernel.h.",
        Source("aten/src/ATen/core/boxing/BoxedKernel.h", "BoxedKernelFunction_withDispatchKeys"),
        (BOXED, seen(ev.KernelEntered, kernel="*Fallback"), LOOP),
        "examples/vmap.py",
    ),
    PastStatement(
        "loop-of-vmap",
        "The loop behind vmap",
        "2020",
        "batchedTensorForLoopFallback (BatchedFallback.cpp) slices along the batch, calls the operator for each "
        "example and stacks the results.",
        "true with a change",
        "There are two functions of that name. torch.vmap uses the one in functorch/BatchedFallback.cpp, for the key "
        "FuncTorchBatched. The old one, for the key Batched, is in LegacyBatchedFallback.cpp.",
        Source("aten/src/ATen/functorch/BatchedFallback.h", "batchedTensorForLoopFallback"),
        (LOOP, seen(ev.Dispatched, key="FuncTorchBatched")),
        "examples/chains/vmap.py",
    ),
    PastStatement(
        "add-under-vmap",
        "add under vmap",
        "2020",
        "torch.add under vmap adds example by example: torch.stack([x[0] + y[0], ...]).",
        "no longer true",
        "add has a batch rule, which adds the whole batch at once. 614 operators have a batch rule, 340 are "
        "decomposed, and 2,653 use the loop.",
        Source("aten/src/ATen/functorch/BatchRulesBinaryOps.cpp", "_binary_pointwise_helper"),
        (RULE, seen(ev.Dispatched, operator="aten::add.Tensor", key="FuncTorchBatched")),
        "examples/chains/vmap.py",
    ),
    PastStatement(
        "sin-under-vmap",
        "torch.sin under vmap",
        "2020",
        "torch.sin is called unboxed, has a boxed batching kernel and an unboxed one for the CPU. The dispatcher "
        "boxes and unboxes in between.",
        "true with a change",
        "The boxed kernels on the way are those of functorch's front and back (DynamicLayer.cpp). The batch rule "
        "between them is unboxed.",
        Source("aten/src/ATen/functorch/DynamicLayer.cpp", "dynamicLayerFrontFallback"),
        (
            seen(ev.Boxed, operator="aten::sin"),
            seen(ev.Unboxed, operator="aten::sin"),
            seen(ev.KernelEntered, kernel="dynamicLayer*Fallback"),
        ),
        "examples/vmap.py",
    ),
    PastStatement(
        "gains-and-price-of-boxing",
        "The gain and the cost of boxing",
        "2020",
        "With boxing there is one kernel to maintain instead of a thousand, and binaries are smaller. In return, "
        "boxed calls are slower than generated code.",
        "still true",
        "One loop serves 2,653 operators. A boxed call of a kernel that does nothing took more than twice as long, "
        "measured on one CPU with benchmarks/boxed_calls.cpp.",
        Source("aten/src/ATen/core/boxing/impl/boxing.h", "boxArgs"),
        (BOXED, UNBOXED),
        "examples/vmap.py",
    ),
    PastStatement(
        "lite-interpreter",
        "The interpreter for mobile",
        "2020",
        "The Lite Interpreter for mobile is boxed.",
        "still true",
        "It is still in PyTorch's sources, and its run() takes a Stack.",
        Source("torch/csrc/jit/mobile/interpreter.h", "Stack"),
        (BOXED,),
        "examples/vmap.py",
    ),
)
