"""Hand-written autograd kernels: ``copy_``, ``detach``, ``resize_``, ``_fw_primal``, ``_make_dual``
(``torch/csrc/autograd/VariableTypeManual.cpp``).

``AUTOGRAD_KERNELS`` are for the alias Autograd, ``INPLACE_OR_VIEW_KERNELS`` for ADInplaceOrView.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.forward_mode.forward_ad import (
    forward_formula,
    fw_grad,
    is_fw_grad_defined,
    levels,
    set_fw_grad,
)
from dispatchviz.core.autograd.graph.basic_nodes import Identity
from dispatchviz.core.autograd.graph.copy_nodes import CopyBackwards
from dispatchviz.core.autograd.graph.saved_variable import keep
from dispatchviz.core.autograd.variables.requires_grad_flag import detach_ as forget_history
from dispatchviz.core.autograd.variables.variable import (
    collect_next_edges,
    compute_requires_grad,
    increment_version,
    is_inference,
    requires_grad,
    set_history,
)
from dispatchviz.core.autograd.variables.variable_checks import check_inplace
from dispatchviz.core.autograd.variables.view_info import as_view, rebase_history
from dispatchviz.core.generated import nodes
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import after_ADInplaceOrView_keyset, after_autograd_keyset
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import DetachedVersionCounter, Size, Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd


def copy_(ks: int, self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """Copy, with a Node that always has two edges: to the previous history of self, and to src."""
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
    if levels and self._dtype.can_require_grad and is_fw_grad_defined(self, src):
        with forward_formula("src_t"):
            tangent = _copied_tangent(self, src)
        set_fw_grad(self, tangent, is_inplace_op=True)
    return self


def _copied_tangent(self: Tensor, src: Tensor) -> Tensor:
    """Return the tangent of ``self`` after the copy: the existing one, written to, or one made from that of ``src``."""
    self_t, src_t = fw_grad(self), fw_grad(src)
    if self_t is not None:
        return ops.fill__Scalar.call(self_t, 0) if src_t is None else ops.copy_.call(self_t, src_t, False)
    assert src_t is not None, "one of them has a tangent"
    if not ops.is_same_size.call(self, src_t):
        return ops.broadcast_to.call(src_t, self._size)
    return ops.clone.call(src_t, None)


def _fw_primal(ks: int, self: Tensor, level: int) -> Tensor:
    """Return an alias with history and without tangent. Raise RuntimeError if there is a tangent and the level is not
    0.
    """
    grad_fn: Identity | None = None
    if compute_requires_grad(self):
        grad_fn = Identity()
        collect_next_edges(grad_fn, self)
    with AutoDispatchBelowAutograd():
        result = ops._fw_primal.redispatch(ks & after_autograd_keyset, self, level)
    if grad_fn is not None:
        set_history(result, grad_fn)
    if level != 0 and is_fw_grad_defined(self):
        raise RuntimeError("Invalid level given to _fw_primal")
    return result


def _make_dual(ks: int, primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """Return an alias with history and with a tangent. Raise RuntimeError if ``primal`` has one, or the level is not
    0.
    """
    if fw_grad(primal, level) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
            f"{level} is not supported."
        )
    grad_fn: nodes.ViewBackward0 | None = None
    if compute_requires_grad(primal):
        grad_fn = nodes.ViewBackward0()
        grad_fn.self_sym_sizes = keep(grad_fn, "self_sym_sizes", primal._size)
        collect_next_edges(grad_fn, primal)
    with AutoDispatchBelowAutograd():
        result = ops._make_dual.redispatch(ks & after_autograd_keyset, primal, tangent, level)
    if grad_fn is not None:
        set_history(result, grad_fn)
    if level != 0:
        raise RuntimeError("Invalid level given to _make_dual")
    set_fw_grad(result, tangent, level)
    return result


def detach(ks: int, self: Tensor) -> Tensor:
    """Return an alias without history."""
    if recorder.active is not None:
        recorder.active.note(("no_node_made", "detached"))
    with AutoDispatchBelowAutograd():
        return ops.detach.redispatch(ks & after_autograd_keyset, self)


def detach_(ks: int, self: Tensor) -> Tensor:
    """Change fields only, without redispatching. Raise RuntimeError for a view."""
    return forget_history(self)


def resize_(ks: int, self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """Resize. Raise RuntimeError for a tensor that requires grad."""
    if requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    with AutoDispatchBelowAutograd():
        ops.resize_.redispatch(ks & after_autograd_keyset, self, size, memory_format)
    if levels and is_fw_grad_defined(self):
        raise RuntimeError("cannot resize variables that has a forward grad")
    return self


def resize_as_(ks: int, self: Tensor, the_template: Tensor, memory_format: str | None) -> Tensor:
    """Resize. Raise RuntimeError for a tensor that requires grad."""
    if requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    with AutoDispatchBelowAutograd():
        ops.resize_as_.redispatch(ks & after_autograd_keyset, self, the_template, memory_format)
    if levels and is_fw_grad_defined(self):
        raise RuntimeError("cannot resize variables that has a forward grad")
    return self


def copy_below(ks: int, self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """Redispatch and increment the version."""
    with AutoDispatchBelowADInplaceOrView():
        ops.copy_.redispatch(ks & after_ADInplaceOrView_keyset, self, src, non_blocking)
    increment_version(self)
    return self


def detach_below(ks: int, self: Tensor) -> Tensor:
    """Return an alias that is not made by ``as_view``: for autograd it is not a view, although it shares memory and
    version.

    The alias of an inference tensor is an inference tensor too, with a version of its own.
    """
    with AutoDispatchBelowADInplaceOrView():
        result = ops.detach.redispatch(ks & after_ADInplaceOrView_keyset, self)
    result._version_counter = DetachedVersionCounter() if is_inference(self) else self._version_counter
    return result


def fw_primal_below(ks: int, self: Tensor, level: int) -> Tensor:
    """Return a view for backward, not for forward mode. Nothing is redispatched."""
    with AutoDispatchBelowADInplaceOrView():
        result = ops.alias.call(self)
    return as_view(self, result, forward=False)


def make_dual_below(ks: int, primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    """Return a view for backward, not for forward mode. Nothing is redispatched."""
    with AutoDispatchBelowADInplaceOrView():
        result = ops.alias.call(primal)
    return as_view(primal, result, forward=False)


def resize_below(ks: int, self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """Redispatch. Increment the version only if the size changed."""
    before = self._size
    with AutoDispatchBelowADInplaceOrView():
        ops.resize_.redispatch(ks & after_ADInplaceOrView_keyset, self, size, memory_format)
    if self._size != before:
        increment_version(self)
    return self


def resize_as_below(ks: int, self: Tensor, the_template: Tensor, memory_format: str | None) -> Tensor:
    """Redispatch. Increment the version only if the size changed."""
    before = self._size
    with AutoDispatchBelowADInplaceOrView():
        ops.resize_as_.redispatch(ks & after_ADInplaceOrView_keyset, self, the_template, memory_format)
    if self._size != before:
        increment_version(self)
    return self


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    "_fw_primal": _fw_primal,
    "_make_dual": _make_dual,
    "copy_": copy_,
    "detach": detach,
    "detach_": detach_,
    "resize_": resize_,
    "resize_as_": resize_as_,
}

INPLACE_OR_VIEW_KERNELS: dict[str, Callable[..., Any]] = {
    "_fw_primal": fw_primal_below,
    "_make_dual": make_dual_below,
    "copy_": copy_below,
    "detach": detach_below,
    "resize_": resize_below,
    "resize_as_": resize_as_below,
}
"""Kernels for ADInplaceOrView. ``detach_`` has none in PyTorch either."""
