"""Batch rules of gathering and scattering along one dimension (``BatchRulesScatterOps.cpp``).

All tensors get the batch dimension in front, those of 0-dim examples a dimension for the index. Indexing with lists of
tensors is in ``batch_rules_index.py``; ``masked_fill`` is pointwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.core.aten import find
from dispatchviz.core.functorch.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
    physical_dim,
    rank_without_batch_dim,
    vmap_incompatible_inplace_error,
)
from dispatchviz.core.functorch.plumbing import Batched, BatchRule, Kernel, call_operator, plumbed, plumbed_inplace
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.dims import wrap_dim
from dispatchviz.core.native.scalars import Scalar
from dispatchviz.core.tensor import Size, Tensor


def _in_front(*batched: Batched) -> list[Tensor]:
    """Step by step for all, as C++ does it: moved, given a dimension if 0-dim, expanded."""
    size = batch_size(*batched)
    moved = [move_batch_dim_to_front(tensor, bdim) for tensor, bdim in batched]
    ranked = [_at_least_1d(tensor, one) for tensor, one in zip(moved, batched, strict=True)]
    return [ensure_has_bdim(tensor, bdim is not None, size) for tensor, (_, bdim) in zip(ranked, batched, strict=True)]


def _at_least_1d(moved: Tensor, batched: Batched) -> Tensor:
    return moved if rank_without_batch_dim(*batched) else ops.unsqueeze.call(moved, -1)


def _as_0d(result: Tensor, rank: int) -> Tensor:
    return result if rank else ops.squeeze_dim.call(result, -1)


# -- gather, scatter ---------------------------------------------------------------------------------------------------


def gather(
    self: Tensor, self_bdim: int | None, dim: int, index: Tensor, index_bdim: int | None, sparse_grad: bool
) -> Batched:
    """The result has the index's rank."""
    first, second = _in_front((self, self_bdim), (index, index_bdim))
    result = ops.gather.call(first, physical_dim(first, True, dim), second, sparse_grad)
    return _as_0d(result, rank_without_batch_dim(index, index_bdim)), 0


def scatter_value(name: str) -> BatchRule:
    """``scatter_value_batch_rule``: the result has self's rank."""

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
        return _as_0d(result, rank_without_batch_dim(self, self_bdim)), 0

    return rule


def scatter(name: str) -> BatchRule:
    """``scatter_batch_rule``, with a tensor of values: the result has self's rank."""

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
        return _as_0d(result, rank_without_batch_dim(self, self_bdim)), 0

    return rule


def scatter_add_(self: Tensor, self_bdim: int | None, *rest: Any) -> None:
    """RuntimeError if something but self is batched."""
    if self_bdim is None:
        vmap_incompatible_inplace_error("scatter_add_")
    scatter("scatter_add_")(self, self_bdim, *rest)


# -- index_select, index_add -------------------------------------------------------------------------------------------


def index_select_decomp(ks: int, self: Tensor, dim: int, index: Tensor) -> Tensor:
    """``gather`` with the index expanded to self's shape; runs on the batched tensors themselves."""
    rank = len(self._size)
    result = ops.gather.call(self, dim, _expanded_index(index, self._size, dim) if rank > len(index._size) else index)
    return ops.squeeze_dim.call(result, -1) if rank == 0 and result._size else result


def _expanded_index(index: Tensor, size: Size, dim: int) -> Tensor:
    """``get_expanded_index``"""
    if not index._size:
        return ops.expand.call(index, size, False)
    place = wrap_dim(dim, len(size))
    count = index._size[0]
    seen = ops.view.call(index, tuple(count if i == place else 1 for i in range(len(size))))
    return ops.expand.call(seen, tuple(count if i == place else length for i, length in enumerate(size)), False)


def index_add(self: Tensor, *rest: Any) -> Batched:
    """Clones self first, though nothing is written to it."""
    whole = ops.clone.call(self, "preserve_format")
    returned = list(_index_add(ops.index_add.call, whole, *rest))
    return (ops.stack.call(returned, 0) if rest[3] is not None else returned[0]), 0


def index_add_(self: Tensor, self_bdim: int | None, *rest: Any) -> None:
    """RuntimeError if self is not batched; for a batched index PyTorch stacks self at the end, for nothing."""
    if self_bdim is None:
        vmap_incompatible_inplace_error("index_add_")
    list(_index_add(ops.index_add_.call, self, self_bdim, *rest))
    if rest[2] is not None:
        ops.stack.call([self], 0)


def _index_add(
    function: Callable[..., Tensor],
    self: Tensor,
    self_bdim: int | None,
    dim: int,
    index: Tensor,
    index_bdim: int | None,
    source: Tensor,
    source_bdim: int | None,
    alpha: Scalar,
) -> Iterator[Tensor]:
    """``index_add_batch_rule_impl``: once for all, or once per example if the index is batched."""
    if index_bdim is None:
        rank = rank_without_batch_dim(self, self_bdim)
        first, values = _in_front_in_turn((self, self_bdim), (source, source_bdim))
        yield _as_0d(function(first, wrap_dim(dim, rank) + 1, index, values, alpha), rank)
        return
    batched = ((self, self_bdim), (source, source_bdim), (index, index_bdim))
    for i in range(batch_size(*batched)):
        one, values, places = (t if bdim is None else ops.select_int.call(t, bdim, i) for t, bdim in batched)
        yield function(one, dim, places, values, alpha)


def _in_front_in_turn(*batched: Batched) -> list[Tensor]:
    """As ``_in_front``, but the first is given a dimension before the second is moved."""
    ranked = [_at_least_1d(move_batch_dim_to_front(*one), one) for one in batched]
    size = batch_size(*batched)
    return [ensure_has_bdim(tensor, bdim is not None, size) for tensor, (_, bdim) in zip(ranked, batched, strict=True)]


KERNELS: dict[str, Kernel] = {
    "gather": plumbed("gather", gather),
    **{name: plumbed(name, scatter_value(name)) for name in ("scatter.value", "scatter.value_reduce")},
    **{name: plumbed(name, scatter(name)) for name in ("scatter.reduce", "scatter_reduce.two")},
    "scatter.src": plumbed("scatter.src", scatter("scatter.src")),
    "scatter_add": plumbed("scatter_add", scatter("scatter_add")),
    "scatter_add_": plumbed_inplace("scatter_add_", scatter_add_),
    "index_select": index_select_decomp,
    "index_add": plumbed("index_add", index_add),
    "index_add_": plumbed_inplace("index_add_", index_add_),
}
"""Under FuncTorchBatched."""
