"""Batch rules of ``gather``, ``scatter``, ``scatter_add``, ``select_scatter`` (``BatchRulesScatterOps.cpp``).

All tensors get the batch dimension in front, and those of 0-dim examples a dimension for the index. Operators with one
row of indices are in ``batch_rules_index_dim.py``, those with lists in ``batch_rules_index.py``. ``masked_fill`` is
pointwise.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
    physical_dim,
    rank_without_batch_dim,
    vmap_incompatible_inplace_error,
)
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_index_dim import as_0d, at_least_1d, expanded_index
from dispatchviz.core.layers.functorch.plumbing import (
    Batched,
    BatchRule,
    Kernel,
    call_operator,
    plumbed,
    plumbed_inplace,
)
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Tensor


def _in_front(*batched: Batched) -> list[Tensor]:
    """Move all batch dimensions to the front, then give 0-dim examples a dimension, then expand, in this order as C++
    does.
    """
    size = batch_size(*batched)
    moved = [move_batch_dim_to_front(tensor, bdim) for tensor, bdim in batched]
    ranked = [at_least_1d(tensor, one) for tensor, one in zip(moved, batched, strict=True)]
    return [ensure_has_bdim(tensor, bdim is not None, size) for tensor, (_, bdim) in zip(ranked, batched, strict=True)]


# -- gather, scatter ---------------------------------------------------------------------------------------------------


def gather(
    self: Tensor, self_bdim: int | None, dim: int, index: Tensor, index_bdim: int | None, sparse_grad: bool
) -> Batched:
    """Gather. The result has the index's rank."""
    first, second = _in_front((self, self_bdim), (index, index_bdim))
    result = ops.gather.call(first, physical_dim(first, True, dim), second, sparse_grad)
    return as_0d(result, rank_without_batch_dim(index, index_bdim)), 0


def scatter_value(name: str) -> BatchRule:
    """Return the rule for a number (``scatter_value_batch_rule``). The result has self's rank."""

    def rule(
        self: Tensor,
        self_bdim: int | None,
        dim: int,
        index: Tensor,
        index_bdim: int | None,
        value: Scalar,
        *how: Any,
    ) -> Batched:
        first, second = _in_front((self, self_bdim), (index, index_bdim))
        result = call_operator(find(f"aten::{name}"), (first, physical_dim(first, True, dim), second, value, *how))
        return as_0d(result, rank_without_batch_dim(self, self_bdim)), 0

    return rule


def scatter(name: str) -> BatchRule:
    """Return the rule for a tensor of values (``scatter_batch_rule``). The result has self's rank."""

    def rule(
        self: Tensor,
        self_bdim: int | None,
        dim: int,
        index: Tensor,
        index_bdim: int | None,
        src: Tensor,
        src_bdim: int | None,
        *how: Any,
    ) -> Batched:
        first, second, values = _in_front((self, self_bdim), (index, index_bdim), (src, src_bdim))
        result = call_operator(find(f"aten::{name}"), (first, physical_dim(first, True, dim), second, values, *how))
        return as_0d(result, rank_without_batch_dim(self, self_bdim)), 0

    return rule


def scatter_add_(self: Tensor, self_bdim: int | None, *rest: Any) -> None:
    """Scatter in place. Raise RuntimeError if something is batched and self is not."""
    if self_bdim is None:
        vmap_incompatible_inplace_error("scatter_add_")
    scatter("scatter_add_")(self, self_bdim, *rest)


def scatter_reduce_(self: Tensor, self_bdim: int | None, *rest: Any) -> None:
    """Scatter in place. Raise RuntimeError if something is batched and self is not."""
    if self_bdim is None:
        vmap_incompatible_inplace_error("scatter_reduce_")
    scatter("scatter_reduce_.two")(self, self_bdim, *rest)


# -- writing a view ----------------------------------------------------------------------------------------------------


def diagonal_scatter(
    self: Tensor, self_bdim: int | None, src: Tensor, src_bdim: int | None, offset: int, dim1: int, dim2: int
) -> Batched:
    """Give both tensors the batch dimension."""
    moved = move_batch_dim_to_front(self, self_bdim), move_batch_dim_to_front(src, src_bdim)
    size = batch_size((self, self_bdim), (src, src_bdim))
    first = ensure_has_bdim(moved[0], self_bdim is not None, size)
    second = ensure_has_bdim(moved[1], src_bdim is not None, size)
    rank = rank_without_batch_dim(self, self_bdim)
    indices = wrap_dim(dim1, rank) + 1, wrap_dim(dim2, rank) + 1
    return ops.diagonal_scatter.call(first, second, offset, *indices), 0


def select_scatter_decomp(ks: int, self: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
    """Call ``scatter`` with one index for all, on the batched tensors themselves."""
    length = self._size[wrap_dim(dim, len(self._size))]
    indices = ops.scalar_tensor.call(wrap_dim(index, length), int64, "strided", self._device, None)
    values = ops.expand_as.call(ops.unsqueeze.call(source, dim), self)
    return ops.scatter_src.call(self, dim, ops.expand_as.call(indices, self), values)


def slice_scatter_decomp(
    ks: int, self: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """Call ``scatter`` with the slice's indices, on the batched tensors themselves."""
    length = self._size[wrap_dim(dim, len(self._size))]
    bounds = start or 0, length if end is None else end
    indices = ops.arange_start_step.call(*bounds, step, int64, "strided", self._device, None)
    return ops.scatter_src.call(self, dim, expanded_index(indices, self._size, dim), src)


KERNELS: dict[str, Kernel] = {
    "gather": plumbed("gather", gather),
    **{name: plumbed(name, scatter_value(name)) for name in ("scatter.value", "scatter.value_reduce")},
    **{name: plumbed(name, scatter(name)) for name in ("scatter.reduce", "scatter_reduce.two")},
    "scatter.src": plumbed("scatter.src", scatter("scatter.src")),
    "scatter_add": plumbed("scatter_add", scatter("scatter_add")),
    "scatter_reduce_.two": plumbed_inplace("scatter_reduce_.two", scatter_reduce_),
    "diagonal_scatter": plumbed("diagonal_scatter", diagonal_scatter),
    "select_scatter": select_scatter_decomp,
    "slice_scatter": slice_scatter_decomp,
    "scatter_add_": plumbed_inplace("scatter_add_", scatter_add_),
}
"""Kernels for FuncTorchBatched."""
