"""Raw key sets with a name in PyTorch, other common ones, and the keys of ordinary tensors."""

from __future__ import annotations

from dispatchviz.core.keys import key_set
from dispatchviz.core.keys.key_set import AUTOCAST_KEY, AUTOGRAD_KEY, FULL, raw
from dispatchviz.core.keys.keys import BACKEND_MASK, RUNTIME_KEYS, DispatchKey
from dispatchviz.explain.keys.key_text import is_autograd, is_backend

K = DispatchKey

NAMED = {
    key_set.autograd_dispatch_keyset: "autograd_dispatch_keyset: the keys that AutoDispatchBelowAutograd excludes",
    key_set.autograd_dispatch_keyset_with_ADInplaceOrView: (
        "autograd_dispatch_keyset_with_ADInplaceOrView: the keys that AutoDispatchBelowADInplaceOrView excludes"
    ),
    key_set.after_autograd_keyset: (
        "after_autograd_keyset: the mask that autograd kernels apply before they pass a call on"
    ),
    key_set.after_ADInplaceOrView_keyset: "after_ADInplaceOrView_keyset: the mask that ADInplaceOrView kernels apply",
    key_set.after_func_keyset: "after_func_keyset: the mask that functionalization applies",
    key_set.after_Python_keyset: "the keys that are excluded while Python code of a mode or subclass runs",
    key_set.default_included_set: "default_included_set: the keys that a thread includes in every call",
    key_set.default_excluded_set: (
        "default_excluded_set: the keys that a thread excludes from every call while autocast is off"
    ),
    key_set.autogradother_backends: "autogradother_backends: the backends that share AutogradOther",
    key_set.backend_dispatch_keyset: "the keys that CompositeExplicitAutograd covers",
    key_set.non_functional_backend_dispatch_keyset: "the keys that CompositeExplicitAutogradNonFunctional covers",
    key_set.math_dispatch_keyset: "the keys that CompositeImplicitAutograd covers",
    key_set.nested_dispatch_keyset: "the keys that CompositeImplicitAutogradNestedTensor covers",
    key_set.autograd_dispatch_keyset | BACKEND_MASK: "the keys that Autograd covers",
    key_set.python_ks: "python_ks: the keys that a subclass with __torch_dispatch__ adds to a tensor",
    key_set.functorch_transforms_ks: "functorch_transforms_ks",
    FULL: "every key (FULL)",
}
"""The description of each raw set."""


def known_set(ks: int) -> str:
    """The description of a set with a name, or of an ordinary tensor; empty for other sets."""
    return NAMED.get(ks) or _tensor(ks)


def _tensor(ks: int) -> str:
    """The description of the set of a tensor, or of a call with one tensor after each redispatch."""
    for backend in (key for key in RUNTIME_KEYS if is_backend(key.name)):
        whole = tensor_set(backend)
        if ks == whole:
            return f"the set of an ordinary {backend} tensor"
        if ks == whole & ~raw(K.ADInplaceOrView) & ~key_set.autograd_dispatch_keyset:
            return f"the set of {backend} tensors made in inference mode"
        below = whole & ~key_set.autocast_dispatch_keyset
        if ks == below & ~raw(K.ADInplaceOrView) or ks == below:
            return f"a call with an ordinary {backend} tensor, at its autograd key"
        if ks == raw(backend):
            return f"a call with an ordinary {backend} tensor, below autograd"
    return ""


def tensor_set(backend: DispatchKey) -> int:
    """The set of an ordinary tensor of a backend key: strided, sparse, quantized, nested."""
    device = backend.backend
    nested = raw(K.AutogradNestedTensor) if backend.functionality == K.NestedTensor else 0
    return raw(backend, K.ADInplaceOrView, AUTOGRAD_KEY[device], AUTOCAST_KEY[device]) | nested


def backend_of(key: DispatchKey) -> DispatchKey | None:
    """The backend key whose tensors have a key; None if no ordinary tensor does."""
    if is_backend(key.name):
        return key
    if is_autograd(key.name) and key.backend:
        return DispatchKey[key.name.removeprefix("Autograd")]
    return {K.AutogradNestedTensor: K.NestedTensorCPU, K.AutogradOther: K.MkldnnCPU}.get(key)
