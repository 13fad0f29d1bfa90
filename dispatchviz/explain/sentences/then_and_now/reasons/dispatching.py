"""Reasons for how calls are dispatched, and for how kernels are written, generated and called."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

REDISPATCH = seen(ev.Dispatched, how="redispatch*")
GUARD = seen(ev.GuardEntered, guard="AutoDispatchBelow*")

DISPATCHING = (
    Reason(
        "a-dispatcher",
        "Why a dispatcher at all?",
        "The work of an operator depends on the backend of its tensors, and on whether autograd, autocast, vmap or a "
        "tracer takes part. One function for all of this would change with each new system and each new backend. So "
        "every operator has a dispatch table. The owner of a key fills the entry for that key, and a call looks up "
        "the entry that it needs. Code outside PyTorch can fill entries too, even from Python.",
        "the kernel in the entry, and where it is registered. dispatchviz table shows all entries of an operator.",
        Source("aten/src/ATen/core/dispatch/OperatorEntry.h", "dispatchTable_"),
        (seen(ev.KernelSelected),),
        "examples/forum.py",
    ),
    Reason(
        "a-set-of-keys",
        "Why a set of keys, and not one key?",
        "Several things can be true of a tensor at once: it is on CUDA, autograd may record it, it is conjugated, it "
        "is a batch. Each of these needs some work in a call, always in the same order. The set says which work is "
        "needed, and the order of its bits says which comes first. A kernel removes its own key and the keys above it "
        "and passes the rest on, so it need not know which kernel comes next.",
        "which tensor or guard brought each key, and which of them is the highest.",
        Source("c10/core/DispatchKeySet.h", "highestPriorityTypeId"),
        (seen(ev.KeySetComputed),),
        "examples/forum.py",
    ),
    Reason(
        "alias-keys",
        "Why alias keys?",
        "One autograd kernel is right for every backend, and one composite for even more keys. An alias names all "
        "their entries in one registration: 18 for Autograd, 103 for CompositeImplicitAutograd. It has no bit, so it "
        "is in no key set. PyTorch reads it when it computes a table, and a call does not see it. A kernel registered "
        "for the key itself takes precedence over that of an alias, so a backend can still have its own.",
        "which alias the kernel in this entry is from, and which kernels had precedence over it.",
        Source("c10/core/DispatchKeySet.h", "getRuntimeDispatchKeySet"),
        (seen(ev.KernelSelected, source="Autograd"), seen(ev.KernelSelected, source="Composite*")),
        "examples/forum.py",
    ),
    Reason(
        "redispatch",
        "Why redispatch, and not call again?",
        "A call starts from the beginning: it unites the keys of the arguments, applies the thread-local sets and the "
        "operator's mask, and notifies the profiler. A kernel already has the key set and only has to remove its own "
        "key and those above. So redispatch looks up one entry and does nothing else, and the profiler counts the "
        "operator once. In 2020, kernels still called again, and only the thread's excluded set kept them from "
        "calling themselves.",
        "the key set step under a call, and that a redispatch has none.",
        Source("aten/src/ATen/core/dispatch/Dispatcher.h", "redispatch"),
        (REDISPATCH,),
        "examples/forum.py",
    ),
    Reason(
        "guard-and-mask",
        "Why both the guard and the mask?",
        "They are for different calls. The mask, & after_autograd_keyset, is for this call: a redispatch takes the "
        "set as it is, and with AutogradCUDA still in it the autograd kernel would run again and again. The guard is "
        "for all other calls: a kernel below may call operators, which compute new key sets from tensors that still "
        "have their autograd keys. While the guard excludes these keys, no kernel below creates a Node, so one "
        "operator gets one Node.",
        "the set that the kernel received, the set that it passes on, and the guard around the redispatch.",
        Source("aten/src/ATen/core/LegacyTypeDispatch.h", "AutoDispatchBelowADInplaceOrView"),
        (REDISPATCH, GUARD),
        "examples/forum.py",
    ),
    Reason(
        "fallthrough",
        "Why a fallthrough, and not an empty entry?",
        "If the entry of the highest key is empty, the call raises an error: Could not run ... with arguments from "
        "the ... backend. A fallthrough means something else: this key has nothing to do here, go on to the next one. "
        "It is never called. When it is registered, the key leaves the operator's mask, and every call applies the "
        "mask anyway.",
        "the skipped keys, which are in the set before the mask and not after it.",
        Source("torch/library.h", "makeFallthrough"),
        (seen(ev.FallthroughSkipped),),
        "examples/forum.py",
    ),
    Reason(
        "backendselect",
        "Why BackendSelect?",
        "Keys come from tensors, and torch.randn(2, 2) has no tensor arguments. Its options (dtype, layout, device) "
        "name its backend. BackendSelect is in the include set of every thread, so the key set of the call is not "
        "empty. The kernel for BackendSelect computes the backend's key from the options and redispatches to it. "
        "Operators without options have a fallthrough there.",
        "the key set without arguments, and the set that BackendSelect's kernel redispatches with.",
        Source("c10/core/TensorOptions.h", "computeDispatchKey"),
        (seen(ev.Dispatched, key="BackendSelect"), seen(ev.KernelEntered, kernel="randn")),
        "examples/forum.py",
    ),
)


KERNELS = (
    Reason(
        "boxing",
        "Why boxing?",
        "An unboxed kernel is a C++ function with one signature. Code that does the same for any operator, such as "
        "the loop behind vmap, autograd's fallback or a kernel in Python, would be needed once for each of 3,607 "
        "operators. A boxed kernel takes an operator and a stack of values, so one is enough: one loop serves the "
        "2,653 operators without a rule for vmap. Each call pays for this, because values are put on the stack and "
        "taken off. A kernel that does nothing took more than twice as long (benchmarks/boxed_calls.cpp, on one CPU).",
        "where arguments are boxed, how many there are, and where a kernel with a signature takes them off the stack.",
        Source("aten/src/ATen/core/boxing/KernelFunction.h", "makeFromBoxedFunction"),
        (seen(ev.Boxed), seen(ev.Unboxed)),
        "examples/vmap.py",
    ),
    Reason(
        "code-generation",
        "Why is so much of it generated?",
        "An operator needs a binding, a C++ function, an autograd kernel, a Node, a kernel for tracing and a "
        "registration for each of them. All of it follows from its schema, its formula and the names of its kernels: "
        "2,584 entries in one yaml file, 687 in another. To add an operator, a developer writes an entry and the "
        "kernel. A change in the generator applies everywhere: when autograd kernels switched from calling their "
        "operator again to redispatching, no kernel had to be edited by hand.",
        "the binding and the autograd kernel. dispatchviz codegen shows the yaml entries that they come from.",
        Source("aten/src/ATen/native/native_functions.yaml", "structured_delegate"),
        (seen(ev.BindingEntered, pytorch_function="THPVariable_*"), seen(ev.KernelEntered, kernel="VariableType::*")),
        "examples/forum.py",
    ),
    Reason(
        "meta-and-impl-apart",
        "Why is a kernel split into meta and impl?",
        "The shape and dtype of a result are the same on every device, and tensors on the device meta need nothing "
        "else. So there is one meta function, which computes them, and one impl for each device, which computes the "
        "numbers. The functional, in-place and out variants differ only in where the memory of the result comes from. "
        "meta requests it with set_output, and each variant answers in its own way.",
        "meta, then where the output comes from, then impl, which receives a ready output.",
        Source("aten/src/ATen/TensorMeta.h", "MetaBase"),
        (seen(ev.MetaEntered), seen(ev.OutputAllocated), seen(ev.ImplEntered)),
        "examples/forum.py",
    ),
)
