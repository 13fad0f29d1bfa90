"""``torch._C``: the part of the introspection that the model has."""

from __future__ import annotations

from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.keyset import DispatchKeySet
from dispatchviz.core.tensor import Tensor
from dispatchviz.core.thread_state import thread

__all__ = ["DispatchKey", "DispatchKeySet"]


def _dispatch_keys(tensor: Tensor) -> DispatchKeySet:
    """The key set of a tensor."""
    return DispatchKeySet.from_raw_repr(tensor._ks)


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The thread's included set."""
    return DispatchKeySet.from_raw_repr(thread.state.included)


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The thread's excluded set."""
    return DispatchKeySet.from_raw_repr(thread.state.excluded)
