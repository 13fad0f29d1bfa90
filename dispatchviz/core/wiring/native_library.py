"""The functions that implement PyTorch's kernels, set when an operator is first used, and its fallbacks, set at once.

Importing this module registers the backend fallbacks of the process. What PyTorch has registered and we have no
function for is registered too, and says so when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
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
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.tracer.trace_type import trace_type
from dispatchviz.core.table.pytorch_registrations import pytorch_fallbacks
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
"""Which generated table goes under which key."""


def functions(name: str) -> dict[DispatchKey, Callable[..., Any]]:
    """Our typed functions for an operator, by key; ``name`` is without ``aten::``."""
    found = {key: module.KERNELS[name] for key, module in GENERATED.items() if name in module.KERNELS}
    for composite in (DispatchKey.CompositeExplicitAutograd, DispatchKey.CompositeExplicitAutogradNonFunctional):
        # NB: in PyTorch many of these have a Python decomposition at Meta; ours is the composite, which is what it
        # decomposes
        if composite in found:
            found.setdefault(DispatchKey.Meta, found[composite])
    found |= {key: table[name] for key, table in hand_written_kernels.KERNELS.items() if name in table}
    return found | {DispatchKey.Tracer: trace_type(name)} if found else {}


def with_functions(name: str, kernels: Mapping[DispatchKey, list[Kernel]]) -> dict[DispatchKey, list[Kernel]]:
    """PyTorch's kernels of an operator, newest first under each key, and our functions behind those that we have."""
    ours = functions(name.removeprefix("aten::"))
    for module in (variable_type, inplace_or_view):
        if (kernel := module.KERNELS.get(name.removeprefix("aten::"))) is not None:
            guard_fusion.fuse(kernel)
    implicit = ours.get(DispatchKey.CompositeImplicitAutograd)
    if implicit is not None:
        ours.setdefault(DispatchKey.FuncTorchBatchedDecomposition, implicit)  # ``OP_DECOMPOSE``
    return {
        key: [_implemented(front, ours.get(key)), *map(_implemented, rest)] for key, (front, *rest) in kernels.items()
    }


def _implemented(kernel: Kernel, function: Callable[..., Any] | None = None) -> Kernel:
    """Only the newest kernel of a key is active: typed functions are for that one."""
    boxed = hand_written_kernels.BOXED_KERNELS.get(kernel.name)
    if boxed is not None:
        return replace(kernel, function=boxed, boxed=True)
    return kernel if kernel.fallthrough or function is None else replace(kernel, function=function, boxed=False)


def _fallback(kernel: Kernel) -> Kernel:
    function = hand_written_kernels.FALLBACKS.get(kernel.name)
    return kernel if function is None else replace(kernel, function=function)


process.set_fallbacks({key: _fallback(kernel) for key, kernel in pytorch_fallbacks()})
