"""Kernels for Tracer (``torch/csrc/autograd/generated/TraceType_*.cpp``). They run above autograd, so that a trace
shows the user's calls and not their parts.

NB: in PyTorch, ``torch.jit.trace`` includes the key, and these kernels write a graph. Nothing is traced here: if the
key is included by hand, they redispatch, as PyTorch's then do. The key's fallback, which would call itself again, is
left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call import dispatcher
from dispatchviz.core.keys.key_set import full_after
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.registry import process

_BELOW = full_after(DispatchKey.Tracer)


def trace_type(name: str) -> Callable[..., Any]:
    """Return the typed kernel of ``aten::<name>``."""

    def kernel(ks: int, *args: Any) -> Any:
        ks &= _BELOW
        return dispatcher.redispatch(process.find(f"aten::{name}"), ks)(ks, *args)

    return kernel
