"""Memory formats that kernels choose for their inputs and results (``c10/core/MemoryFormat.h``)."""

from __future__ import annotations

from functools import lru_cache

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.geometry import channels_last_strides
from dispatchviz.core.tensor import Size, Tensor, contiguous_strides

CONTIGUOUS, CHANNELS_LAST = "contiguous_format", "channels_last"


def suggested(tensor: Tensor) -> str:
    """``suggest_memory_format``: channels_last for strides like those, also of views with gaps."""
    return CHANNELS_LAST if _like_channels_last(tensor._size, tensor._stride) else CONTIGUOUS


@lru_cache(maxsize=4096)
def _like_channels_last(size: Size, stride: Size) -> bool:
    """``is_channels_last_strides_2d``: the channels are the fastest, the batch the slowest."""
    if len(size) != 4 or stride[1] == 0:
        return False
    least = 0
    for dim in (1, 3, 2, 0):
        if size[dim] == 0 or stride[dim] < least or (dim == 0 and least == stride[1]):
            return False
        least = stride[dim] * max(size[dim], 1)
    return True


def strides_in(memory_format: str, size: Size) -> Size:
    """Dense strides."""
    return channels_last_strides(size) if memory_format == CHANNELS_LAST else contiguous_strides(size)


def in_format(tensor: Tensor, memory_format: str = CONTIGUOUS) -> Tensor:
    """``Tensor::contiguous``: no call of the operator if the tensor is so already."""
    if memory_format == CONTIGUOUS:
        fits = tensor._is_contiguous
    else:
        fits = memory_format == CHANNELS_LAST and is_channels_last(tensor._size, tensor._stride)
    return tensor if fits else ops.contiguous.call(tensor, memory_format)


def is_channels_last(size: Size, stride: Size) -> bool:
    """``is_contiguous(ChannelsLast)``"""
    if len(size) != 4:
        return False
    wanted = channels_last_strides(size)
    return 0 in size or all(n == 1 or a == b for n, a, b in zip(size, stride, wanted, strict=True))
