"""``cpu_kernel_vec``: CPU loops with a scalar and a vectorized form (``cpu_kernel_vec`` in
``aten/src/ATen/native/cpu/Loops.h``).

Rule 1: the vectorized form processes blocks of two vectors of 32 bytes along the innermost dimension. It requires
adjacent elements in every operand; one operand may be a single element. The scalar form processes the rest, and rows
of other strides.
Rule 2: in half and bfloat16 the two forms may round differently. A vector is computed in float32 and rounded once; a
single element is rounded after each step. For other dtypes there is no difference.
NB: PyTorch divides more than 32768 elements among its threads, and each part has its own rest.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy

from dispatchviz.core.native.iterator.strides import aligned_strides, dense_strides_like, memory_order
from dispatchviz.core.native.iterator.tensor_iterator import compute
from dispatchviz.core.tensor.dtype import REDUCED, DType
from dispatchviz.core.tensor.tensor import Size, Tensor

_BLOCK = 64
"""The number of bytes of a block: two AVX2 vectors."""


def compute_vectorized(
    out: Tensor, dtype: DType, function: Callable[..., Any], *operands: Tensor, steps: Callable[..., Any] | None = None
) -> None:
    """``compute`` whose scalar form rounds half and bfloat16 after each step; ``steps`` is that form if it differs."""
    if dtype not in REDUCED or out._device.type != "cpu" or not out._array.size:
        return compute(out, dtype, function, *operands)

    def forms(*arrays: Any) -> Any:
        indices = scalar_elements(out, dtype, operands)
        rounded = (steps or function)(*[array.astype(dtype.numpy) for array in arrays])
        return numpy.where(indices, rounded.astype(arrays[0].dtype), function(*arrays))

    return compute(out, dtype, forms, *operands)


def scalar_elements(out: Tensor, dtype: DType, operands: tuple[Tensor, ...]) -> Any:
    """A mask of the elements for which the loop runs its scalar form."""
    size = out._size
    strides = [out._stride, *(_own_strides(size, tensor, dtype) for tensor in operands)]
    run = _innermost_run(size, strides)
    length = prod(size[dim] for dim in run)
    block = _BLOCK // dtype.itemsize
    limit = length // block * block if _is_vectorizable(size, strides, run) else 0
    return _positions(size, run) >= limit


def _own_strides(size: Size, tensor: Tensor, dtype: DType) -> Size:
    stride = tensor._stride if tensor._dtype is dtype else dense_strides_like(tensor._size, tensor._stride)
    return aligned_strides(size, tensor._size, stride)


def _innermost_run(size: Size, strides: list[Size]) -> list[int]:
    """The innermost dimensions, the fastest first, that all operands can treat as one (``coalesce_dimensions``)."""
    run: list[int] = []
    for dim in memory_order(size, strides):
        if size[dim] == 1:
            continue
        if run and any(stride[run[-1]] * size[run[-1]] != stride[dim] for stride in strides):
            break
        run.append(dim)
    return run


def _is_vectorizable(size: Size, strides: list[Size], run: list[int]) -> bool:
    """Return whether all steps are one element, with at most one operand whose step is 0."""
    steps = [stride[run[0]] if run else 1 for stride in strides]
    return steps[0] == 1 and steps.count(0) <= 1 and set(steps) <= {0, 1}


def _positions(size: Size, run: list[int]) -> Any:
    """The position of each element in its run."""
    position = numpy.zeros((1,) * len(size), numpy.int64)
    step = 1
    for dim in run:
        index = numpy.arange(size[dim]) * step
        position = position + index.reshape([-1 if i == dim else 1 for i in range(len(size))])
        step *= size[dim]
    return numpy.broadcast_to(position, size)
