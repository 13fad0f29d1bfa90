"""Pooling windows of arrays: the input elements that each kernel position meets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.pooling.pool_shapes import Windows
from dispatchviz.core.tensor.tensor import Size


def lower_bound(dtype: Any, xp: Any) -> Any:
    """The smallest value of a dtype: minus infinity for floating ones."""
    return -xp.inf if dtype.kind == "f" or (dtype.itemsize == 2 and dtype.kind == "V") else xp.iinfo(dtype).min


def padded(xp: Any, array: Any, windows: Windows, space: Size, value: Any) -> Any:
    """The array padded on both sides, and as far as the last window reaches."""
    sides = [(0, 0)] * (array.ndim - len(space))
    lengths = zip(array.shape[array.ndim - len(space) :], space, *windows, strict=True)
    for length, count, kernel, stride, pad, by in lengths:
        reach = (count - 1) * stride + by * (kernel - 1) + 1
        sides.append((pad, max(pad, reach - length - pad)))
    return xp.pad(array, sides, constant_values=value) if any(map(any, sides)) else array


def kernel_positions(windows: Windows, space: Size) -> Iterator[tuple[Size, Any]]:
    """Yield each kernel position with the index of the elements of the padded array that it meets."""
    for at in product(*map(range, windows.kernel)):
        slices = (
            slice(index * by, index * by + stride * (count - 1) + 1, stride)
            for index, by, stride, count in zip(at, windows.dilation, windows.stride, space, strict=True)
        )
        yield at, (..., *slices)


def flat_indices(xp: Any, lengths: Size, windows: Windows, space: Size) -> tuple[Any, Any]:
    """The flat index of the element that each kernel position meets, and whether it is inside the array."""
    numbers, inside = [], []
    for at in product(*map(range, windows.kernel)):
        number: Any = 0
        valid: Any = True
        for dim, (length, count) in enumerate(zip(lengths, space, strict=True)):
            where = xp.arange(count) * windows.stride[dim] - windows.padding[dim] + at[dim] * windows.dilation[dim]
            where = where.reshape(-1, *(1 for _ in space[dim + 1 :]))
            number = number * length + where
            valid = valid & (where >= 0) & (where < length)
        numbers.append(xp.broadcast_to(number, space))
        inside.append(xp.broadcast_to(valid, space))
    return xp.stack(numbers), xp.stack(inside)


def max_with_indices(xp: Any, array: Any, windows: Windows, space: Size) -> tuple[Any, Any]:
    """The maximum of each window and its flat index: the first of several, or the last nan."""
    lengths = array.shape[array.ndim - len(space) :]
    whole = padded(xp, array, windows, space, lower_bound(array.dtype, xp))
    stacked = xp.stack([whole[window] for _, window in kernel_positions(windows, space)])
    numbers, inside = flat_indices(xp, lengths, windows, space)
    best = xp.argmax(stacked, 0)
    if array.dtype.kind == "f":
        odd = xp.isnan(stacked)
        if odd.any():
            last = stacked.shape[0] - 1 - xp.argmax(odd[::-1], 0)
            best = xp.where(odd.any(0), last, best)
    grid = xp.ogrid[tuple(slice(0, count) for count in space)]
    best = xp.where(inside[(best, *grid)], best, xp.argmax(inside, 0))
    return xp.take_along_axis(stacked, best[None], 0)[0], numbers[(best, *grid)]


def scattered(xp: Any, zeros: Any, numbers: Any, grad: Any, dims: int) -> None:
    """Add each gradient to the element with the given flat index, in place."""
    planes = zeros.reshape(-1, math.prod(zeros.shape[zeros.ndim - dims :]))
    flat = numbers.reshape(planes.shape[0], -1)
    add_at(planes, (xp.arange(planes.shape[0])[:, None], flat), grad.reshape(flat.shape))


def divisors(
    xp: Any, lengths: Size, windows: Windows, space: Size, count_include_pad: bool, divisor_override: int | None
) -> Any:
    """The divisor of each window's sum."""
    if divisor_override is not None:
        return xp.full(space, divisor_override)
    found: Any = 1
    for dim, (length, count) in enumerate(zip(lengths, space, strict=True)):
        kernel, stride, pad = windows.kernel[dim], windows.stride[dim], windows.padding[dim]
        start = xp.arange(count) * stride - pad
        end = xp.minimum(start + kernel, length + pad)
        if not count_include_pad:
            start, end = xp.maximum(start, 0), xp.minimum(end, length)
        found = found * (end - start).reshape(-1, *(1 for _ in space[dim + 1 :]))
    return xp.broadcast_to(found, space)
