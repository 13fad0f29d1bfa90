"""Functional variants of in-place operators, for functionalization. ``*_copy`` operators are in
``native/views/view_copy.py``.

This module mirrors the code that PyTorch generates, and ``Copy.cpp``. These are PyTorch's operators with the kernels
below; the model has no Python functions for them.

NB: in PyTorch, they can be differentiated. Here only functionalization calls them, below autograd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.variables.variable import compute_requires_grad
from dispatchviz.core.call import dispatcher
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import after_autograd_keyset
from dispatchviz.core.layers.functionalization.operator_calls import call, operator
from dispatchviz.core.native.views.select_scatter import clone_preserve_strides, select_scatter_symint, slice_scatter
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView

Kernel = Callable[..., Any]


def copy(ks: int, self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """Return a copy of ``src`` with the shape and dtype of ``self``."""
    return ops.copy_.call(clone_preserve_strides(self), src, non_blocking)


def _functional(in_place: str) -> Kernel:
    """Return a kernel that writes to a copy of ``self``."""

    def run(ks: int, self: Tensor, *args: Any) -> Any:
        return call(in_place, ops.clone.call(self, None), *args)

    return run


_SCATTERS: dict[str, Callable[..., Tensor]] = {"select_scatter": select_scatter_symint, "slice_scatter": slice_scatter}
"""Operators whose Meta kernels are the composites too."""
_FUNCTIONAL = {"zero": "zero_", "normal_functional": "normal_", "uniform": "uniform_", "resize": "resize_"}

COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL: dict[str, Kernel] = {
    "copy": copy,
}
"""The kernels by operator's name without ``aten::``."""

COMPOSITE_EXPLICIT_AUTOGRAD: dict[str, Kernel] = {n: _functional(in_place) for n, in_place in _FUNCTIONAL.items()}
"""The kernels of the alias CompositeExplicitAutograd."""


_WITHOUT_META = ("normal_functional", "resize")
"""Operators without a Meta kernel in PyTorch. The composite runs for Meta too."""


def _without_keys(kernel: Kernel) -> Kernel:
    def run(ks: int, *args: Any) -> Any:
        return kernel(*args)

    return run


META: dict[str, Kernel] = {name: _without_keys(kernel) for name, kernel in _SCATTERS.items()} | {
    name: kernel
    for name, kernel in {**COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL, **COMPOSITE_EXPLICIT_AUTOGRAD}.items()
    if name not in _WITHOUT_META
}
"""Kernels for Meta.

NB: in PyTorch, these are decompositions in Python. Here they are the composites, which do the same.
"""


def _autograd(name: str) -> Kernel:
    """Return a kernel that redispatches, and raises NotImplementedError if a gradient would be needed."""

    def run(ks: int, *args: Any) -> Any:
        if compute_requires_grad(*(value for value in args if isinstance(value, Tensor))):
            raise NotImplementedError(f"the derivative of aten::{name} is not part of dispatchviz's model")
        with AutoDispatchBelowADInplaceOrView():
            return dispatcher.redispatch(operator(name), ks & after_autograd_keyset)(ks & after_autograd_keyset, *args)

    return run


AUTOGRAD: dict[str, Kernel] = {
    name: _autograd(name) for name in (*COMPOSITE_EXPLICIT_AUTOGRAD_NON_FUNCTIONAL, *COMPOSITE_EXPLICIT_AUTOGRAD)
}
"""The autograd kernels of the operators above."""
