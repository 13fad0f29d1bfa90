"""The strides of new tensors that TensorIterator or a copy creates (``TensorIterator.cpp``, ``ExpandUtils.cpp``)."""

from __future__ import annotations

from functools import lru_cache

from dispatchviz.core.call.structured import broadcast_sizes
from dispatchviz.core.tensor.tensor import Size, contiguous_strides, is_contiguous, is_non_overlapping_and_dense

Geometry = tuple[Size, Size]
"""Size and stride of a tensor."""


@lru_cache(maxsize=4096)
def result_geometry(operands: tuple[Geometry, ...]) -> Geometry:
    """The size and strides of a new elementwise result. Raise RuntimeError if the operands cannot be broadcast.

    Operands of one shape that are all contiguous, all channels-last, or all have the same dense strides, pass these on
    to the result. Otherwise the result is dense, with the operands' order of dimensions.
    """
    size = operands[0][0]
    for its_size, _ in operands[1:]:
        size = broadcast_sizes(size, its_size)
    if all(its_size == size for its_size, _ in operands):
        if all(is_contiguous(*operand) for operand in operands):
            return size, contiguous_strides(size)
        if all(is_channels_last(*operand) for operand in operands):
            return size, channels_last_strides(size)
        stride = operands[0][1]
        if all(its == stride and is_dense(size, its) for _, its in operands):
            return size, stride
    return size, _dense_strides(size, [aligned_strides(size, *operand) for operand in operands])


@lru_cache(maxsize=4096)
def dense_strides_like(size: Size, stride: Size) -> Size:
    """The strides of a new dense tensor that keeps the order of dimensions (``infer_dense_strides``)."""
    return stride if is_dense(size, stride) else _dense_strides(size, [stride])


def is_dense(size: Size, stride: Size) -> bool:
    """Return whether the tensor is dense (``is_non_overlapping_and_dense``), which every empty tensor is."""
    return 0 in size or is_non_overlapping_and_dense(size, stride)


def channels_last_strides(size: Size) -> Size:
    """The strides of images or volumes whose second dimension is the fastest (``get_channels_last_strides_2d``,
    ``_3d``).

    A dimension of size 0 makes the strides of all slower dimensions 0, unlike contiguous strides.
    """
    strides, step = [0] * len(size), 1
    for dim in channels_last_order(len(size)):
        strides[dim] = step
        step *= size[dim]
    return tuple(strides)


def channels_last_order(rank: int) -> tuple[int, ...]:
    """The dimensions from the fastest to the slowest: channels, then the spatial ones from the innermost, then the
    batch.
    """
    return 1, *range(rank - 1, 1, -1), 0


def is_channels_last(size: Size, stride: Size) -> bool:
    """Return whether the strides are those of channels_last (``is_contiguous(ChannelsLast)``)."""
    return len(size) == 4 and has_channels_last(size, stride)


@lru_cache(maxsize=4096)
def has_channels_last(size: Size, stride: Size) -> bool:
    """Return whether images or volumes have these strides; the strides of dimensions of size 1 do not matter."""
    wanted = channels_last_strides(size)
    return all(length == 1 or a == b for length, a, b in zip(size, stride, wanted, strict=True))


def _dense_strides(size: Size, operands: list[Size]) -> Size:
    order = memory_order(size, operands)
    if order == list(reversed(range(len(size)))):
        return contiguous_strides(size)
    strides = [0] * len(size)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= size[dim]
    return tuple(strides)


def aligned_strides(size: Size, its_size: Size, stride: Size) -> Size:
    """An operand's strides in the dimensions of the result; those of broadcast dimensions are 0."""
    lead = len(size) - len(its_size)
    own = tuple(0 if a == 1 and b != 1 else s for a, b, s in zip(its_size, size[lead:], stride, strict=True))
    return (0,) * lead + own


def memory_order(size: Size, strides: list[Size]) -> list[int]:
    """The dimensions from the fastest to the slowest, by PyTorch's insertion sort (``reorder_dimensions``)."""
    order = list(reversed(range(len(size))))
    for i in range(1, len(order)):
        at = i
        for before in reversed(range(i)):
            order_of_two = compared(size, strides, order[before], order[at])
            if order_of_two > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif order_of_two < 0:
                break
    return order


def compared(size: Size, strides: list[Size], a: int, b: int) -> int:
    """Compare two dimensions: 1 if ``a`` must come after ``b``, -1 if not, 0 if a broadcast dimension leaves it
    undecided.
    """
    for stride in strides:
        if stride[a] == 0 or stride[b] == 0:
            continue
        if stride[a] != stride[b]:
            return -1 if stride[a] < stride[b] else 1
        if size[a] > size[b]:
            return 1
    return 0
