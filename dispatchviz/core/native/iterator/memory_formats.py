"""``suggest_memory_format``: the memory formats that kernels choose for inputs and results
(``c10/core/MemoryFormat.h``)."""

from __future__ import annotations

from functools import lru_cache

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.strides import channels_last_order, channels_last_strides, has_channels_last
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides

CONTIGUOUS, CHANNELS_LAST, CHANNELS_LAST_3D = "contiguous_format", "channels_last", "channels_last_3d"
RANKS = {CHANNELS_LAST: 4, CHANNELS_LAST_3D: 5}
"""The rank of a tensor in each memory format."""


def suggested(tensor: Tensor) -> str:
    """The memory format that the strides suggest, also for views with gaps (``suggest_memory_format``)."""
    if not _like_channels_last(tensor._size, tensor._stride):
        return CONTIGUOUS
    return CHANNELS_LAST if len(tensor._size) == 4 else CHANNELS_LAST_3D


@lru_cache(maxsize=4096)
def _like_channels_last(size: Size, stride: Size) -> bool:
    """Return whether channels are the fastest dimension and the batch the slowest (``is_channels_last_strides_2d`` and
    ``_3d``).
    """
    if len(size) not in (4, 5) or stride[1] == 0:
        return False
    least = 0
    for dim in channels_last_order(len(size)):
        if size[dim] == 0 or stride[dim] < least or (dim == 0 and least == stride[1]):
            return False
        least = stride[dim] * max(size[dim], 1)
    return True


def of_either(input: Tensor, weight: Tensor) -> str:
    """The channels-last format if the input or the weights suggest it, else the contiguous one."""
    return next((found for found in (suggested(input), suggested(weight)) if found != CONTIGUOUS), CONTIGUOUS)


def strides_in(memory_format: str, size: Size) -> Size:
    """The dense strides of a size in a memory format."""
    return channels_last_strides(size) if memory_format in RANKS else contiguous_strides(size)


def check_rank(memory_format: str, size: Size) -> None:
    """Raise RuntimeError for images or volumes of another rank."""
    rank = RANKS.get(memory_format)
    if rank is not None and len(size) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format} format")


def in_format(tensor: Tensor, memory_format: str = CONTIGUOUS) -> Tensor:
    """``Tensor::contiguous``: the tensor itself, without a call, if it has the format already."""
    return tensor if is_in_format(tensor, memory_format) else ops.contiguous.call(tensor, memory_format)


def is_in_format(tensor: Tensor, memory_format: str) -> bool:
    """``is_contiguous(memory_format)``; ``preserve_format`` also requires a contiguous tensor."""
    rank = RANKS.get(memory_format)
    if rank is None:
        return tensor._is_contiguous
    return len(tensor._size) == rank and has_channels_last(tensor._size, tensor._stride)
