"""Kernels and backend fallbacks that PyTorch too writes by hand: which function stands behind which registration.

Two tables, read when an operator's kernels are registered (``native_library.py``). The functions live with their
subject; what is generated is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dispatchviz.core.autograd import autograd_fallback, variable_type_manual
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.operator import OperatorEntry

K = DispatchKey

Fallback = Callable[[OperatorEntry, int, list[Any]], None]
"""A boxed kernel: ``function(op, ks, stack)``."""

KERNELS: dict[DispatchKey, Mapping[str, Callable[..., Any]]] = {
    K.Autograd: variable_type_manual.AUTOGRAD_KERNELS,
    K.ADInplaceOrView: variable_type_manual.INPLACE_OR_VIEW_KERNELS,
}
"""Key -> operator's name without ``aten::`` -> typed kernel ``function(ks, *args)``; goes before generated ones."""

BOXED_KERNELS: dict[str, Fallback] = {}
"""PyTorch's name of a boxed kernel of single operators (``registrations``) -> ours."""

FALLBACKS: dict[str, Fallback] = {
    "autograd_fallback": autograd_fallback.autograd_fallback,
}
"""PyTorch's name of a backend fallback (``kernel_names.fallback_name``) -> ours."""
