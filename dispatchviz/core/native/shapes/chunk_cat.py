"""``_chunk_cat``: tensors that are padded, chunked and concatenated chunk by chunk
(``aten/src/ATen/native/TensorShape.cpp``).
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Tensor, numel


def _chunk_cat(tensors: list[Tensor], dim: int, num_chunks: int) -> Tensor:
    """The first chunks of all tensors, then the second ones, and so on.

    Raise RuntimeError for tensors that do not fit together.
    """
    dim = _checked(tensors, dim, num_chunks)
    return ops.cat.call([_chunks(tensor, dim, num_chunks) for tensor in tensors], dim + 1)


def _chunk_cat_out(tensors: list[Tensor], dim: int, num_chunks: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_chunk_cat``."""
    dim = _checked(tensors, dim, num_chunks)
    return ops.cat_out.call([_chunks(tensor, dim, num_chunks) for tensor in tensors], dim + 1, out)


def _chunks(tensor: Tensor, dim: int, num_chunks: int) -> Tensor:
    """The tensor, padded with zeros until it can be chunked, with a dimension of chunks instead of ``dim``
    (``_pad_chunk``).
    """
    length = tensor._size[dim]
    padded = (length + num_chunks - 1) // num_chunks * num_chunks
    if padded != length:
        size = (*tensor._size[:dim], padded, *tensor._size[dim + 1 :])
        wider = ops.new_zeros.call(tensor, size, None, None, None, None)
        ops.copy_.call(ops.narrow.call(wider, dim, 0, length), tensor, False)
        tensor = wider
    return ops.reshape.call(tensor, (*tensor._size[:dim], num_chunks, -1))


def _checked(tensors: list[Tensor], dim: int, num_chunks: int) -> int:
    """The dimension, counted from 0. Raise RuntimeError for invalid arguments."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    for tensor in tensors:
        if not numel(tensor._size):
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if tensor._dtype is not tensors[0]._dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if tensor._device != tensors[0]._device:
            raise RuntimeError("_chunk_cat expects all inputs tensors on the same device")
    if len({len(tensor._size) for tensor in tensors}) == 1:
        dim = wrap_dim(dim, len(tensors[0]._size))
    elif dim < 0:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    elif any(dim >= len(tensor._size) for tensor in tensors):
        raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    if len({tensor._size[:dim] for tensor in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    return dim
