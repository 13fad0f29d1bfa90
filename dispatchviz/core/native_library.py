"""Registers every kernel of the process: PyTorch's registrations, with our functions behind those that we have.

Importing this module does it, once. The model is a CUDA build: CUDA kernels are registered where native_functions.yaml
has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from dispatchviz.core import aten as _aten  # noqa: F401  defines the operators
from dispatchviz.core import hand_written
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
from dispatchviz.core.kernel import Kernel
from dispatchviz.core.kernel_names import kernel_name
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.library import Library, operators
from dispatchviz.core.operator import OperatorEntry
from dispatchviz.core.registrations import CUDA_DEBUG, is_structured, pytorch_fallbacks, pytorch_registrations

_MODULES: dict[DispatchKey, ModuleType] = {
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

def _ours(name: str) -> dict[DispatchKey, Callable[..., Any]]:
    """Our functions for an operator, by key."""
    found = {key: module.KERNELS[name] for key, module in _MODULES.items() if name in module.KERNELS}
    if DispatchKey.Meta not in found and DispatchKey.CompositeExplicitAutograd in found:
        # NB: in PyTorch many of these have a Python decomposition at Meta; ours is the composite, which is what it
        # decomposes
        found[DispatchKey.Meta] = found[DispatchKey.CompositeExplicitAutograd]
    return found | {key: table[name] for key, table in hand_written.KERNELS.items() if name in table}


def _register(op: OperatorEntry) -> None:
    short = op.name.removeprefix("aten::")
    ours = _ours(short)
    structured = is_structured(op.name)
    kernels: list[tuple[DispatchKey, Kernel]] = []
    for key, kernel in pytorch_registrations(op.name):
        function = ours.pop(key, None)  # only the newest kernel of a key is active, and that is the first
        kernels.append((key, kernel if function is None else replace(kernel, function=function, boxed=False)))
    if DispatchKey.CUDA in ours:
        name = kernel_name(op.name, "CUDA", CUDA_DEBUG, structured)
        kernels.append((DispatchKey.CUDA, Kernel(name, ours.pop(DispatchKey.CUDA), CUDA_DEBUG)))
    ours.pop(DispatchKey.Meta, None)
    not_in_pytorch[op.name] = sorted(key.name for key in ours)
    for key, kernel in reversed(kernels):
        op.register(key, kernel)


not_in_pytorch: dict[str, list[str]] = {}
"""Keys under which the yaml has a kernel for an operator and PyTorch has none: empty lists, tested."""


def _register_everything() -> None:
    fallbacks = Library("IMPL", "_", where="dispatchviz")
    for key, kernel in pytorch_fallbacks():
        mine = hand_written.FALLBACKS.get(kernel.name)
        fallbacks.fallback(kernel if mine is None else replace(kernel, function=mine), key)
    for op in operators.values():
        _register(op)


_register_everything()
