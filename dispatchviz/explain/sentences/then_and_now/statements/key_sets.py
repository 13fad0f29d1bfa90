"""Older statements about keys, key sets and dispatch tables."""

from __future__ import annotations

from dispatchviz.core.record import events as ev
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Source, seen

EXTRACTOR = "aten/src/ATen/core/dispatch/DispatchKeyExtractor.h"
KEY_SET = "c10/core/DispatchKeySet.h"

KEY_SETS = (
    PastStatement(
        "one-function-for-all",
        "One function for everything",
        "2020",
        "Without a dispatcher, one function would need a big switch with every system (autograd, tracing, vmap) times "
        "every backend.",
        "still true",
        "PyTorch has 3,607 operators, and each has a dispatch table of 137 entries. The owner of a key fills the "
        "entries for that key, and no function knows them all.",
        Source("aten/src/ATen/core/dispatch/OperatorEntry.h", "dispatchTable_"),
        (seen(ev.KernelSelected),),
        "examples/forum.py",
    ),
    PastStatement(
        "a-pointer-for-each-key",
        "A function pointer for each key",
        "2020",
        "An operator has a table of function pointers, one for each key, and the keys are sorted by priority "
        "(DispatchKey.h).",
        "true with a change",
        "A key is no longer one bit. A set has 16 bits for backends and 46 for functionalities, and the order of the "
        "functionalities is the priority. Six of them have an entry for each backend, which makes 137 entries.",
        Source("c10/core/DispatchKey.h", "EndOfFunctionalityKeys"),
        (seen(ev.KernelSelected), seen(ev.KeySetComputed)),
        "examples/forum.py",
    ),
    PastStatement(
        "how-the-set-is-made",
        "How the key set is made",
        "2020",
        "The set is the union of the tensors' keys, the global keys and the thread's included set, minus its excluded "
        "set. The first key wins (DispatchKeyExtractor.h).",
        "true with a change",
        "Global keys are gone, and one step is new: the operator's mask removes the keys that fall through. The set "
        "is ((tensors | included) - excluded) & mask.",
        Source(EXTRACTOR, "computeDispatchKeySet"),
        (seen(ev.KeySetComputed),),
        "examples/forum.py",
    ),
    PastStatement(
        "global-keys",
        "Global keys",
        "2020",
        "BackendSelect is a global key, which is in every set.",
        "no longer true",
        "There is no global set. A thread begins with {ADInplaceOrView, BackendSelect} in its include set and the ten "
        "Autocast keys in its exclude set. The Autocast keys themselves come from the tensors.",
        Source(KEY_SET, "default_included_set"),
        (seen(ev.KeySetComputed),),
        "examples/forum.py",
    ),
    PastStatement(
        "the-set-of-add",
        "The set of add",
        "2020",
        "For add of two CUDA tensors without gradients, the set is [AutogradCUDA, BackendSelect, CUDA].",
        "no longer true",
        "It is {AutogradCUDA, CUDA}, 0x1000010002. BackendSelect and ADInplaceOrView fall through for add, so the "
        "mask removes them before a key is picked.",
        Source(EXTRACTOR, "nonFallthroughKeys_"),
        (seen(ev.KeySetComputed, effective=0x1000010002), seen(ev.FallthroughSkipped)),
        "examples/forum.py",
    ),
    PastStatement(
        "the-keys-of-a-cuda-tensor",
        "The keys of a CUDA tensor",
        "2020",
        "A CUDA tensor has the keys [AutogradCUDA, CUDA].",
        "true with a change",
        "It has two more: {AutocastCUDA, AutogradCUDA, ADInplaceOrView, CUDA}, 0x801400010002.",
        Source(KEY_SET, "getAutocastRelatedKeySetFromBackend"),
        (seen(ev.TensorCreated, device="cuda*"),),
        "examples/forum.py",
    ),
    PastStatement(
        "requires-grad-adds-a-key",
        "When a tensor gets AutogradCUDA",
        "forum",
        "x.requires_grad_(True) gives x the key AutogradCUDA.",
        "never true",
        "Every ordinary CUDA tensor has AutogradCUDA from its creation. requires_grad_ sets a flag and changes no key.",
        Source(KEY_SET, "getAutogradRelatedKeySetFromBackend"),
        (seen(ev.RequiresGradSet), seen(ev.TensorCreated, device="cuda*")),
        "examples/forum.py",
    ),
    PastStatement(
        "autograd-is-an-alias",
        "Autograd and AutogradCUDA",
        "2020",
        "Autograd and AutogradCUDA are nearly always the same thing. Autograd is an alias key (DispatchKeySet.h).",
        "still true",
        "Autograd has no bit, so it is in no key set. In a registration it covers 18 entries. Only three operators, "
        "all of them for tests, have a kernel for AutogradCUDA itself.",
        Source("c10/core/DispatchKey.h", "isAliasDispatchKey"),
        (seen(ev.KernelSelected, source="Autograd"),),
        "examples/forum.py",
    ),
    PastStatement(
        "where-autograd-becomes-autogradcuda",
        "From Autograd to AutogradCUDA",
        "forum",
        "Somewhere in the call, Autograd must become AutogradCUDA.",
        "never true",
        "The call does no such step. When a kernel is registered for Autograd, PyTorch recomputes the 18 entries of "
        "the alias. Entries without a kernel of higher precedence then hold it, and the call finds it there.",
        Source("aten/src/ATen/core/dispatch/OperatorEntry.cpp", "computeDispatchTableEntryWithDebug"),
        (seen(ev.KernelSelected, source="Autograd"),),
        "examples/forum.py",
    ),
    PastStatement(
        "the-set-as-a-number",
        "Key sets as numbers",
        "later",
        "In the backtrace of add on the CPU, the set is 274877939713 down to the autograd kernel and 32769 below it.",
        "no longer true",
        "The keys are the same, but their bits have moved: {AutogradCPU, CPU} is 68719542273, or 0x1000010001, and "
        "{CPU} is 65537, or 0x10001. dispatchviz keys reads the old numbers too.",
        Source(KEY_SET, "raw_repr"),
        (seen(ev.KernelEntered, key_set=0x1000010001), seen(ev.KernelEntered, key_set=0x10001)),
        "examples/chains/add.py",
    ),
    PastStatement(
        "backendselect-falls-through",
        "BackendSelect for add",
        "2020",
        "BackendSelect has no kernel for add, only a fallback, which is a fallthrough "
        "(BackendSelectFallbackKernel.cpp).",
        "still true",
        "This is true for 3,512 operators. The other 95 have a kernel there.",
        Source("aten/src/ATen/core/BackendSelectFallbackKernel.cpp", "BackendSelect"),
        (seen(ev.FallthroughSkipped),),
        "examples/forum.py",
    ),
    PastStatement(
        "fallthrough-is-a-mask",
        "Fallthrough kernels",
        "2020",
        "A fallthrough kernel is never called. When it is registered, its key leaves a bit mask of the operator "
        "(setOperatorHasFallthroughForKey).",
        "true with a change",
        "An operator has 16 more masks, one for each backend, in case a key falls through for some backends only. No "
        "operator of PyTorch needs them.",
        Source(EXTRACTOR, "setOperatorHasFallthroughForKey"),
        (seen(ev.FallthroughSkipped),),
        "examples/forum.py",
    ),
    PastStatement(
        "registration-fills-the-table",
        "How the table is filled",
        "2020",
        "The registration API fills the table. Generated code registers kernels for CPU, CUDA, Autograd and "
        "BackendSelect, and there are fallbacks.",
        "still true",
        "Composite kernels are registered the same way and fill many entries at once. The fallbacks of 38 keys are "
        "there before an operator has a kernel.",
        Source("torch/library.h", "fallback"),
        (
            seen(ev.KernelSelected, reason="backend fallback"),
            seen(ev.KernelRegistered),
            seen(ev.CellsRecomputed),
        ),
        "examples/custom_operator.py",
    ),
)
