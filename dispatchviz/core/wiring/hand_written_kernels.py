"""Kernels and backend fallbacks that PyTorch too writes by hand: the functions that implement them.

Tables, read when an operator's kernels are registered (``native_library.py``). The functions live with their
subject; what is generated is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dispatchviz.core.autograd.graph import list_nodes
from dispatchviz.core.autograd.kernels import (
    autograd_fallback,
    foreach_autograd,
    not_implemented_fallback,
    variable_type_manual,
)
from dispatchviz.core.autograd.variables import set_storage_autograd
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.autocast import autocast_kernels
from dispatchviz.core.layers.functionalization import functional_variants
from dispatchviz.core.layers.functionalization import functionalize_fallback as functionalize
from dispatchviz.core.layers.functionalization import functionalize_kernels as functionalize_kernels
from dispatchviz.core.layers.functorch import functorch_registrations as functorch
from dispatchviz.core.layers.math_bits import conj_neg_fallback
from dispatchviz.core.layers.meta import meta_factories, meta_fallback, meta_registrations
from dispatchviz.core.layers.zero_tensor import zero_tensor_fallback
from dispatchviz.core.native.factories import zero_tensor
from dispatchviz.core.native.memory import record_function
from dispatchviz.core.python_side import python_dispatcher, python_fallback
from dispatchviz.core.table.operator_entry import OperatorEntry

K = DispatchKey

Fallback = Callable[[OperatorEntry, int, list[Any]], None]
"""A boxed kernel: ``function(op, ks, stack)``."""

KERNELS: dict[DispatchKey, Mapping[str, Callable[..., Any]]] = {
    K.Autograd: (
        variable_type_manual.AUTOGRAD_KERNELS
        | list_nodes.AUTOGRAD_KERNELS
        | foreach_autograd.AUTOGRAD_KERNELS
        | set_storage_autograd.AUTOGRAD_KERNELS
        | functional_variants.AUTOGRAD
    ),
    K.ADInplaceOrView: variable_type_manual.INPLACE_OR_VIEW_KERNELS | list_nodes.INPLACE_OR_VIEW_KERNELS,
    K.ZeroTensor: zero_tensor.KERNELS,
    K.Functionalize: functionalize_kernels.kernels() | functionalize.KERNELS,
    K.Meta: functional_variants.META | meta_factories.KERNELS | meta_registrations.KERNELS,
    K.CompositeExplicitAutograd: functional_variants.COMPOSITE_EXPLICIT_AUTOGRAD,
    K.CompositeExplicitAutogradNonFunctional: functional_variants.COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL,
    **autocast_kernels.KERNELS,
    **functorch.KERNELS,
}
"""Key -> operator's name without ``aten::`` -> typed kernel ``function(ks, *args)``; goes before generated ones."""

BOXED_KERNELS: dict[str, Fallback] = {
    "autogradNotImplementedFallback": not_implemented_fallback.autograd_not_implemented_fallback,
    "autogradNotImplementedInplaceOrViewFallback": (
        not_implemented_fallback.autograd_not_implemented_inplace_or_view_fallback
    ),
    **functorch.BOXED_KERNELS,
    **record_function.BOXED_KERNELS,
}
"""PyTorch's name of a boxed kernel of single operators (``registrations``) -> ours."""

FALLBACKS: dict[str, Fallback] = {
    "autograd_fallback": autograd_fallback.autograd_fallback,
    "conjugateFallback": conj_neg_fallback.conjugate_fallback,
    "negationFallback": conj_neg_fallback.negation_fallback,
    "zeroTensorFallback": zero_tensor_fallback.zero_tensor_fallback,
    "pythonFallback": python_fallback.python_fallback,
    "pythonTLSSnapshotFallback": python_fallback.python_tls_snapshot_fallback,
    "preDispatchFallback": python_fallback.pre_dispatch_fallback,
    "pythonDispatcherFallback": python_dispatcher.python_dispatcher_fallback,
    "functionalizeFallback": functionalize.functionalize_fallback,
    "metaFallback": meta_fallback.meta_fallback,
    **functorch.FALLBACKS,
}
"""PyTorch's name of a backend fallback (``kernel_names.fallback_name``) -> ours."""
