"""Older statements about randn and other functions that create tensors."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Source, seen

RANDN = seen(ev.KernelEntered, kernel="randn")
EMPTY = seen(ev.KernelEntered, kernel="wrapper_*_memory_format_empty")

FACTORIES = (
    PastStatement(
        "backendselectregister",
        "The file of BackendSelect's kernels",
        "2020",
        "randn on cuda selects the kernel for BackendSelect, which is in BackendSelectRegister.cpp.",
        "no longer true",
        "The kernel still exists, in RegisterBackendSelect.cpp. The generator uses that name today.",
        Source("build/aten/src/ATen/RegisterBackendSelect.cpp", "randn"),
        (seen(ev.Dispatched, operator="aten::randn", key="BackendSelect"), RANDN),
        "examples/forum.py",
    ),
    PastStatement(
        "handle-of-randn",
        "A handle of its own",
        "2020",
        "The kernel keeps a static handle of the operator, from findSchemaOrThrow and .typed, and calls op.redispatch.",
        "true with a change",
        "The static handle is now in at::_ops::randn, one for each operator, found in the same way. The kernel calls "
        "at::_ops::randn::redispatch.",
        Source("build/aten/src/ATen/ops/randn_ops.h", "redispatch"),
        (seen(ev.Dispatched, operator="aten::randn", how="redispatch*"), RANDN),
        "examples/forum.py",
    ),
    PastStatement(
        "key-from-options",
        "The key comes from the options",
        "2020",
        "It computes the key from the options with computeDispatchKey(dtype, layout, device).",
        "still true",
        "This is true for randn. If an operator with options also takes tensors, such as _to_copy, their keys are "
        "united with that key.",
        Source("c10/core/TensorOptions.h", "computeDispatchKey"),
        (RANDN, seen(ev.Dispatched, key="BackendSelect"), seen(ev.KernelEntered, kernel="_to_copy")),
        "examples/forum.py",
    ),
    PastStatement(
        "what-randn-calls",
        "What randn calls",
        "2020",
        "native::randn (TensorFactories.cpp) calls empty and then normal_(0, 1, generator).",
        "still true",
        "It is registered for CompositeExplicitAutograd, so one kernel fills the entries of all backends.",
        Source("aten/src/ATen/native/TensorFactories.cpp", "randn"),
        (
            seen(ev.KernelEntered, kernel="wrapper_CompositeExplicitAutograd__randn"),
            seen(ev.Dispatched, operator="aten::empty.memory_format", how="call*"),
            seen(ev.Dispatched, operator="aten::normal_", how="call*"),
        ),
        "examples/forum.py",
    ),
    PastStatement(
        "kernels-of-empty",
        "The kernels of empty",
        "2020",
        "empty.memory_format has two kernels: empty_cpu, and empty_cuda (TensorFactories.cu).",
        "true with a change",
        "Both still exist. There are also kernels for MPS, Meta and MkldnnCPU, and for sparse, compressed sparse and "
        "quantized tensors.",
        Source("aten/src/ATen/native/native_functions.yaml", "empty_cuda"),
        (EMPTY, seen(ev.Dispatched, operator="aten::empty.memory_format")),
        "examples/forum.py",
    ),
    PastStatement(
        "normal-within-randn",
        "normal_ within randn",
        "2020",
        "Within randn, normal_ goes through autograd, because the new tensor has AutogradCUDA.",
        "no longer true",
        "torch.randn makes its call under AutoDispatchBelowADInplaceOrView, so normal_ goes straight to the backend. "
        "Called as at::randn or torch.ops.aten.randn, it still goes through autograd.",
        Source("torch/csrc/autograd/generated/variable_factories.h", "AutoDispatchBelowADInplaceOrView"),
        (seen(ev.Dispatched, operator="aten::normal_"),),
        "examples/chains/factories.py",
    ),
)
