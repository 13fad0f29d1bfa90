"""What was said of keys, key sets and tables."""

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
        "Without a dispatcher one function would hold every system (autograd, tracing, vmap) times every backend, in "
        "one big switch.",
        "still so",
        "PyTorch has 3,598 operators, and each has a table of 137 cells. Whoever owns a key fills its cells, and no "
        "function knows them all.",
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
        "so with a change",
        "A key is no longer one bit. A set has 16 bits for backends and 46 for functionalities, and the order of the "
        "functionalities is the priority. Six of them have a cell for each backend, which makes 137 cells.",
        Source("c10/core/DispatchKey.h", "EndOfFunctionalityKeys"),
        (seen(ev.KernelSelected), seen(ev.KeySetComputed)),
        "examples/forum.py",
    ),
    PastStatement(
        "how-the-set-is-made",
        "How the key set is made",
        "2020",
        "The set is the union of the tensors' keys, of global keys and of the thread's included set, without its "
        "excluded set; the first key wins (DispatchKeyExtractor.h).",
        "so with a change",
        "Nothing global is in it, and one step has been added: the operator's mask takes away the keys that fall "
        "through. So it is ((tensors | included) - excluded) & mask.",
        Source(EXTRACTOR, "computeDispatchKeySet"),
        (seen(ev.KeySetComputed),),
        "examples/forum.py",
    ),
    PastStatement(
        "global-keys",
        "Global keys",
        "2020",
        "BackendSelect is a global key: it is in every set.",
        "no longer so",
        "There is no global set. A thread begins with {ADInplaceOrView, BackendSelect} included and the ten Autocast "
        "keys excluded; the Autocast keys themselves come from the tensors.",
        Source(KEY_SET, "default_included_set"),
        (seen(ev.KeySetComputed),),
        "examples/forum.py",
    ),
    PastStatement(
        "the-set-of-add",
        "The set of add",
        "2020",
        "For add of two CUDA tensors without gradients the set is [AutogradCUDA, BackendSelect, CUDA].",
        "no longer so",
        "It is {AutogradCUDA, CUDA}, 0x1000010002. BackendSelect and ADInplaceOrView fall through for add, so the mask "
        "has taken them away before a key is picked.",
        Source(EXTRACTOR, "nonFallthroughKeys_"),
        (seen(ev.KeySetComputed, effective=0x1000010002), seen(ev.FallthroughSkipped)),
        "examples/forum.py",
    ),
    PastStatement(
        "the-keys-of-a-cuda-tensor",
        "The keys of a CUDA tensor",
        "2020",
        "A CUDA tensor has the keys [AutogradCUDA, CUDA].",
        "so with a change",
        "It has two more: {AutocastCUDA, AutogradCUDA, ADInplaceOrView, CUDA}, 0x801400010002.",
        Source(KEY_SET, "getAutocastRelatedKeySetFromBackend"),
        (seen(ev.TensorCreated, device="cuda*"),),
        "examples/forum.py",
    ),
    PastStatement(
        "requires-grad-adds-a-key",
        "What brings AutogradCUDA",
        "forum",
        "x.requires_grad_(True) gives x the key AutogradCUDA.",
        "never so",
        "Every ordinary CUDA tensor has AutogradCUDA from its creation. requires_grad_ sets a flag and changes no key.",
        Source(KEY_SET, "getAutogradRelatedKeySetFromBackend"),
        (seen(ev.RequiresGradSet), seen(ev.TensorCreated, device="cuda*")),
        "examples/forum.py",
    ),
    PastStatement(
        "autograd-is-an-alias",
        "Autograd and AutogradCUDA",
        "2020",
        "Autograd and AutogradCUDA may be taken as the same thing nearly always; Autograd is an alias key "
        "(DispatchKeySet.h).",
        "still so",
        "Autograd has no bit, so it is in no key set: it stands for 18 cells in a registration. Only three operators, "
        "all of them for tests, have a kernel of AutogradCUDA's own.",
        Source("c10/core/DispatchKey.h", "isAliasDispatchKey"),
        (seen(ev.KernelSelected, source="Autograd"),),
        "examples/forum.py",
    ),
    PastStatement(
        "where-autograd-becomes-autogradcuda",
        "From Autograd to AutogradCUDA",
        "forum",
        "At some place of the call Autograd must become AutogradCUDA.",
        "never so",
        "At no place of the call. When a kernel is registered to Autograd, the 18 cells of the alias are computed "
        "again, and those that nothing of higher precedence fills hold it from then on. The call finds it there.",
        Source("aten/src/ATen/core/dispatch/OperatorEntry.cpp", "computeDispatchTableEntryWithDebug"),
        (seen(ev.KernelSelected, source="Autograd"),),
        "examples/forum.py",
    ),
    PastStatement(
        "the-set-as-a-number",
        "Key sets as numbers",
        "later",
        "In the backtrace of add on the CPU the set is 274877939713 down to the autograd kernel and 32769 below it.",
        "no longer so",
        "The keys are the same, their bits have moved since: {AutogradCPU, CPU} is 68719542273, or 0x1000010001, and "
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
        "still so",
        "It is so for 3,504 operators; 94 have a kernel there.",
        Source("aten/src/ATen/core/BackendSelectFallbackKernel.cpp", "BackendSelect"),
        (seen(ev.FallthroughSkipped),),
        "examples/forum.py",
    ),
    PastStatement(
        "fallthrough-is-a-mask",
        "Fallthrough kernels",
        "2020",
        "A fallthrough kernel is never called: when it is registered, its key leaves a bit mask of the operator "
        "(setOperatorHasFallthroughForKey).",
        "so with a change",
        "There are 16 more masks, one for each backend, for an operator where a key falls through for some backends "
        "only. No operator of PyTorch needs them.",
        Source(EXTRACTOR, "setOperatorHasFallthroughForKey"),
        (seen(ev.FallthroughSkipped),),
        "examples/forum.py",
    ),
    PastStatement(
        "registration-fills-the-table",
        "Who fills the table",
        "2020",
        "The registration API fills the table: generated code registers kernels for CPU, CUDA, Autograd and "
        "BackendSelect, and fallbacks are a part of it.",
        "still so",
        "Composite kernels are registered the same way and fill many cells at once. Fallbacks of 38 keys are there "
        "before an operator has a kernel.",
        Source("torch/library.h", "fallback"),
        (
            seen(ev.KernelSelected, reason="backend fallback"),
            seen(ev.KernelRegistered),
            seen(ev.CellsRecomputed),
        ),
        "examples/custom_operator.py",
    ),
)
