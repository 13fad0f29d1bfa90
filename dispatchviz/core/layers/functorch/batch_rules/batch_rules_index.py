"""Batch rules of ``index``, ``index_put`` (``BatchRulesScatterOps.cpp``).

Rule 1: if only self is batched, the list gets a None in front. If only indices are batched, they broadcast by
themselves. If both are, the batch dimension gets an index of its own, which counts from 0.
Rule 2: the position of the indexed dimensions in the result depends on whether all tensors of the list are adjacent.
The index of Rule 1 may separate them, so the result's dimensions (or those of the values) are moved afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.call.structured import broadcast_sizes
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    ensure_has_bdim,
    maybe_pad_to_logical_rank,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    vmap_incompatible_inplace_error,
)
from dispatchviz.core.layers.functorch.batched_tensor import is_batched_at_level, make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, checked_layer, exclude_batched
from dispatchviz.core.tensor.dtype import bool_, int64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

Index = Tensor | None
BatchedIndex = tuple[Index, int | None]
"""A member of the list: None for a whole dimension."""

# -- the list ----------------------------------------------------------------------------------------------------------


def _any_batched(indices: Sequence[BatchedIndex]) -> bool:
    return any(bdim is not None for _, bdim in indices)


def _leading_nones(indices: Sequence[BatchedIndex]) -> int:
    return next((position for position, (index, _) in enumerate(indices) if index is not None), len(indices))


def _max_rank(indices: Sequence[BatchedIndex]) -> int:
    """The maximum logical rank of an index."""
    return max((rank_without_batch_dim(index, bdim) for index, bdim in indices if index is not None), default=-1)


def _side_by_side(indices: Sequence[Index]) -> bool:
    """Return whether no None is between two tensors (``are_advanced_indices_adjacent``)."""
    positions = [position for position, index in enumerate(indices) if index is not None]
    return not positions or positions[-1] - positions[0] == len(positions) - 1


def _batch_indices(
    self: Tensor, indices: Sequence[BatchedIndex], size: int, self_batched: bool, values_batched: bool = False
) -> list[Index]:
    """Apply Rule 1 (``batchIndices``). Raise RuntimeError for a batched mask: examples would differ in size."""
    rank, batched = _max_rank(indices), _any_batched(indices)
    found = [_index_in_front(index, bdim, rank) for index, bdim in indices]
    if not batched:
        return [None, *found] if self_batched else found
    if not self_batched and not values_batched:
        return found
    counting = ops.arange.call(size, int64, "strided", self._device, None)
    while len(counting._size) < rank + 1:
        counting = ops.unsqueeze.call(counting, -1)
    return [counting, *found]


def _index_in_front(index: Index, bdim: int | None, rank: int) -> Index:
    if index is None or not numel(index._size):
        return index
    moved = maybe_pad_to_logical_rank(move_batch_dim_to_front(index, bdim), bdim, rank)
    if index._dtype is bool_ and bdim is not None:
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
            "indexing with a boolean mask."
        )
    return moved


def _swap_regions(tensor: Tensor, first: int, second: int) -> Tensor:
    """Swap ``first`` dimensions after the batch dimension with the next ``second`` (``swap_regions``)."""
    rest = range(1 + first + second, len(tensor._size))
    return ops.permute.call(tensor, (0, *range(1 + first, 1 + first + second), *range(1, 1 + first), *rest))


# -- index -------------------------------------------------------------------------------------------------------------


def index_Tensor(self: Tensor, self_bdim: int | None, indices: Sequence[BatchedIndex]) -> Batched:
    """Index, with Rule 2 (``index_batch_rule``)."""
    moved = move_batch_dim_to_front(self, self_bdim)
    size = moved._size[0] if moved._size else 0
    result = ops.index_Tensor.call(moved, _batch_indices(self, indices, size, self_bdim is not None))
    adjacent, nones, rank = _side_by_side([index for index, _ in indices]), _leading_nones(indices), _max_rank(indices)
    if not _any_batched(indices):
        return result, 0 if adjacent else rank
    if self_bdim is None:
        return result, nones if adjacent else 0
    return (_swap_regions(result, rank, nones) if adjacent and nones else result), 0


# -- index_put ---------------------------------------------------------------------------------------------------------


def _to_put(
    self: Batched, indices: Sequence[BatchedIndex], values: Batched, size: int | None = None
) -> tuple[Tensor, list[Index], Tensor]:
    """Give all tensors the batch dimension, and the values dimensions of size 1 after it
    (``index_put_batch_rule_helper``).
    """
    target, source = move_batch_dim_to_front(*self), move_batch_dim_to_front(*values)
    size = target._size[0] if size is None else size
    target = ensure_has_bdim(target, self[1] is not None, size)
    source = ensure_has_bdim(source, values[1] is not None, size)
    found = _batch_indices(self[0], indices, size, True, values[1] is not None)
    missing = len(_indexed_shape(target, found)) - len(source._size)
    if missing > 0:
        source = ops.view.call(source, (size, *[1] * missing, *source._size[1:]))
    return target, found, source


def _indexed_shape(self: Tensor, indices: Sequence[Index]) -> Size:
    """The shape after indexing, found by expanding and transposing as ``index`` itself would
    (``get_indexed_shape``).
    """
    expanded = _expand_outplace(list(_without_masks(indices)))
    expanded += [None] * (len(self._size) - len(expanded))
    if not _side_by_side(expanded):
        order = [d for d, index in enumerate(expanded) if index is not None]
        order += [d for d, index in enumerate(expanded) if index is None]
        self, expanded = ops.permute.call(self, tuple(order)), [expanded[d] for d in order]
    positions = [d for d, index in enumerate(expanded) if index is not None]
    shape = next(index._size for index in expanded if index is not None)
    return (*self._size[: positions[0]], *shape, *self._size[positions[-1] + 1 :])


def _without_masks(indices: Sequence[Index]) -> list[Index]:
    """Replace each mask by one index per dimension (``expandTensors``)."""
    found: list[Index] = []
    for index in indices:
        if index is None or index._dtype not in (bool_, uint8):
            found.append(index)
        else:
            positions = ops.nonzero.call(index)
            found += [ops.select_int.call(positions, 1, dim) for dim in range(len(index._size))]
    return found


def _expand_outplace(indices: Sequence[Index]) -> list[Index]:
    size: Size = ()
    for index in indices:
        size = size if index is None else broadcast_sizes(size, index._size)
    return [i if i is None or i._size == size else ops.expand.call(i, size, False) for i in indices]


def _permuted_values(values: Tensor, indices: Sequence[BatchedIndex]) -> Tensor:
    """Move the dimensions of the values by the inverse of Rule 2 (``maybe_permute_values``)."""
    adjacent, nones, rank = _side_by_side([index for index, _ in indices]), _leading_nones(indices), _max_rank(indices)
    if not _any_batched(indices):
        return values if adjacent else ops.movedim_int.call(values, 0, rank)
    return _swap_regions(values, nones, rank) if adjacent and nones else values


def index_put(self: Batched, indices: Sequence[BatchedIndex], values: Batched, accumulate: bool) -> Tensor:
    """Return the tensor with values put into it (``index_put_batch_rule``)."""
    batched = [self, values] if self[1] is not None or values[1] is not None else indices
    size = next(tensor._size[bdim] for tensor, bdim in batched if tensor is not None and bdim is not None)
    target, found, source = _to_put(self, indices, values, size)
    return ops.index_put.call(target, found, _permuted_values(source, indices), accumulate)


def index_put_(self: Batched, indices: Sequence[BatchedIndex], values: Batched, *flags: bool) -> None:
    """Put values in place (``index_put__batch_rule``), also for ``_index_put_impl_``, which has one more flag. Raise
    RuntimeError if self is not batched.

    The values are not moved by Rule 2, which is a defect of PyTorch's.
    """
    name, function = ("index_put_", ops.index_put_.call) if len(flags) == 1 else _IMPL
    if self[1] is None:
        vmap_incompatible_inplace_error(name)
    target, found, source = _to_put(self, indices, values)
    function(target, found, source, *flags)


_IMPL: tuple[str, Callable[..., Tensor]] = ("_index_put_impl_", ops._index_put_impl_.call)

# -- plumbing ----------------------------------------------------------------------------------------------------------


def _unwrapped(indices: Sequence[Index], level: int) -> list[BatchedIndex]:
    return [(None, None) if index is None else unwrap_at_level(index, level) for index in indices]


def _on_device(values: Tensor, self: Tensor) -> Tensor:
    """Copy a 0-dim tensor of another device to the device of self."""
    if values._device == self._device or values._size:
        return values
    return ops.to_dtype_layout.call(values, None, None, self._device, None, False, False, None)


def index_plumbing(ks: int, self: Tensor, indices: Sequence[Index]) -> Tensor:
    """Unwrap the arguments and call the rule. PyTorch, too, writes this by hand: it is not generated for lists of
    optional tensors.
    """
    with exclude_batched():
        level = checked_layer("index_plumbing").level
        if not any(is_batched_at_level(tensor, level) for tensor in (self, *indices)):
            return ops.index_Tensor.call(self, list(indices))
        result, bdim = index_Tensor(*unwrap_at_level(self, level), _unwrapped(indices, level))
        return make_batched(result, bdim, level)


def index_put_plumbing(ks: int, self: Tensor, indices: Sequence[Index], values: Tensor, accumulate: bool) -> Tensor:
    """Unwrap the arguments and call the rule, as ``index_plumbing`` does."""
    with exclude_batched():
        level = checked_layer("index_put_plumbing").level
        values = _on_device(values, self)
        if not any(is_batched_at_level(tensor, level) for tensor in (self, *indices, values)):
            return ops.index_put.call(self, list(indices), values, accumulate)
        batched = unwrap_at_level(self, level), _unwrapped(indices, level), unwrap_at_level(values, level)
        return make_batched(index_put(*batched, accumulate), 0, level)


def _inplace_plumbing(name: str, call: Callable[..., Tensor], moves: bool) -> Kernel:
    def kernel(ks: int, self: Tensor, indices: Sequence[Index], values: Tensor, *flags: Any) -> Tensor:
        with exclude_batched():
            level = checked_layer(f"{name}_plumbing").level
            values = _on_device(values, self) if moves else values
            if not any(is_batched_at_level(tensor, level) for tensor in (self, *indices, values)):
                return call(self, list(indices), values, *flags)
            batched = unwrap_at_level(self, level), _unwrapped(indices, level), unwrap_at_level(values, level)
            index_put_(*batched, *flags)
            return self

    kernel.__wrapped__ = index_put_  # type: ignore[attr-defined]
    return kernel


KERNELS: dict[str, Kernel] = {
    "index.Tensor": index_plumbing,
    "index_put": index_put_plumbing,
    "index_put_": _inplace_plumbing("index_put_", ops.index_put_.call, True),
    "_index_put_impl_": _inplace_plumbing("_index_put_impl_", ops._index_put_impl_.call, False),
}
"""Kernels for FuncTorchBatched."""
