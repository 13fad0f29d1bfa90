"""``diagonal``, ``split``, ``chunk``, ``flatten``, ``flip``, ``repeat``, ``tril``, ``triu``
(``aten/src/ATen/native/TensorShape.cpp``, ``TensorTransformations.cpp``, ``TriangularOps.cpp``). ``select`` and
``slice`` are in ``select_slice.py``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import CPU
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import dim_mask, wrap_dim
from dispatchviz.core.native.views.view_ops import reshape
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel

# -- diagonal ----------------------------------------------------------------------------------------------------------


def diagonal(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The elements whose indices in two dimensions differ by ``offset``, as a last dimension."""
    rank = len(self._size)
    first, second = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    length = max(min(self._size[first] + min(offset, 0), self._size[second] - max(offset, 0)), 0)
    skipped = offset * self._stride[second] if offset >= 0 else -offset * self._stride[first]
    kept = [dim for dim in range(rank) if dim not in (first, second)]
    size = (*(self._size[dim] for dim in kept), length)
    stride = (*(self._stride[dim] for dim in kept), self._stride[first] + self._stride[second])
    return ops.as_strided.call(self, size, stride, self._offset + (skipped if length else 0))


def diagonal_backward_symint(grad_output: Tensor, input_sizes: Size, offset: int, dim1: int, dim2: int) -> Tensor:
    """Zeros of the input's size, with the gradient in the diagonal."""
    grad_input = ops.zeros.call(input_sizes, grad_output._dtype, "strided", grad_output._device, None)
    ops.copy_.call(ops.diagonal.call(grad_input, offset, dim1, dim2), grad_output, False)
    return grad_input


# -- split -------------------------------------------------------------------------------------------------------------


def split(self: Tensor, split_size: int, dim: int) -> list[Tensor]:
    """Pieces of ``split_size`` along a dimension; the last may be smaller."""
    if not self._size:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    length = self._size[wrap_dim(dim, len(self._size))]
    if split_size == 0 and length:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
    count = max(-(-length // split_size), 1) if split_size else 1
    lengths = [split_size] * (count - 1) + [length - split_size * (count - 1)]
    return [ops.narrow.call(self, dim, index * split_size, size) for index, size in enumerate(lengths)]


def split_with_sizes(self: Tensor, split_sizes: Size, dim: int) -> list[Tensor]:
    """Pieces of the given sizes along a dimension. Raise RuntimeError if they do not sum to its size."""
    if not self._size:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    wrapped = wrap_dim(dim, len(self._size))
    pieces = []
    for size, end in zip(split_sizes, accumulate(split_sizes), strict=True):
        if size < 0:
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={[*split_sizes]}"
            )
        start = end - size
        inside = max(min(size, self._size[wrapped] - start), 0)  # the sum is checked at the end
        shape = (*self._size[:wrapped], inside, *self._size[wrapped + 1 :])
        offset = self._offset + start * self._stride[wrapped]
        pieces.append(ops.as_strided.call(self, shape, self._stride, offset))
    if sum(split_sizes) != self._size[wrapped]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self._size[wrapped]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={[*split_sizes]}"
        )
    return pieces


def chunk(self: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """``chunks`` pieces of one size along a dimension, or fewer."""
    split_size = chunk_sizes(self, chunks, dim)
    if isinstance(split_size, tuple):
        return ops.split_with_sizes.call(self, split_size, dim)
    return ops.split_Tensor.call(self, split_size, dim)


def chunk_sizes(self: Tensor, chunks: int, dim: int) -> int | Size:
    """The size of each piece, or a tuple of zeros if the dimension is empty."""
    if not self._size:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = self._size[wrap_dim(dim, len(self._size))]
    split_size = -(-length // chunks)
    return (0,) * chunks if split_size == 0 else split_size


# -- flatten -----------------------------------------------------------------------------------------------------------


def flatten_using_ints(self: Tensor, start_dim: int, end_dim: int) -> Tensor:
    """The tensor with several dimensions flattened into one; a 0-dim tensor becomes 1-dim."""
    rank = len(self._size)
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not self._size:
        return ops.reshape.call(self, (1,))
    if start == end:
        return self
    joined = math.prod(self._size[start : end + 1])
    return reshape(self, (*self._size[:start], joined, *self._size[end + 1 :]))


# -- copies ------------------------------------------------------------------------------------------------------------


def flip(self: Tensor, dims: Size) -> Tensor:
    """A new tensor with some dimensions reversed. The loop reads through a view with negative strides."""
    mask = dim_mask(dims, len(self._size))
    out = ops.empty_like.call(self, None, None, None, None, "preserve_format")
    if out._array is None or not _is_flip_needed(self, mask):
        return out if out._array is None else ops.copy_.call(out, self, False)
    needed = [flipped and length > 1 for flipped, length in zip(mask, self._size, strict=True)]
    ops.as_strided.call(self, self._size, tuple(0 if n else s for n, s in zip(needed, self._stride, strict=True)), None)
    out._array[...] = self._array[tuple(slice(None, None, -1 if flipped else None) for flipped in mask)]
    return out


def _is_flip_needed(self: Tensor, mask: Sequence[bool]) -> bool:
    """Return whether a flipped dimension has several elements in memory."""
    parts = zip(mask, self._size, self._stride, strict=True)
    return numel(self._size) > 1 and any(flipped and length > 1 and step for flipped, length, step in parts)


def repeat(self: Tensor, repeats: Size) -> Tensor:
    """The tensor repeated along each dimension.

    The copies are written through windows of the result, each with the tensor's size.
    """
    if len(repeats) < len(self._size):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    padded = (*(1,) * (len(repeats) - len(self._size)), *self._size)
    source = ops.expand.call(self, padded, False)
    size = tuple(length * times for length, times in zip(padded, repeats, strict=True))
    out = ops.empty_memory_format.call(size, self._dtype, "strided", self._device, None, None)
    if 0 in repeats:
        return out
    windows = out
    for dim, length in enumerate(padded):
        windows = ops.unfold.call(windows, dim, length, max(length, 1))
    ops.copy_.call(windows, ops.expand_as.call(source, windows), False)
    order = tuple(_alternating(len(padded))._array.tolist())
    return ops.reshape.call(ops.permute.call(windows, order), size)


def _alternating(count: int) -> Tensor:
    """The order 0, count, 1, count + 1, ... that pairs the window and the position in it for each dimension; always on
    the CPU.
    """
    first = ops.arange.call(count, int64, "strided", CPU, None)
    second = ops.add_Scalar.call(first, count, 1)
    pairs = ops.cat.call([ops.unsqueeze.call(first, 1), ops.unsqueeze.call(second, 1)], 1)
    return ops.flatten_using_ints.call(pairs, 0, -1)


def tril_meta(op: Structured, self: Tensor, diagonal: int) -> None:
    """A contiguous result of the shape of self."""
    _triangular(op, "tril", self)


def triu_meta(op: Structured, self: Tensor, diagonal: int) -> None:
    """A contiguous result of the shape of self."""
    _triangular(op, "triu", self)


def _triangular(op: Structured, name: str, self: Tensor) -> None:
    if len(self._size) < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def tril(self: Tensor, diagonal: int, out: Tensor) -> None:
    """The elements on and below a diagonal, 0 elsewhere"""
    if out._array is not None:
        row, column = _row_and_column_indices(self)
        out._array[...] = _masked(self, column - row <= diagonal)


def triu(self: Tensor, diagonal: int, out: Tensor) -> None:
    """The elements on and above a diagonal, 0 elsewhere"""
    if out._array is not None:
        row, column = _row_and_column_indices(self)
        out._array[...] = _masked(self, column - row >= diagonal)


def _row_and_column_indices(self: Tensor) -> tuple[Any, Any]:
    xp = array_module(self._device.type)
    rows, columns = self._size[-2:]
    return xp.arange(rows).reshape(rows, 1), xp.arange(columns).reshape(1, columns)


def _masked(self: Tensor, indices: Any) -> Any:
    """The elements at the indices, zeros elsewhere, also in place of nan."""
    source = _batch_contiguous(self) if self._device.type == "cpu" and 0 not in self._size else self
    return array_module(self._device.type).where(indices, source._array, self._dtype.numpy.type(0))


def _batch_contiguous(self: Tensor) -> Tensor:
    """The tensor with contiguous strides between its matrices, which the CPU's loop requires
    (``checkTrilTriuBatchContiguous``).

    NB: in PyTorch, a tensor that is written in place may also have a first dimension of stride 0.
    """
    dense = contiguous_strides(self._size)
    if self._is_contiguous:
        return self if self._stride == dense else ops.as_strided.call(self, self._size, dense, None)
    step = math.prod(self._size[-2:])
    for length, stride in zip(self._size[-3::-1], self._stride[-3::-1], strict=True):
        if stride != step:
            return ops.contiguous.call(self, "contiguous_format")
        step *= length
    return self
