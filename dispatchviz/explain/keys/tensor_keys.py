"""Which keys ordinary tensors have, by their backend key: strided, sparse, quantized, nested."""

from __future__ import annotations

from dispatchviz.core.keys.key_set import AUTOCAST_KEY, AUTOGRAD_KEY, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.explain.keys.key_text import is_autograd, is_backend

K = DispatchKey


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
