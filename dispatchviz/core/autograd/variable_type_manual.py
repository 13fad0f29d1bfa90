"""Autograd kernels that PyTorch too writes by hand (``torch/csrc/autograd/VariableTypeManual.cpp``).

``AUTOGRAD_KERNELS`` go under the alias Autograd, ``INPLACE_OR_VIEW_KERNELS`` under ADInplaceOrView.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.checks import check_inplace, never_differentiable
from dispatchviz.core.autograd.copy_nodes import CopyBackwards
from dispatchviz.core.autograd.requires_grad_flag import detach_ as forget_history
from dispatchviz.core.autograd.variable import (
    collect_next_edges,
    compute_requires_grad,
    increment_version,
    requires_grad,
)
from dispatchviz.core.autograd.views import rebase_history
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd
from dispatchviz.core.keyset import after_ADInplaceOrView_keyset, after_autograd_keyset
from dispatchviz.core.tensor import Size, Tensor


def copy_(ks: int, self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """Two edges, always: to what self was, and to src."""
    grad_fn: CopyBackwards | None = None
    op_requires_grad = compute_requires_grad(self, src) and self._dtype.can_require_grad
    check_inplace(self, op_requires_grad)
    if op_requires_grad:
        grad_fn = CopyBackwards()
        collect_next_edges(grad_fn, self, src)
        grad_fn.src_dtype = src._dtype
        grad_fn.src_device = src._device
    with AutoDispatchBelowAutograd():
        ops.copy_.redispatch(ks & after_autograd_keyset, self, src, non_blocking)
    if grad_fn is not None:
        rebase_history(self, grad_fn)
    return self


def detach(ks: int, self: Tensor) -> Tensor:
    """An alias without history."""
    never_differentiable()
    with AutoDispatchBelowAutograd():
        return ops.detach.redispatch(ks & after_autograd_keyset, self)


def detach_(ks: int, self: Tensor) -> Tensor:
    """Changes fields only; nothing is redispatched. RuntimeError for a view."""
    return forget_history(self)


def resize_(ks: int, self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """RuntimeError for a tensor that requires grad."""
    if requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    with AutoDispatchBelowAutograd():
        ops.resize_.redispatch(ks & after_autograd_keyset, self, size, memory_format)
    return self


def copy_below(ks: int, self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """Counts the write."""
    with AutoDispatchBelowADInplaceOrView():
        ops.copy_.redispatch(ks & after_ADInplaceOrView_keyset, self, src, non_blocking)
    increment_version(self)
    return self


def detach_below(ks: int, self: Tensor) -> Tensor:
    """Not ``as_view``: for autograd the result is no view, although it shares memory and version."""
    with AutoDispatchBelowADInplaceOrView():
        result = ops.detach.redispatch(ks & after_ADInplaceOrView_keyset, self)
    result._version_counter = self._version_counter
    return result


def resize_below(ks: int, self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """Counts only if the size changed."""
    before = self._size
    with AutoDispatchBelowADInplaceOrView():
        ops.resize_.redispatch(ks & after_ADInplaceOrView_keyset, self, size, memory_format)
    if self._size != before:
        increment_version(self)
    return self


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    "copy_": copy_,
    "detach": detach,
    "detach_": detach_,
    "resize_": resize_,
}

INPLACE_OR_VIEW_KERNELS: dict[str, Callable[..., Any]] = {
    "copy_": copy_below,
    "detach": detach_below,
    "resize_": resize_below,
}
"""``detach_`` has no kernel there in PyTorch either."""
