"""Batch rules of ``index_select``, ``index_copy``, ``index_add``, ``index_fill`` (``BatchRulesScatterOps.cpp``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
    vmap_incompatible_inplace_error,
)
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, plumbed, plumbed_inplace
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor

# -- index_select, index_copy ------------------------------------------------------------------------------------------


def index_select_decomp(ks: int, self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Call ``gather`` with the index expanded to self's shape, on the batched tensors themselves."""
    rank = len(self._size)
    result = ops.gather.call(self, dim, expanded_index(index, self._size, dim) if rank > len(index._size) else index)
    return ops.squeeze_dim.call(result, -1) if rank == 0 and result._size else result


def expanded_index(index: Tensor, size: Size, dim: int) -> Tensor:
    """The index expanded to the shape of self (``getexpanded_index``)."""
    if not index._size:
        return ops.expand.call(index, size, False)
    axis = wrap_dim(dim, len(size))
    count = index._size[0]
    seen = ops.view.call(index, tuple(count if i == axis else 1 for i in range(len(size))))
    return ops.expand.call(seen, tuple(count if i == axis else length for i, length in enumerate(size)), False)


def index_copy_decomp(ks: int, self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Call ``scatter`` with the index expanded, on the batched tensors themselves."""
    indices = expanded_index(index, self._size, dim) if len(self._size) > len(index._size) else index
    return ops.scatter_src.call(self, dim, indices, source)


# -- index_add ---------------------------------------------------------------------------------------------------------


def index_add(self: Tensor, *rest: Any) -> Batched:
    """Add to a clone of self, although nothing is written to self."""
    whole = ops.clone.call(self, "preserve_format")
    returned = list(_index_add(ops.index_add.call, whole, *rest))
    return (ops.stack.call(returned, 0) if rest[3] is not None else returned[0]), 0


def index_add_(self: Tensor, self_bdim: int | None, *rest: Any) -> None:
    """Add in place. Raise RuntimeError if self is not batched. For a batched index PyTorch stacks self at the end,
    without using the result.
    """
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
    """Yield the results: one for all examples, or one per example if the index is batched
    (``index_add_batch_rule_impl``).
    """
    if index_bdim is None:
        rank = rank_without_batch_dim(self, self_bdim)
        first, values = _in_front_in_turn((self, self_bdim), (source, source_bdim))
        yield as_0d(function(first, wrap_dim(dim, rank) + 1, index, values, alpha), rank)
        return
    batched = ((self, self_bdim), (source, source_bdim), (index, index_bdim))
    for i in range(batch_size(*batched)):
        one, values, indices = (t if bdim is None else ops.select_int.call(t, bdim, i) for t, bdim in batched)
        yield function(one, dim, indices, values, alpha)


def _in_front_in_turn(*batched: Batched) -> list[Tensor]:
    """Prepare the tensors as ``_in_front`` does, except that the first gets a dimension before the second is moved."""
    ranked = [at_least_1d(move_batch_dim_to_front(*one), one) for one in batched]
    size = batch_size(*batched)
    return [ensure_has_bdim(tensor, bdim is not None, size) for tensor, (_, bdim) in zip(ranked, batched, strict=True)]


def at_least_1d(moved: Tensor, batched: Batched) -> Tensor:
    """Give a 0-dim example a dimension."""
    return moved if rank_without_batch_dim(*batched) else ops.unsqueeze.call(moved, -1)


def as_0d(result: Tensor, rank: int) -> Tensor:
    """Remove the dimension that ``at_least_1d`` added."""
    return result if rank else ops.squeeze_dim.call(result, -1)


# -- index_fill --------------------------------------------------------------------------------------------------------


def index_fill(self: Tensor, self_bdim: int | None, *rest: Any) -> Batched:
    """Clone self, then fill the copy."""
    return _index_fill(False, ops.clone.call(self, "preserve_format"), self_bdim, *rest)


def index_fill_(self: Tensor, self_bdim: int | None, *rest: Any) -> None:
    """Fill in place. Raise RuntimeError if self is not batched."""
    if self_bdim is None:
        vmap_incompatible_inplace_error("index_fill_")
    _index_fill(True, self, self_bdim, *rest)


def _index_fill(
    inplace: bool,
    self: Tensor,
    self_bdim: int | None,
    dim: int,
    index: Tensor,
    index_bdim: int | None,
    value: Tensor | Scalar,
    value_bdim: int | None = None,
) -> Batched:
    """Fill once for all examples, once per example, or once for all examples joined along the dimension."""
    rank = rank_without_batch_dim(self, self_bdim)
    first, indices = move_batch_dim_to_front(self, self_bdim), move_batch_dim_to_front(index, index_bdim)
    values = move_batch_dim_to_front(value, value_bdim) if isinstance(value, Tensor) else value
    axis = wrap_dim(dim, rank)
    if index_bdim is None and value_bdim is None:
        return _filled(first, rank, axis, indices, value), 0
    size = next(t._size[b] for t, b in ((self, self_bdim), (index, index_bdim), (value, value_bdim)) if b is not None)  # type: ignore[union-attr]
    first = ensure_has_bdim(first, self_bdim is not None, size)
    indices = ensure_has_bdim(indices, index_bdim is not None, size)
    if inplace or value_bdim is not None:
        for i in range(size):
            one, picked = ops.select_int.call(first, 0, i), ops.select_int.call(indices, 0, i)
            _fill(one, axis, picked, ops.select_int.call(values, 0, i) if value_bdim is not None else values)  # type: ignore[arg-type]
        return first, 0
    if self_bdim is None:
        first = ops.clone.call(first, None)
    number = ops.item.call(values) if isinstance(values, Tensor) else values
    if not rank:
        indices = indices if rank_without_batch_dim(index, index_bdim) == 0 else reshape_dim_into(0, 0, indices)
        return _filled(first, rank, axis, indices, number), 0
    return _filled_side_by_side(first, axis, indices, number, size, rank_without_batch_dim(index, index_bdim))


def _filled(self: Tensor, rank: int, dim: int, index: Tensor, value: Tensor | Scalar) -> Tensor:
    """Fill in place. A 0-dim example temporarily gets a dimension."""
    if not rank:
        ops.unsqueeze_.call(self, -1)
    _fill(self, dim + 1, index, value)
    if not rank:
        ops.squeeze__dim.call(self, -1)
    return self


def _fill(self: Tensor, dim: int, index: Tensor, value: Tensor | Scalar) -> None:
    if isinstance(value, Tensor):
        ops.index_fill__int_Tensor.call(self, dim, index, value)
    else:
        ops.index_fill__int_Scalar.call(self, dim, index, value)


def _filled_side_by_side(self: Tensor, dim: int, index: Tensor, value: Scalar, size: int, index_rank: int) -> Batched:
    """Fill with the batch as part of the dimension. The indices of example i are shifted by i lengths."""
    steps = ops.arange.call(size, index._dtype, None, index._device, None)
    if not index_rank:
        index = ops.unsqueeze.call(index, -1)
    index = ops.add_Tensor.call(index, ops.unsqueeze.call(steps, -1), self._size[dim + 1])
    index, whole = reshape_dim_into(0, 0, index), reshape_dim_into(0, dim, self)
    ops.index_fill__int_Scalar.call(whole, dim, index, value)
    return reshape_dim_outof(dim, size, whole), dim


KERNELS: dict[str, Kernel] = {
    "index_select": index_select_decomp,
    "index_copy": index_copy_decomp,
    "index_add": plumbed("index_add", index_add),
    "index_add_": plumbed_inplace("index_add_", index_add_),
    **{name: plumbed(name, index_fill) for name in ("index_fill.int_Scalar", "index_fill.int_Tensor")},
    **{name: plumbed_inplace(name, index_fill_) for name in ("index_fill_.int_Scalar", "index_fill_.int_Tensor")},
}
"""Kernels for FuncTorchBatched."""
