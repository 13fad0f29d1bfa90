"""Memory that an output shares with an operand (``aten/src/ATen/MemoryOverlap.cpp``)."""

from __future__ import annotations

from dispatchviz.core.native.geometry import is_dense
from dispatchviz.core.tensor import Tensor


def check_no_partial_overlap(output: Tensor, operands: tuple[Tensor, ...]) -> None:
    """RuntimeError if a tensor that is to be written shares a part of its memory with an operand."""
    for operand in operands:
        if operand is not output and operand._storage is output._storage and _overlap_partly(output, operand):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )


def _overlap_partly(a: Tensor, b: Tensor) -> bool:
    """Dense tensors only: in others nobody looks (``MemOverlapStatus::TooHard``)."""
    if 0 in a._size or 0 in b._size or not (is_dense(a._size, a._stride) and is_dense(b._size, b._stride)):
        return False
    begin_a, begin_b = _begin(a), _begin(b)
    end_a, end_b = begin_a + _extent(a), begin_b + _extent(b)
    if (begin_a, end_a) == (begin_b, end_b):
        return a._stride != b._stride
    return begin_a < end_b and begin_b < end_a


def _begin(tensor: Tensor) -> int:
    """In bytes, as views may read a storage as another dtype."""
    return tensor._offset * tensor._dtype.itemsize


def _extent(tensor: Tensor) -> int:
    last = sum((length - 1) * step for length, step in zip(tensor._size, tensor._stride, strict=True))
    return (1 + last) * tensor._dtype.itemsize
