"""Memory overlap: ``assert_no_overlap``, ``assert_no_partial_overlap``, ``assert_no_internal_overlap``
(``aten/src/ATen/MemoryOverlap.cpp``).

Rule 1: an output that partially overlaps a dense operand is refused; other operands are not checked.
Rule 2: a loop over overlapping memory that is not refused reads the values that it has already written, in the order
of the output's memory.
NB: PyTorch reads runs of 8 or more contiguous elements at once. Here each element is read just before it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy

from dispatchviz.core.call.structured import check_no_internal_overlap
from dispatchviz.core.native.iterator.strides import is_dense
from dispatchviz.core.tensor.tensor import Tensor, numel


def check_no_partial_overlap(output: Tensor, operands: tuple[Tensor, ...]) -> None:
    """Raise RuntimeError if the output shares a part of its memory with an operand."""
    for operand in operands:
        if operand is not output and operand._storage is output._storage and _overlap_partly(output, operand):
            raise _overlap()


def check_no_overlap(output: Tensor, operands: tuple[Tensor, ...]) -> None:
    """Raise RuntimeError if the output overlaps itself or shares any memory with an operand (``assert_no_overlap``)."""
    check_no_internal_overlap(output)
    for operand in operands:
        if operand is output or (operand._storage is output._storage and _overlap_at_all(output, operand)):
            raise _overlap()


def _overlap() -> RuntimeError:
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
        "memory location. Please clone() the tensor before performing the operation."
    )


def _overlap_at_all(a: Tensor, b: Tensor) -> bool:
    return _overlap_partly(a, b) or (
        numel(a._size) > 0 and (_begin(a), a._size, a._stride) == (_begin(b), b._size, b._stride)
    )


def _overlap_partly(a: Tensor, b: Tensor) -> bool:
    """Return whether two dense tensors overlap partially. Others are not examined (``MemOverlapStatus::TooHard``)."""
    if 0 in a._size or 0 in b._size or not (is_dense(a._size, a._stride) and is_dense(b._size, b._stride)):
        return False
    begin_a, begin_b = _begin(a), _begin(b)
    end_a, end_b = begin_a + _extent(a), begin_b + _extent(b)
    if (begin_a, end_a) == (begin_b, end_b):
        return a._stride != b._stride
    return begin_a < end_b and begin_b < end_a


def _begin(tensor: Tensor) -> int:
    """The start of a tensor in bytes, because views may read a storage as another dtype."""
    return tensor._offset * tensor._dtype.itemsize


def _extent(tensor: Tensor) -> int:
    last = sum((length - 1) * step for length, step in zip(tensor._size, tensor._stride, strict=True))
    return (1 + last) * tensor._dtype.itemsize


# -- rule 2: reading written values ------------------------------------------------------------------------------------


def reads_what_it_writes(output: Tensor, *operands: Tensor) -> bool:
    """Return whether an operand is a different view of the output's memory."""
    storage = output._storage
    return any(t._storage is storage and t is not output and _geometry(t) != _geometry(output) for t in operands)


def _geometry(tensor: Tensor) -> tuple[Any, ...]:
    return tensor._size, tensor._stride, tensor._offset


def element_by_element(function: Callable[..., Any], output: Any, arrays: list[Any]) -> None:
    """Write ``function`` of the elements of arrays that broadcast to ``output``, one element after the other."""
    wide = [numpy.broadcast_to(array, output.shape) for array in arrays]
    for index in _indices_in_memory_order(output):
        output[index] = function(*[array[index] for array in wide])


def _indices_in_memory_order(output: Any) -> Iterator[tuple[int, ...]]:
    """Yield the indices in the order of memory: the last of the sorted dimensions runs fastest."""
    dims = sorted(range(output.ndim), key=lambda dim: -output.strides[dim])
    for steps in product(*(range(output.shape[dim]) for dim in dims)):
        index = dict(zip(dims, steps, strict=True))
        yield tuple(index[dim] for dim in range(output.ndim))


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both tensors view the same memory with the same geometry."""
    return self._storage is tensor._storage and _geometry(self) == _geometry(tensor)
