"""The functions that implement the kernels and backend fallbacks that PyTorch, too, writes by hand.

They are tables that are read when a kernel first runs (``native_library.py``). Each table loads only the modules that
it needs. The functions themselves are in the modules of their subjects. Generated functions are not listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
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
from dispatchviz.core.layers.autocast import autocast_kernels, autocast_policies
from dispatchviz.core.layers.functionalization import functional_variants
from dispatchviz.core.layers.functionalization import functionalize_fallback as functionalize
from dispatchviz.core.layers.functionalization import functionalize_kernels as functionalize_kernels
from dispatchviz.core.layers.functorch import dynamic_layer, loop_fallback, tensor_wrapper
from dispatchviz.core.layers.functorch import functorch_registrations as functorch
from dispatchviz.core.layers.math_bits import conj_neg_fallback
from dispatchviz.core.layers.meta import (
    meta_decompositions,
    meta_factories,
    meta_fallback,
    meta_fft,
    meta_registrations,
    meta_shapes,
)
from dispatchviz.core.layers.zero_tensor import zero_tensor_fallback
from dispatchviz.core.native.factories import zero_tensor
from dispatchviz.core.native.memory import record_function
from dispatchviz.core.python_side import python_dispatcher, python_fallback
from dispatchviz.core.table.operator_entry import OperatorEntry

K = DispatchKey

FUNCTORCH_KEYS = (
    *(K.FuncTorchBatched, K.FuncTorchBatchedDecomposition),
    *(K.FuncTorchVmapMode, K.FuncTorchDynamicLayerFrontMode),
)
"""The keys with a table in ``functorch_registrations.py``."""

Fallback = Callable[[OperatorEntry, int, list[Any]], None]
"""A boxed kernel: ``function(op, ks, stack)``."""

Kernels = Mapping[str, Callable[..., Any]]


class _ByKey(Mapping[DispatchKey, Kernels]):
    """Tables that are built on first use, each with the modules of its kernels."""

    def __init__(self, builders: Mapping[DispatchKey, Callable[[], Kernels]]) -> None:
        self._builders = builders
        self._built: dict[DispatchKey, Kernels] = {}

    def __getitem__(self, key: DispatchKey) -> Kernels:
        if key not in self._built:
            self._built[key] = self._builders[key]()
        return self._built[key]

    def __iter__(self) -> Iterator[DispatchKey]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


def _autocast(key: DispatchKey) -> Callable[[], Kernels]:
    return lambda: autocast_kernels.KERNELS[key]


def _functorch(key: DispatchKey) -> Callable[[], Kernels]:
    return lambda: functorch.KERNELS[key]


KERNELS: Mapping[DispatchKey, Kernels] = _ByKey(
    {
        K.Autograd: lambda: (
            variable_type_manual.AUTOGRAD_KERNELS
            | list_nodes.AUTOGRAD_KERNELS
            | foreach_autograd.AUTOGRAD_KERNELS
            | set_storage_autograd.AUTOGRAD_KERNELS
            | functional_variants.AUTOGRAD
        ),
        K.ADInplaceOrView: lambda: variable_type_manual.INPLACE_OR_VIEW_KERNELS | list_nodes.INPLACE_OR_VIEW_KERNELS,
        K.ZeroTensor: lambda: zero_tensor.KERNELS,
        K.Functionalize: lambda: functionalize_kernels.kernels() | functionalize.KERNELS,
        K.Meta: lambda: (
            functional_variants.META
            | meta_factories.KERNELS
            | meta_registrations.KERNELS
            | meta_decompositions.KERNELS
            | meta_shapes.KERNELS
            | meta_fft.KERNELS
        ),
        K.CompositeExplicitAutograd: lambda: functional_variants.COMPOSITE_EXPLICIT_AUTOGRAD,
        K.CompositeExplicitAutogradNonFunctional: (
            lambda: functional_variants.COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL
        ),
        **{key: _autocast(key) for key in autocast_policies.POLICIES},
        **{key: _functorch(key) for key in FUNCTORCH_KEYS},
    }
)
"""The typed kernels ``function(ks, *args)`` by key and by operator's name without ``aten::``. They take precedence over
generated ones.
"""


def boxed_kernel(name: str) -> Fallback:
    """Our function for PyTorch's name of a boxed kernel of single operators (``registrations``). Raise KeyError if
    there is none.
    """
    return boxed_kernels()[name]


@cache
def boxed_kernels() -> dict[str, Fallback]:
    """Our functions by PyTorch's names of the boxed kernels of single operators."""
    return {
        "autogradNotImplementedFallback": not_implemented_fallback.autograd_not_implemented_fallback,
        "autogradNotImplementedInplaceOrViewFallback": (
            not_implemented_fallback.autograd_not_implemented_inplace_or_view_fallback
        ),
        **functorch.BOXED_KERNELS,
        **record_function.BOXED_KERNELS,
    }


FALLBACKS: dict[str, Callable[[], Fallback]] = {
    "autograd_fallback": lambda: autograd_fallback.autograd_fallback,
    "conjugateFallback": lambda: conj_neg_fallback.conjugate_fallback,
    "negationFallback": lambda: conj_neg_fallback.negation_fallback,
    "zeroTensorFallback": lambda: zero_tensor_fallback.zero_tensor_fallback,
    "pythonFallback": lambda: python_fallback.python_fallback,
    "pythonTLSSnapshotFallback": lambda: python_fallback.python_tls_snapshot_fallback,
    "preDispatchFallback": lambda: python_fallback.pre_dispatch_fallback,
    "pythonDispatcherFallback": lambda: python_dispatcher.python_dispatcher_fallback,
    "functionalizeFallback": lambda: functionalize.functionalize_fallback,
    "metaFallback": lambda: meta_fallback.meta_fallback,
    "dynamicLayerFrontFallback": lambda: dynamic_layer.dynamic_layer_front_fallback,
    "dynamicLayerBackFallback": lambda: dynamic_layer.dynamic_layer_back_fallback,
    "batchedTensorForLoopFallback": lambda: loop_fallback.batched_tensor_for_loop_fallback,
    "dead_tensor_wrapper_fallback": lambda: tensor_wrapper.dead_tensor_wrapper_fallback,
}
"""The places of our functions by PyTorch's names of the backend fallbacks (``kernel_names.fallback_name``)."""


def fallback(name: str) -> Fallback:
    """Our function for PyTorch's name of a backend fallback. Raise KeyError if there is none."""
    return FALLBACKS[name]()
