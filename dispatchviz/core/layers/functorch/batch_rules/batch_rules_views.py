"""Batch rules of views (``BatchRulesViews.cpp``): dimensions and sizes are renumbered around the batch dimension.

In-place views and views of lists are in ``legacy_batching.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    move_batch_dim_to_front,
    physical_dim,
    physical_size,
    rank_without_batch_dim,
)
from dispatchviz.core.layers.functorch.plumbing import Batched, BatchRule, Kernel, call_operator, plumbed
from dispatchviz.core.native.iterator.infer_size import compute_stride, infer_size
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.views import view_ops
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

_FIRST_OR_LAST = (0, -1)
"""The dimensions that may be named for a 0-dim tensor."""

# -- dimensions --------------------------------------------------------------------------------------------------------


def unsqueeze(self: Tensor, bdim: int | None, dim: int) -> Batched:
    """Insert the dimension after the batch dimension."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.unsqueeze.call(moved, wrap_dim(dim, rank_without_batch_dim(self, bdim) + 1) + 1), 0


def roll(self: Tensor, bdim: int | None, shifts: Size, dims: Size) -> Batched:
    """Roll. Without dimensions, the elements of each example are rolled in a row; a 0-dim example is unchanged."""
    moved = move_batch_dim_to_front(self, bdim)
    if not dims and not rank_without_batch_dim(self, bdim):
        return ops.squeeze_dim.call(ops.roll.call(ops.unsqueeze.call(moved, -1), shifts, (1,)), -1), 0
    if dims:
        return ops.roll.call(moved, shifts, tuple(physical_dim(moved, True, dim) for dim in dims)), 0
    flat = ops.flatten_using_ints.call(moved, 1, -1)
    return ops.reshape.call(ops.roll.call(flat, shifts, (1,)), moved._size), 0


def unfold(self: Tensor, bdim: int | None, dim: int, size: int, step: int) -> Batched:
    """Unfold. A 0-dim example temporarily gets a dimension."""
    rank = rank_without_batch_dim(self, bdim)
    moved = move_batch_dim_to_front(self, bdim)
    axis = wrap_dim(dim, rank) + 1
    if rank:
        return ops.unfold.call(moved, axis, size, step), 0
    return ops.squeeze_dim.call(ops.unfold.call(ops.unsqueeze.call(moved, -1), axis, size, step), -1), 0


def diag_embed(self: Tensor, bdim: int | None, offset: int, dim1: int, dim2: int) -> Batched:
    """Embed a diagonal. The given dimensions are those of the result."""
    rank = rank_without_batch_dim(self, bdim) + 1
    moved = move_batch_dim_to_front(self, bdim)
    return ops.diag_embed.call(moved, offset, wrap_dim(dim1, rank) + 1, wrap_dim(dim2, rank) + 1), 0


def squeeze(self: Tensor, bdim: int) -> Batched:
    """Squeeze, but keep the batch dimension even if its size is 1."""
    if len(self._size) == 1:
        return ops.alias.call(self), bdim
    kept = [dim for dim, length in enumerate(self._size) if length != 1 or dim == bdim]
    return ops.view.call(self, tuple(self._size[dim] for dim in kept)), kept.index(bdim)


def squeeze_dims(self: Tensor, bdim: int, dims: Size) -> Batched:
    """Squeeze. Dimensions after the batch dimension are shifted by one, and the batch dimension moves by those removed
    before it.
    """
    rank = len(self._size)
    if rank == 1:
        if tuple(dims) not in ((), (0,)):
            raise RuntimeError(
                f"Dimension is out of range (expected to be in range of [-1, 0], but got {_listed(dims)}"
            )
        return ops.alias.call(self), bdim
    wanted, moved = adjusted_dims(self, bdim, dims, rank - 1)
    return ops.squeeze_dims.call(self, wanted), moved


def adjusted_dims(self: Tensor, bdim: int, dims: Size, rank: int) -> tuple[Size, int]:
    """The physical dimensions to squeeze, and the batch dimension of the result."""
    wrapped = [wrap_dim(dim, rank) for dim in dims]
    gone = sum(dim < bdim and self._size[dim] == 1 for dim in wrapped)
    return tuple(dim if dim < bdim else dim + 1 for dim in wrapped), bdim - gone


def _listed(dims: Size) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"


def squeeze_dim(self: Tensor, bdim: int, dim: int) -> Batched:
    """Squeeze one dimension, by the rule for several."""
    return squeeze_dims(self, bdim, (dim,))


def transpose_int(self: Tensor, bdim: int | None, dim0: int, dim1: int) -> Batched:
    """Transpose. A 0-dim example is unchanged."""
    if len(self._size) == 1 and dim0 in _FIRST_OR_LAST and dim1 in _FIRST_OR_LAST:
        return self, bdim
    moved = move_batch_dim_to_front(self, bdim)
    batched = bdim is not None
    return ops.transpose_int.call(moved, physical_dim(self, batched, dim0), physical_dim(self, batched, dim1)), 0


def permute(self: Tensor, bdim: int | None, dims: Size) -> Batched:
    """Permute, with the batch dimension in front."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.permute.call(moved, (0, *(physical_dim(moved, True, dim) for dim in dims))), 0


# -- parts -------------------------------------------------------------------------------------------------------------


def select_int(self: Tensor, bdim: int | None, dim: int, index: int) -> Batched:
    """Select one index of each example."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.select_int.call(moved, physical_dim(moved, True, dim), index), 0


def select_backward(grad_input: Tensor, bdim: int | None, input_sizes: Size, dim: int, index: int) -> Batched:
    """Return the gradient, with zeros for the whole batch."""
    moved = move_batch_dim_to_front(grad_input, bdim)
    axis = wrap_dim(dim, rank_without_batch_dim(grad_input, bdim) + 1) + 1
    return ops.select_backward.call(moved, physical_size(moved, input_sizes), axis, index), 0


def slice_Tensor(self: Tensor, bdim: int | None, dim: int, start: int | None, end: int | None, step: int) -> Batched:
    """Slice each example."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.slice_Tensor.call(moved, physical_dim(self, bdim is not None, dim), start, end, step), 0


def slice_backward(
    grad_input: Tensor, bdim: int | None, input_sizes: Size, dim: int, start: int, end: int, step: int
) -> Batched:
    """Return the gradient, with zeros for the whole batch."""
    moved = move_batch_dim_to_front(grad_input, bdim)
    axis = wrap_dim(dim, rank_without_batch_dim(grad_input, bdim)) + 1
    return ops.slice_backward.call(moved, physical_size(moved, input_sizes), axis, start, end, step), 0


def narrow_copy(self: Tensor, bdim: int | None, dim: int, start: int, length: int) -> Batched:
    """Copy the same part of each example."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.narrow_copy.call(moved, wrap_dim(dim, rank_without_batch_dim(self, bdim)) + 1, start, length), 0


def unsafe_split_Tensor(self: Tensor, bdim: int | None, split_size: int, dim: int) -> tuple[list[Tensor], int]:
    """Split each example into the same parts."""
    moved = move_batch_dim_to_front(self, bdim)
    axis = wrap_dim(dim, rank_without_batch_dim(self, bdim)) + 1
    return ops.unsafe_split_Tensor.call(moved, split_size, axis), 0


def unbind_copy_int(self: Tensor, bdim: int | None, dim: int) -> tuple[list[Tensor], int]:
    """Split each example into all its parts."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.unbind_copy_int.call(moved, wrap_dim(dim, rank_without_batch_dim(self, bdim)) + 1), 0


def trace_decomp(ks: int, self: Tensor) -> Tensor:
    """Return the sum of the diagonal of the batched tensor itself. Raise RuntimeError unless an example is a matrix."""
    if len(self._size) != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {len(self._size)}")
    return ops.sum.call(ops.diagonal.call(self, 0, 0, 1), None)


def diagonal(self: Tensor, bdim: int | None, offset: int, dim1: int, dim2: int) -> Batched:
    """Return the diagonal of each example."""
    rank = rank_without_batch_dim(self, bdim)
    moved = move_batch_dim_to_front(self, bdim)
    return ops.diagonal.call(moved, offset, wrap_dim(dim1, rank) + 1, wrap_dim(dim2, rank) + 1), 0


def diagonal_backward(
    grad_input: Tensor, bdim: int | None, input_sizes: Size, offset: int, dim1: int, dim2: int
) -> Batched:
    """Return the gradient, with zeros for the whole batch."""
    rank = rank_without_batch_dim(grad_input, bdim) + 1
    moved = move_batch_dim_to_front(grad_input, bdim)
    indices = wrap_dim(dim1, rank) + 1, wrap_dim(dim2, rank) + 1
    return ops.diagonal_backward.call(moved, physical_size(moved, input_sizes), offset, *indices), 0


def triangle(name: str) -> BatchRule:
    """Return the rule of ``tril`` or ``triu`` (``tril_batch_rule``, ``triu_batch_rule``). A 1-dim example passes the
    check, with the batch as its second dimension.
    """

    def rule(self: Tensor, bdim: int | None, diagonal: int) -> Batched:
        if len(self._size) < 2:
            raise RuntimeError(f"{name}: The input tensor must have at least 2 dimensions.")
        return call_operator(find(f"aten::{name}"), (move_batch_dim_to_front(self, bdim), diagonal)), 0

    return rule


def flip(self: Tensor, bdim: int | None, dims: Size) -> Batched:
    """Flip. This is not a view, but it is in PyTorch's file of views, too."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.flip.call(moved, tuple(physical_dim(moved, True, dim) for dim in dims)), 0


# -- sizes -------------------------------------------------------------------------------------------------------------


def view(self: Tensor, bdim: int | None, size: Size) -> Batched:
    """View as the wanted size after the batch size."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.view.call(moved, physical_size(moved, size)), 0


def _unsafe_view(self: Tensor, bdim: int | None, size: Size) -> Batched:
    """View, after a copy if the strides require it: the tensor has no other user."""
    moved = move_batch_dim_to_front(self, bdim)
    wanted = physical_size(moved, size)
    if compute_stride(moved._size, moved._stride, infer_size(wanted, numel(moved._size))) is None:
        moved = ops.contiguous.call(moved, "contiguous_format")
    return ops._unsafe_view.call(moved, wanted), 0


def _reshape_alias(self: Tensor, bdim: int, size: Size, stride: Size) -> Batched:
    """View. The strides are ignored, since they were computed for one example."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.reshape.call(moved, physical_size(moved, size)), 0


def view_copy(self: Tensor, bdim: int | None, size: Size) -> Batched:
    """Copy as the wanted size after the batch size."""
    moved = move_batch_dim_to_front(self, bdim)
    return ops.view_copy.call(moved, physical_size(moved, size)), 0


def expand(self: Tensor, bdim: int | None, size: Size, implicit: bool) -> Batched:
    """Expand. New dimensions are inserted after the batch dimension, so a view adds them first."""
    return ops.expand.call(*_with_room(self, bdim, size), implicit), 0


def expand_copy(self: Tensor, bdim: int | None, size: Size, implicit: bool) -> Batched:
    """Expand and copy."""
    return ops.expand_copy.call(*_with_room(self, bdim, size), implicit), 0


def _with_room(self: Tensor, bdim: int | None, size: Size) -> tuple[Tensor, Size]:
    rank = len(self._size) - 1
    if rank > len(size):
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({rank})"
        )
    moved = move_batch_dim_to_front(self, bdim)
    room = (moved._size[0], *[1] * (len(size) - rank), *moved._size[1:])
    return ops.view.call(moved, room), physical_size(moved, size)


def repeat(self: Tensor, bdim: int | None, repeats: Size) -> Batched:
    """Repeat, with the batch once and new dimensions after it."""
    moved = move_batch_dim_to_front(self, bdim)
    while len(moved._size) < len(repeats) + 1:
        moved = ops.unsqueeze.call(moved, 1)
    return ops.repeat.call(moved, (1, *repeats)), 0


# -- copies ------------------------------------------------------------------------------------------------------------


def copy_of(view_rule: BatchRule) -> BatchRule:
    """Return the rule that copies the view of another rule."""

    def rule(self: Tensor, bdim: int | None, *args: Any) -> Batched:
        viewed, moved = view_rule(self, bdim, *args)
        return ops.clone.call(viewed, "contiguous_format"), moved

    return rule


def t(self: Tensor, bdim: int | None) -> Batched:
    """Transpose a matrix."""
    return transpose_int(self, bdim, 0, 1) if rank_without_batch_dim(self, bdim) == 2 else (self, bdim)


COPIES: dict[str, BatchRule] = {
    "permute_copy": permute,
    "squeeze_copy": squeeze,
    "squeeze_copy.dim": squeeze_dim,
    "squeeze_copy.dims": squeeze_dims,
    "t_copy": t,
    "transpose_copy.int": transpose_int,
    "unsqueeze_copy": unsqueeze,
}
"""Operators that copy a view, with the rule of the view."""


def repeat_interleave_Tensor(repeats: Tensor, bdim: int | None, output_size: int | None) -> Batched:
    """Count, at each position of the result, the elements whose repetitions are over. Raise RuntimeError without
    ``output_size``.
    """
    if output_size is None:
        raise RuntimeError(
            "repeat_interleave: vmapping over the `repeats` tensor requires the `output_size` argument to be "
            "specified, because the size of the output equals the sum of `repeats`, which is data-dependent and may "
            "differ between batch elements. Please pass output_size, e.g. "
            "output_size=int(repeats.sum(-1).max())."
        )
    moved = move_batch_dim_to_front(repeats, bdim)
    ends = ops.cumsum.call(moved, -1, int64)
    size = (*moved._size[:-1], output_size + 1)
    zeros = ops.zeros.call(size, int64, "strided", moved._device, None)
    ones = ops.ones_like.call(ends, None, None, None, None, None)
    over = ops.scatter_add.call(zeros, -1, ends, ones)
    return ops.cumsum.call(ops.narrow.call(over, -1, 0, output_size), -1, None), 0


RULES: dict[str, BatchRule] = {
    "unsqueeze": unsqueeze,
    "squeeze": squeeze,
    "squeeze.dim": squeeze_dim,
    "squeeze.dims": squeeze_dims,
    "transpose.int": transpose_int,
    "permute": permute,
    "select.int": select_int,
    "select_backward": select_backward,
    "slice.Tensor": slice_Tensor,
    "slice_backward": slice_backward,
    "view": view,
    "view_copy": view_copy,
    "expand_copy": expand_copy,
    "narrow_copy": narrow_copy,
    "unsafe_split.Tensor": unsafe_split_Tensor,
    "unbind_copy.int": unbind_copy_int,
    "_unsafe_view": _unsafe_view,
    "_reshape_alias": _reshape_alias,
    "expand": expand,
    "diagonal": diagonal,
    "diagonal_backward": diagonal_backward,
    "tril": triangle("tril"),
    "triu": triangle("triu"),
    "flip": flip,
    "repeat": repeat,
    "repeat_interleave.Tensor": repeat_interleave_Tensor,
}

KERNELS: dict[str, Kernel] = {
    "roll": plumbed("roll", roll),
    "unfold": plumbed("unfold", unfold),
    "diag_embed": plumbed("diag_embed", diag_embed),
    **{name: plumbed(name, rule) for name, rule in RULES.items()},
    **{name: plumbed(name, copy_of(rule)) for name, rule in COPIES.items()},
    "trace": trace_decomp,
    "t": lambda ks, self: view_ops.t(self),
    "t_": lambda ks, self: view_ops.t_(self),
}
"""Kernels for FuncTorchBatched."""
