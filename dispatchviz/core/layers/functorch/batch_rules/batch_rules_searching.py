"""Batch rules of ``searchsorted`` and ``bucketize`` (``BatchRulesReduceOps.cpp``).

One row of boundaries serves values of any shape. Boundaries of several dimensions must have the values' leading
dimensions.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    batch_size,
    ensure_has_bdim,
    move_batch_dim_to_front,
    rank_without_batch_dim,
    reshape_dim_into,
    reshape_dim_outof,
)
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, plumbed
from dispatchviz.core.native.arithmetic.binary_ops import wrapped_scalar_tensor
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.tensor.tensor import Tensor


def searchsorted(
    sorted_sequence: Tensor,
    sequence_bdim: int | None,
    self: Tensor,
    self_bdim: int | None,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    sorter_bdim: int | None,
) -> Batched:
    """Search, in a way that depends on the boundaries' rank and on which tensors are batched
    (``searchsorted_batch_rule``).
    """
    sequence = move_batch_dim_to_front(sorted_sequence, sequence_bdim)
    batched = sequence_bdim is not None
    order = None
    if sorter is not None:
        order = move_batch_dim_to_front(sorter, sorter_bdim)
        if batched != (sorter_bdim is not None):
            size = batch_size((sorted_sequence, sequence_bdim), (sorter, sorter_bdim))
            order = ensure_has_bdim(order, sorter_bdim is not None, size)
            sequence, batched = ensure_has_bdim(sequence, batched, size), True
    how = out_int32, right, side, order
    if rank_without_batch_dim(sorted_sequence, sequence_bdim) > 1:
        return _in_rows((sequence, 0 if batched else None), (self, self_bdim), *how)
    return _in_one_row((sequence, 0 if batched else None), (self, self_bdim), *how)


def _in_rows(sequence: Batched, values: Batched, *how: Any) -> Batched:
    if sequence[1] is None:
        assert values[1] is not None
        size = values[0]._size[values[1]]
        found = ops.searchsorted_Tensor.call(sequence[0], reshape_dim_into(values[1], -1, values[0]), *how)
        found = reshape_dim_outof(-1, size, found)
        return found, len(found._size) - 2
    whole = ensure_has_bdim(move_batch_dim_to_front(*values), values[1] is not None, sequence[0]._size[0])
    return ops.searchsorted_Tensor.call(sequence[0], whole, *how), 0


def _in_one_row(sequence: Batched, values: Batched, *how: Any) -> Batched:
    """Flatten the values of each example, so that its boundaries are one of several rows."""
    if sequence[1] is None:
        return ops.searchsorted_Tensor.call(sequence[0], values[0], *how), values[1]
    rank = rank_without_batch_dim(*values)
    whole = ensure_has_bdim(move_batch_dim_to_front(*values), values[1] is not None, sequence[0]._size[0])
    flat = ops.flatten_using_ints.call(whole, 1, -1) if rank else ops.unsqueeze.call(whole, -1)
    found = ops.searchsorted_Tensor.call(sequence[0], flat, *how)
    return (ops.view.call(found, whole._size) if rank else ops.squeeze_dim.call(found, -1)), 0


def bucketize_decomp_Tensor(ks: int, self: Tensor, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    """Decompose on the batched tensors themselves. Raise RuntimeError unless the boundaries are a row."""
    _check_boundaries(boundaries)
    return ops.searchsorted_Tensor.call(boundaries, self, out_int32, right, None, None)


def bucketize_decomp_Scalar(ks: int, self: Scalar, boundaries: Tensor, out_int32: bool, right: bool) -> Tensor:
    """Decompose in the same way for a number."""
    _check_boundaries(boundaries)
    return ops.searchsorted_Scalar.call(boundaries, self, out_int32, right, None, None)


def searchsorted_decomp_Scalar(
    ks: int,
    sorted_sequence: Tensor,
    self: Scalar,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
) -> Tensor:
    """Search the number as a 0-dim tensor."""
    return ops.searchsorted_Tensor.call(sorted_sequence, wrapped_scalar_tensor(self), out_int32, right, side, sorter)


def _check_boundaries(boundaries: Tensor) -> None:
    if len(boundaries._size) != 1:
        raise RuntimeError(f"bucketize: boundaries tensor must be 1 dimension, but got dim({len(boundaries._size)})")


KERNELS: dict[str, Kernel] = {
    "searchsorted.Tensor": plumbed("searchsorted.Tensor", searchsorted),
    "searchsorted.Scalar": searchsorted_decomp_Scalar,
    "bucketize.Tensor": bucketize_decomp_Tensor,
    "bucketize.Scalar": bucketize_decomp_Scalar,
}
"""Kernels for FuncTorchBatched."""
