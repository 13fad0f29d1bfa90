"""Older statements about the autograd kernel and Nodes."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Source, seen

VARIABLE_TYPE = "torch/csrc/autograd/generated/VariableType_2.cpp"
GENERATOR = "tools/autograd/gen_variable_type.py"
NODE = "torch/csrc/autograd/node.h"

ADD = seen(ev.KernelEntered, kernel="VariableType::add_Tensor")
ANY = seen(ev.KernelEntered, kernel="VariableType::*")

AUTOGRAD_KERNEL = (
    PastStatement(
        "variabletypeeverything",
        "The file of the autograd kernel",
        "2020",
        "The autograd kernel of add is in VariableTypeEverything.cpp.",
        "no longer true",
        "The build compiles VariableType_0.cpp to VariableType_9.cpp, and add_Tensor is in VariableType_2.cpp. The "
        "generator still writes VariableTypeEverything.cpp with all of them, for people to read.",
        Source(VARIABLE_TYPE, "add_Tensor"),
        (ADD, ANY),
        "examples/forum.py",
    ),
    PastStatement(
        "registered-to-autograd",
        "How it is registered",
        "forum",
        'It is registered with TORCH_LIBRARY_IMPL(aten, Autograd, m), with m.impl("add.Tensor", '
        "TORCH_FN(VariableType::add_Tensor)).",
        "still true",
        "The generator still writes these lines. 2,498 operators have a kernel for Autograd.",
        Source(GENERATOR, "TORCH_LIBRARY_IMPL"),
        (seen(ev.KernelSelected, source="Autograd", operator="aten::add.Tensor"), ADD),
        "examples/forum.py",
    ),
    PastStatement(
        "parts-of-the-autograd-kernel",
        "What the kernel of add does",
        "forum",
        "It unpacks its arguments, calls compute_requires_grad and isFwGradDefined, creates AddBackward0, sets its "
        "edges with collect_next_edges, saves alpha and two scalar types, and finally calls set_history.",
        "still true",
        "It does all of this in this order. set_history comes after the redispatch.",
        Source("torch/csrc/autograd/functions/utils.h", "set_history"),
        (
            ADD,
            seen(ev.NodeCreated, name="AddBackward0"),
            seen(ev.EdgesCollected),
            seen(ev.AttributeSaved),
            seen(ev.HistorySet),
        ),
        "examples/forum.py",
    ),
    PastStatement(
        "deletenode",
        "Who owns a Node",
        "forum",
        "A std::shared_ptr holds AddBackward0, with deleteNode as its deleter.",
        "no longer true",
        "A Node counts its own references, as a tensor does. make_intrusive creates it, and release_resources frees a "
        "long chain of Nodes without recursion. deleteNode is gone.",
        Source(NODE, "release_resources"),
        (seen(ev.NodeCreated),),
        "examples/forum.py",
    ),
    PastStatement(
        "node-in-function-h",
        "The header of Node",
        "later",
        "Node is declared in torch/csrc/autograd/function.h. Calling it ignores names (NoNamesGuard), and stream() "
        "takes a device type.",
        "no longer true",
        "Node is in node.h, and function.h keeps the free functions such as collect_next_edges. Named tensors and "
        "NoNamesGuard are gone. stream() has no argument.",
        Source(NODE, "Node"),
        (seen(ev.NodeCreated), seen(ev.NodeStarted)),
        "examples/forum.py",
    ),
    PastStatement(
        "debug-checks",
        "Checks of debug builds",
        "2020",
        "Debug builds check that storages and impls of the inputs stay the same (#ifndef NDEBUG).",
        "still true",
        "They also check that no other code uses the result yet. Under a dispatch mode, and for subclasses with "
        "__torch_dispatch__, they check nothing.",
        Source(GENERATOR, "NDEBUG"),
        (ADD, ANY),
        "examples/forum.py",
    ),
    PastStatement(
        "nothing-without-requires-grad",
        "The kernel without gradients",
        "2020",
        "If no input requires grad, the autograd kernel does nothing for autograd.",
        "true with a change",
        "The kernel still creates no Node and saves nothing. But it also checks whether an input has a tangent, for "
        "forward mode.",
        Source("torch/csrc/autograd/functions/utils.h", "isFwGradDefined"),
        (seen(ev.NoNodeMade),),
        "examples/no_grad.py",
    ),
    PastStatement(
        "it-would-not-be-called",
        "A plan: not called at all",
        "2020",
        "The plan is that the autograd kernel will not even be called without requires_grad.",
        "never came true",
        "It is always called, whether a tensor requires grad or not, and also under no_grad. Only inference mode "
        "skips it: it excludes the autograd keys, and tensors made in it have none.",
        Source("c10/core/InferenceMode.h", "InferenceMode"),
        (seen(ev.NoNodeMade), seen(ev.InferenceModeChanged), seen(ev.GradModeChanged)),
        "examples/chains/add.py",
    ),
    PastStatement(
        "autononvariabletypemode",
        "AutoNonVariableTypeMode",
        "2020",
        "AutoNonVariableTypeMode puts [AutogradCPU, AutogradCUDA, AutogradXLA] into the thread's excluded set "
        "(LegacyTypeDispatch.h).",
        "no longer true",
        "The class is still in that header and warns, but no kernel uses it. AutoDispatchBelowAutograd excludes three "
        "functionalities, and with them the autograd keys of all backends. AutoDispatchBelowADInplaceOrView also "
        "excludes ADInplaceOrView.",
        Source("aten/src/ATen/core/LegacyTypeDispatch.h", "AutoDispatchBelowADInplaceOrView"),
        (seen(ev.GuardEntered, guard="AutoDispatchBelow*"),),
        "examples/forum.py",
    ),
    PastStatement(
        "guard-of-add",
        "The guard of add",
        "forum",
        "The guard around the redispatch of add is AutoDispatchBelowADInplaceOrView.",
        "still true",
        "This is true for kernels that write to no argument and make no view. Kernels of in-place and view operators "
        "use AutoDispatchBelowAutograd, because ADInplaceOrView comes next there.",
        Source(GENERATOR, "AutoDispatchBelowADInplaceOrView"),
        (seen(ev.GuardEntered, guard="AutoDispatchBelow*"),),
        "examples/forum.py",
    ),
    PastStatement(
        "called-again",
        "How the backend is called",
        "2020",
        "Under its guard, the autograd kernel calls at::add again. That computes a new set: [BackendSelect, CUDA].",
        "no longer true",
        "Nothing is computed again. The kernel passes its own set & after_autograd_keyset, {CUDA} or 0x10002, to "
        "at::redispatch::add, which only looks up the entry.",
        Source("build/aten/src/ATen/RedispatchFunctions.h", "redispatch"),
        (seen(ev.Dispatched, how="redispatch*"),),
        "examples/forum.py",
    ),
    PastStatement(
        "redispatch-of-add",
        "The redispatch of add",
        "forum",
        "at::redispatch::add(ks & c10::after_autograd_keyset, ...) leads to wrapper_CUDA_add_Tensor.",
        "still true",
        "On the CPU it leads to wrapper_CPU_add_Tensor. Kernels receive ks because their first parameter is a "
        "DispatchKeySet.",
        Source("c10/core/DispatchKeySet.h", "after_autograd_keyset"),
        (
            seen(ev.Dispatched, operator="aten::add.Tensor", how="redispatch*"),
            seen(ev.KernelEntered, kernel="wrapper_*_add_Tensor"),
        ),
        "examples/forum.py",
    ),
    PastStatement(
        "normal-goes-through-autograd",
        "An in-place operator",
        "2020",
        "normal_ goes through autograd: unpack, check_inplace, NormalBackward0, increment_version, rebase_history.",
        "true with a change",
        "increment_version is no longer in this kernel. A separate kernel, ADInplaceOrView::normal_, increments the "
        "version after the backend has written. The other calls are still there.",
        Source("torch/csrc/autograd/generated/ADInplaceOrViewType_0.cpp", "normal_"),
        (
            seen(ev.KernelEntered, kernel="VariableType::normal_"),
            seen(ev.KernelEntered, kernel="ADInplaceOrView::*"),
            seen(ev.InplaceChecked),
            seen(ev.VersionBumped),
            seen(ev.HistoryRebased),
        ),
        "examples/chains/factories.py",
    ),
)
