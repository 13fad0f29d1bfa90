"""``im2col``, ``col2im``: sliding windows as columns, and their inverse (``aten/src/ATen/native/Im2Col.cpp``,
``Col2Im.cpp``).

``torch.nn.functional`` calls them unfold and fold.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Size, Tensor


def im2col(self: Tensor, kernel_size: Size, dilation: Size, padding: Size, stride: Size) -> Tensor:
    """The windows as columns (N, C * kernel, windows), also of a single image."""
    _check_lengths(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    output = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    _check_positive(kernel_size=kernel_size, dilation=dilation, stride=stride)
    _check_padding(padding)
    blocks = _check_image(self, kernel_size, dilation, padding, stride)
    input = in_format(self)
    alone = len(self._size) == 3
    if alone:
        input = ops.view.call(input, (1, *self._size))
    rows, count = input._size[1] * math.prod(kernel_size), math.prod(blocks)
    ops.resize_.call(output, (input._size[0], rows, count), None)
    if not (self._dtype.can_require_grad or self._dtype is bool_):
        raise not_implemented("im2col_out_cpu", self._dtype)
    _select_each(input, output)
    if output._array is not None:
        output._array[...] = _columns(input, kernel_size, dilation, padding, stride, blocks).reshape(output._size)
    if alone:
        ops.resize_.call(output, (rows, count), None)
    return output


def col2im(self: Tensor, output_size: Size, kernel_size: Size, dilation: Size, padding: Size, stride: Size) -> Tensor:
    """The image (N, C, *output_size) in which overlapping windows are added up."""
    output = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    _check_lengths(output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    _check_positive(kernel_size=kernel_size, dilation=dilation, stride=stride)
    _check_padding(padding)
    blocks = _check_columns(self, output_size, kernel_size, dilation, padding, stride)
    input = in_format(self)
    alone = len(self._size) == 2
    if alone:
        input = ops.view.call(input, (1, *self._size))
    channels = input._size[1] // math.prod(kernel_size)
    ops.resize_.call(output, (input._size[0], channels, *output_size), None)
    _check_dtype("col2im_out_cpu", self)
    _select_each(input, output)
    if output._array is not None:
        _add_up(output, input, kernel_size, dilation, padding, stride, blocks)
    if alone:
        ops.resize_.call(output, (channels, *output_size), None)
    return output


def _check_dtype(name: str, self: Tensor) -> None:
    if not self._dtype.can_require_grad:
        raise not_implemented(name, self._dtype)


def _select_each(input: Tensor, output: Tensor) -> None:
    for index in range(input._size[0]):
        ops.select_int.call(input, 0, index)
        ops.select_int.call(output, 0, index)


# -- windows -----------------------------------------------------------------------------------------------------------


def _windows(size: Size, dilation: Size, stride: Size, blocks: Size) -> Any:
    """An index of the padded image that selects the elements of each kernel position."""
    for y in range(size[0]):
        for x in range(size[1]):
            starts = (y * dilation[0], x * dilation[1])
            slices = (
                slice(start, start + step * (count - 1) + 1, step)
                for start, step, count in zip(starts, stride, blocks, strict=True)
            )
            yield (y, x), (..., *slices)


def _columns(input: Tensor, kernel_size: Size, dilation: Size, padding: Size, stride: Size, blocks: Size) -> Any:
    xp: Any = array_module(input._device.type)
    padded = xp.pad(input._array, ((0, 0), (0, 0), *((pad, pad) for pad in padding)))
    found = xp.zeros((*input._size[:2], *kernel_size, *blocks), input._array.dtype)
    for (y, x), window in _windows(kernel_size, dilation, stride, blocks):
        found[:, :, y, x] = padded[window]
    return found


def _add_up(
    output: Tensor, input: Tensor, kernel_size: Size, dilation: Size, padding: Size, stride: Size, blocks: Size
) -> None:
    xp: Any = array_module(input._device.type)
    height, width = output._size[2:]
    count, channels = output._size[:2]
    columns = input._array.reshape(count, channels, *kernel_size, *blocks)
    whole = xp.zeros((count, channels, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
    for (y, x), window in _windows(kernel_size, dilation, stride, blocks):
        whole[window] += columns[:, :, y, x]
    output._array[...] = whole[:, :, padding[0] : padding[0] + height, padding[1] : padding[1] + width]


# -- checks ------------------------------------------------------------------------------------------------------------


def _check_lengths(**given: Size) -> None:
    for name, value in given.items():
        if len(value) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")


def _check_positive(**given: Size) -> None:
    for name, value in given.items():
        if min(value) <= 0:
            called, side = name.replace("_", " "), name.replace("_size", "")
            raise RuntimeError(
                f"{called} should be greater than zero, but got {side}_height: {value[0]} {side}_width: {value[1]}"
            )


def _check_padding(padding: Size) -> None:
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")


def _pair(value: Size) -> str:
    return f"({value[0]}, {value[1]})"


def _blocks(space: Size, kernel_size: Size, dilation: Size, padding: Size, stride: Size) -> Size:
    lengths = zip(space, kernel_size, dilation, padding, stride, strict=True)
    return tuple((n + 2 * pad - by * (width - 1) - 1) // step + 1 for n, width, by, pad, step in lengths)


def _check_image(self: Tensor, kernel_size: Size, dilation: Size, padding: Size, stride: Size) -> Size:
    size = self._size
    rank = len(size)
    valid = all(size[-3:]) and (rank == 3 or (rank == 4 and size[1] and size[2] and size[3]))
    if rank not in (3, 4) or not valid:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(size)}"
        )
    blocks = _blocks(size[-2:], kernel_size, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {_pair(size[-2:])}, kernel_size={_pair(kernel_size)}, "
            f"dilation={_pair(dilation)}, padding={_pair(padding)}, calculated shape of the array of sliding blocks "
            f"as {_pair(blocks)}, but its components must be at least one."
        )
    return blocks


def _check_columns(
    self: Tensor, output_size: Size, kernel_size: Size, dilation: Size, padding: Size, stride: Size
) -> Size:
    rank = len(self._size)
    if rank not in (2, 3) or not all(self._size[-2:]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(self._size)}"
        )
    dim, area = rank - 2, math.prod(kernel_size)
    if self._size[dim] % area:
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self._size[dim]} and kernel_size={_pair(kernel_size)}."
        )
    blocks = _blocks(output_size, kernel_size, dilation, padding, stride)
    if self._size[-1] != math.prod(blocks):
        raise RuntimeError(
            f"Given output_size={_pair(output_size)}, kernel_size={_pair(kernel_size)}, dilation={_pair(dilation)}, "
            f"padding={_pair(padding)}, stride={_pair(stride)}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {blocks[0]} * {blocks[1]} = {math.prod(blocks)}, but got "
            f"input.size(2)={self._size[-1]}."
        )
    return blocks
