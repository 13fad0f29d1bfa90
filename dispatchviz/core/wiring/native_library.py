"""The functions that implement PyTorch's kernels and its fallbacks, found when a kernel first runs.

Importing this module makes PyTorch's operators known to the process and registers its backend fallbacks. Kernels of
PyTorch without a function here are registered too, and raise an error when they are called.
``generated/implemented.py`` lists the kernels that have a function, so that none has to be loaded to know it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from dispatchviz.core.call import guard_fusion
from dispatchviz.core.generated import (
    inplace_or_view,
    register_backend_select,
    register_composite_explicit_autograd,
    register_composite_explicit_autograd_non_functional,
    register_composite_implicit_autograd,
    register_cpu,
    register_cuda,
    register_meta,
    variable_type,
)
from dispatchviz.core.kernel.kernel_function import Deferred, Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.tracer.trace_type import trace_type
from dispatchviz.core.table.pytorch_registrations import (
    PyTorch,
    boxed_kernels,
    implemented,
    implemented_fallbacks,
    pytorch_fallbacks,
)
from dispatchviz.core.table.registry import process
from dispatchviz.core.wiring import hand_written_kernels

GENERATED: dict[DispatchKey, ModuleType] = {
    DispatchKey.CPU: register_cpu,
    DispatchKey.CUDA: register_cuda,
    DispatchKey.Meta: register_meta,
    DispatchKey.CompositeExplicitAutograd: register_composite_explicit_autograd,
    DispatchKey.CompositeExplicitAutogradNonFunctional: register_composite_explicit_autograd_non_functional,
    DispatchKey.CompositeImplicitAutograd: register_composite_implicit_autograd,
    DispatchKey.BackendSelect: register_backend_select,
    DispatchKey.Autograd: variable_type,
    DispatchKey.ADInplaceOrView: inplace_or_view,
}
"""The generated table of each key."""

_COMPOSITES = (DispatchKey.CompositeExplicitAutograd, DispatchKey.CompositeExplicitAutogradNonFunctional)


def functions(name: str) -> dict[DispatchKey, Callable[..., Any]]:
    """Our typed functions for an operator, by key. All of them are loaded. ``name`` is without ``aten::``."""
    keys = dict.fromkeys((*GENERATED, *hand_written_kernels.KERNELS))
    found = {key: ours for key in keys if (ours := function(name, key)) is not None}
    return found | {DispatchKey.Tracer: trace_type(name)} if found else {}


def function(name: str, key: DispatchKey) -> Callable[..., Any] | None:
    """Our typed function for an operator's kernel under a key; None if there is none."""
    if key is DispatchKey.Tracer:
        return trace_type(name)
    found = hand_written_kernels.KERNELS.get(key, {}).get(name) or _generated(name, key)
    if found is None and key is DispatchKey.Meta:
        # NB: PyTorch has Python decompositions of many of these at Meta; they do the same as the composite kernel
        return _generated(name, _COMPOSITES[0]) or _generated(name, _COMPOSITES[1])
    return found


def kernel_function(name: str, key: DispatchKey) -> Callable[..., Any] | None:
    """The same function, or the composite that ``OP_DECOMPOSE`` registers and by which functorch decomposes the
    operator.
    """
    found = function(name, key)
    if found is None and key is DispatchKey.FuncTorchBatchedDecomposition:
        return function(name, DispatchKey.CompositeImplicitAutograd)
    return found


def _generated(name: str, key: DispatchKey) -> Callable[..., Any] | None:
    module = GENERATED.get(key)
    found: FunctionType | None = None if module is None else module.KERNELS.get(name)
    if found is not None and key in (DispatchKey.Autograd, DispatchKey.ADInplaceOrView):
        guard_fusion.fuse(found)
    return found


def written_by_hand() -> tuple[Collection[str], Collection[str]]:
    """PyTorch's names of the fallbacks and of the boxed kernels for which we have functions."""
    return hand_written_kernels.FALLBACKS.keys(), hand_written_kernels.boxed_kernels().keys()


def with_functions(name: str, kernels: Mapping[DispatchKey, list[Kernel]]) -> dict[DispatchKey, list[Kernel]]:
    """PyTorch's kernels of an operator, newest first for each key, with our functions where we have them.

    Only the newest kernel of a key is active, so only that one gets a typed function.
    """
    ours, base = implemented(name), name.removeprefix("aten::")
    return {
        key: [_typed(front, base, key) if key in ours else front, *map(_boxed, rest)]
        for key, (front, *rest) in kernels.items()
    }


def _typed(kernel: Kernel, name: str, key: DispatchKey) -> Kernel:
    if kernel.name in boxed_kernels():
        return _boxed(kernel)
    return (
        kernel
        if kernel.fallthrough
        else kernel.with_function(Deferred(partial(kernel_function, name, key)), boxed=False)
    )


def _boxed(kernel: Kernel) -> Kernel:
    if kernel.name not in boxed_kernels():
        return kernel
    return kernel.with_function(Deferred(lambda: hand_written_kernels.boxed_kernel(kernel.name)), boxed=True)


def _fallback(key: DispatchKey, kernel: Kernel) -> Kernel:
    if key not in implemented_fallbacks():
        return kernel
    return kernel.with_function(Deferred(lambda: hand_written_kernels.fallback(kernel.name)))


class Implemented(PyTorch):
    """PyTorch's operators, with our functions behind the kernels that we have."""

    def registrations(self, name: str) -> dict[DispatchKey, list[Kernel]]:
        """Return the kernels per key or alias, newest first."""
        return with_functions(name, super().registrations(name))


process.adopt(Implemented())
process.set_fallbacks({key: _fallback(key, kernel) for key, kernel in pytorch_fallbacks()})
