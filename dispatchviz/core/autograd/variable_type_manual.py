"""Autograd kernels written by hand, in PyTorch too (``torch/csrc/autograd/VariableTypeManual.cpp``).

``AUTOGRAD_KERNELS`` go under the alias Autograd, ``INPLACE_OR_VIEW_KERNELS`` under ADInplaceOrView.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.copy_backwards import copy_kernel
from dispatchviz.core.autograd.requires_grad_flag import detach_ as clear_history
from dispatchviz.core.autograd.variable import increment_version
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd
from dispatchviz.core.keyset import after_ADInplaceOrView_keyset, after_autograd_keyset
from dispatchviz.core.tensor import Size, Tensor


def detach(ks: int, self: Tensor) -> Tensor:
    """An alias without history: redispatches, makes no Node."""
    with AutoDispatchBelowAutograd():
        return ops.detach.redispatch(ks & after_autograd_keyset, self)


def detach_(ks: int, self: Tensor) -> Tensor:
    """Takes the history away. It calls no kernel below."""
    return clear_history(self)


def resize_(ks: int, self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """RuntimeError for a tensor that requires grad."""
    if self._requires_grad or self._grad_fn is not None:
        raise RuntimeError("cannot resize variables that require grad")
    with AutoDispatchBelowAutograd():
        ops.resize_.redispatch(ks & after_autograd_keyset, self, size, memory_format)
    return self


def copy_below(ks: int, self: Tensor, src: Tensor, non_blocking: bool) -> Tensor:
    """The version moves after the data was written."""
    with AutoDispatchBelowADInplaceOrView():
        ops.copy_.redispatch(ks & after_ADInplaceOrView_keyset, self, src, non_blocking)
    increment_version(self)
    return self


def detach_below(ks: int, self: Tensor) -> Tensor:
    """No view in the sense of autograd, so nothing is noted."""
    with AutoDispatchBelowADInplaceOrView():
        return ops.detach.redispatch(ks & after_ADInplaceOrView_keyset, self)


def detach__below(ks: int, self: Tensor) -> Tensor:
    """Goes on below."""
    with AutoDispatchBelowADInplaceOrView():
        return ops.detach_.redispatch(ks & after_ADInplaceOrView_keyset, self)


def resize_below(ks: int, self: Tensor, size: Size, memory_format: str | None) -> Tensor:
    """The version moves after the geometry changed."""
    with AutoDispatchBelowADInplaceOrView():
        ops.resize_.redispatch(ks & after_ADInplaceOrView_keyset, self, size, memory_format)
    increment_version(self)
    return self


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    "copy_": copy_kernel,
    "detach": detach,
    "detach_": detach_,
    "resize_": resize_,
}

INPLACE_OR_VIEW_KERNELS: dict[str, Callable[..., Any]] = {
    "copy_": copy_below,
    "detach": detach_below,
    "detach_": detach__below,
    "resize_": resize_below,
}
