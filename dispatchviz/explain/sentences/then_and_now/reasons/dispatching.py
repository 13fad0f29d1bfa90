"""Why a call is dispatched as it is."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import Reason, Source, seen

REDISPATCH = seen(ev.Dispatched, how="redispatch*")
GUARD = seen(ev.GuardEntered, guard="AutoDispatchBelow*")

DISPATCHING = (
    Reason(
        "a-dispatcher",
        "Why a dispatcher at all?",
        "What an operator has to do depends on the backend of its tensors, and on whether autograd, autocast, vmap or "
        "a tracer has a part in it. A function with all of this in it would have to be changed for each new system "
        "and each new backend. So every operator has a table: who owns a key fills the key's cell, and a call looks "
        "up the cell that it needs. Somebody outside of PyTorch can do that too, from Python even.",
        "the kernel in the cell, and who has registered it; dispatchviz table shows all cells of an operator.",
        Source("aten/src/ATen/core/dispatch/OperatorEntry.h", "dispatchTable_"),
        (seen(ev.KernelSelected),),
        "examples/forum.py",
    ),
    Reason(
        "a-set-of-keys",
        "Why a set of keys and not one?",
        "Several things can be true of a tensor at once: it is on CUDA, autograd may record it, it is conjugated, it "
        "is a batch. For each of these there is something to do in a call, and the order is always the same. The set "
        "says which of them, and the order of its bits says which first. A kernel takes its own key and those above "
        "it away and passes the rest on, so it need not know who comes next.",
        "which tensor or guard brought each key, and which of them is the highest.",
        Source("c10/core/DispatchKeySet.h", "highestPriorityTypeId"),
        (seen(ev.KeySetComputed),),
        "examples/forum.py",
    ),
    Reason(
        "alias-keys",
        "Why alias keys?",
        "One autograd kernel is right for every backend, and one composite for more keys than that. An alias names "
        "all of their cells in one registration: 18 for Autograd, 103 for CompositeImplicitAutograd. It has no bit, "
        "so it is in no key set; it is looked at when a table is computed, and a call knows nothing of it. A kernel "
        "registered to the key itself goes before that of an alias, so a backend can still have its own.",
        "which alias the kernel in this cell is from, and what had precedence over it.",
        Source("c10/core/DispatchKeySet.h", "getRuntimeDispatchKeySet"),
        (seen(ev.KernelSelected, source="Autograd"), seen(ev.KernelSelected, source="Composite*")),
        "examples/forum.py",
    ),
    Reason(
        "redispatch",
        "Why redispatch, and not call again?",
        "A call begins at the beginning: it unites the keys of the arguments, asks the thread's sets and the "
        "operator's mask, and tells the profiler. The kernel has the set already and only has to take its own key and "
        "those above away. So redispatch looks up one cell and does nothing else, and the profiler counts the "
        "operator once. In 2020 kernels still called again, and the thread's excluded set alone kept them from "
        "calling themselves.",
        "the key set step under a call, and that a redispatch has none.",
        Source("aten/src/ATen/core/dispatch/Dispatcher.h", "redispatch"),
        (REDISPATCH,),
        "examples/forum.py",
    ),
    Reason(
        "guard-and-mask",
        "Why the guard and the mask both?",
        "They are for different calls. The mask, & after_autograd_keyset, is for this one: a redispatch takes the set "
        "as it is, and with AutogradCUDA still in it the autograd kernel would run again, and again. The guard is for "
        "all other calls: a kernel below may call operators, and these compute their sets anew from tensors that "
        "still have their autograd keys. As long as the thread excludes these keys, nothing below makes a Node, and "
        "one operator gets one.",
        "the set that the kernel received beside the one that it hands over, and the guard around the redispatch.",
        Source("aten/src/ATen/core/LegacyTypeDispatch.h", "AutoDispatchBelowADInplaceOrView"),
        (REDISPATCH, GUARD),
        "examples/forum.py",
    ),
    Reason(
        "fallthrough",
        "Why a fallthrough, and not an empty cell?",
        "If the highest key of a set has an empty cell, the call is an error: Could not run ... with arguments from "
        "the ... backend. A fallthrough says something else: this key has nothing to do here, ask the next one. It is "
        "never called. When it is registered, the key leaves the operator's mask, and the mask is applied in every "
        "call anyway.",
        "the skipped keys, and that they are in the set before the mask and not in the one after it.",
        Source("torch/library.h", "makeFallthrough"),
        (seen(ev.FallthroughSkipped),),
        "examples/forum.py",
    ),
    Reason(
        "backendselect",
        "Why BackendSelect?",
        "Keys come from tensors, and torch.randn(2, 2) has none among its arguments. Its backend is in its options: "
        "dtype, layout, device. Every thread includes BackendSelect, so the set of such a call is not empty. The "
        "kernel in that cell computes the backend's key from the options and redispatches to it. Operators without "
        "options fall through there.",
        "the key set without arguments, and the set that BackendSelect's kernel redispatches with.",
        Source("c10/core/TensorOptions.h", "computeDispatchKey"),
        (seen(ev.Dispatched, key="BackendSelect"), seen(ev.KernelEntered, kernel="randn")),
        "examples/forum.py",
    ),
)
