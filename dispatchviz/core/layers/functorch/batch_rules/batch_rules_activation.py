"""Batch rules of ``glu``, ``glu_backward`` (``BatchRulesActivation.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
    rank_without_batch_dim,
)
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, plumbed
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Tensor


def glu(self: Tensor, bdim: int, dim: int) -> Batched:
    """Apply ``glu`` to each example. Raise RuntimeError for 0-dim examples."""
    _check_rank(self)
    axis = wrap_dim(dim, rank_without_batch_dim(self, bdim)) + 1
    return ops.glu.call(move_batch_dim_to_front(self, bdim), axis), 0


def _check_rank(self: Tensor) -> None:
    if len(self._size) <= 1:
        raise RuntimeError("glu does not support 0-dimensional tensors")


def glu_backward(grad: Tensor, grad_bdim: int | None, self: Tensor, self_bdim: int | None, dim: int) -> Batched:
    """Give both tensors the batch dimension."""
    if self_bdim is not None:
        _check_rank(self)
    axis = wrap_dim(dim, rank_without_batch_dim(self, self_bdim)) + 1
    size = batch_size((grad, grad_bdim), (self, self_bdim))
    grads = ensure_has_bdim(move_batch_dim_to_front(grad, grad_bdim), grad_bdim is not None, size)
    inputs = ensure_has_bdim(move_batch_dim_to_front(self, self_bdim), self_bdim is not None, size)
    return ops.glu_backward.call(grads, inputs, axis), 0


KERNELS: dict[str, Kernel] = {"glu": plumbed("glu", glu), "glu_backward": plumbed("glu_backward", glu_backward)}
"""Kernels for FuncTorchBatched."""
