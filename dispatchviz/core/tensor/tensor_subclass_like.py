"""``isTensorSubclassLike``: the check whether modes or subclasses see a tensor's operators
(``ATen/TensorSubclassLikeUtils.h``).

Composite operators and autograd call it before they write in place or avoid the dispatcher. If it is true, they take a
path that vmap, functionalization, a subclass of Tensor or a dispatch mode can follow.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.keys.key_set import DispatchKeySet, raw
from dispatchviz.core.keys.keys import KEY_BITS, BackendComponent, DispatchKey
from dispatchviz.core.thread.thread_state import thread

K = DispatchKey

TENSOR_SUBCLASS_LIKE = (
    raw(K.FuncTorchGradWrapper, K.FuncTorchBatched, K.Functionalize, K.Batched, K.Sparse, K.SparseCsr)
    | KEY_BITS[K.Python]
    | DispatchKeySet(BackendComponent.MetaBit).raw_repr()
)
"""The keys ``kTensorSubclassLike``."""


def is_tensor_subclass_like(tensor: Any) -> bool:
    """Return whether a dispatch mode is on, or code other than a backend's kernels sees the tensor."""
    return bool(thread.state.modes or tensor._ks & TENSOR_SUBCLASS_LIKE)
