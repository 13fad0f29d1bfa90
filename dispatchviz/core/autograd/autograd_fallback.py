"""The backend fallback of the Autograd keys (``aten/src/ATen/core/VariableFallbackKernel.cpp``).

It runs for operators that have no autograd kernel of their own, custom ones above all.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.dispatcher import redispatch_boxed
from dispatchviz.core.keyset import after_autograd_keyset
from dispatchviz.core.operator import OperatorEntry


def autograd_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Just goes on below, without a guard.

    NB: in PyTorch it also attaches a Node that warns if a gradient comes through.
    """
    redispatch_boxed(op, ks & after_autograd_keyset, stack)
