"""Raw key sets that have a name in PyTorch, or that one meets often."""

from __future__ import annotations

from dispatchviz.core import keyset
from dispatchviz.core.keys import BACKEND_MASK, RUNTIME_KEYS, DispatchKey
from dispatchviz.core.keyset import FULL, raw
from dispatchviz.explain.key_words import is_backend
from dispatchviz.explain.tensor_keys import tensor_set

K = DispatchKey

NAMED = {
    keyset.autograd_dispatch_keyset: "autograd_dispatch_keyset: what AutoDispatchBelowAutograd keeps out",
    keyset.autograd_dispatch_keyset_with_ADInplaceOrView: "autograd_dispatch_keyset_with_ADInplaceOrView: what "
    "AutoDispatchBelowADInplaceOrView keeps out",
    keyset.after_autograd_keyset: "after_autograd_keyset: what autograd kernels mask with before they pass a call on",
    keyset.after_ADInplaceOrView_keyset: "after_ADInplaceOrView_keyset: what ADInplaceOrView kernels mask with",
    keyset.after_func_keyset: "after_func_keyset: what functionalization masks with",
    keyset.after_Python_keyset: "what is kept out while Python code of a mode or subclass runs",
    keyset.default_included_set: "default_included_set: what a thread joins to every call",
    keyset.default_excluded_set: "default_excluded_set: what a thread keeps out of every call while autocast is off",
    keyset.autogradother_backends: "autogradother_backends: the backends that share AutogradOther",
    keyset.backend_dispatch_keyset: "what CompositeExplicitAutograd stands for",
    keyset.non_functional_backend_dispatch_keyset: "what CompositeExplicitAutogradNonFunctional stands for",
    keyset.math_dispatch_keyset: "what CompositeImplicitAutograd stands for",
    keyset.nested_dispatch_keyset: "what CompositeImplicitAutogradNestedTensor stands for",
    keyset.autograd_dispatch_keyset | BACKEND_MASK: "what Autograd stands for",
    keyset.python_ks: "python_ks: what a subclass with __torch_dispatch__ adds to a tensor",
    keyset.functorch_transforms_ks: "functorch_transforms_ks",
    FULL: "every key (FULL)",
}
"""Raw set -> what it is."""


def known_set(ks: int) -> str:
    """What a set is, if it has a name or is that of an ordinary tensor; empty for all others."""
    return NAMED.get(ks) or _tensor(ks)


def _tensor(ks: int) -> str:
    """Sets of tensors, and of calls with one, on their way down."""
    for backend in (key for key in RUNTIME_KEYS if is_backend(key.name)):
        whole = tensor_set(backend)
        if ks == whole:
            return f"the set of an ordinary {backend} tensor"
        if ks == whole & ~raw(K.ADInplaceOrView) & ~keyset.autograd_dispatch_keyset:
            return f"the set of {backend} tensors made in inference mode"
        below = whole & ~keyset.autocast_dispatch_keyset
        if ks == below & ~raw(K.ADInplaceOrView) or ks == below:
            return f"a call with an ordinary {backend} tensor, at its autograd key"
        if ks == raw(backend):
            return f"a call with an ordinary {backend} tensor, below autograd"
    return ""
