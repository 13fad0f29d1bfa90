"""``pixel_shuffle``, ``pixel_unshuffle``, ``channel_shuffle``.

Mirrors ``aten/src/ATen/native/PixelShuffle.cpp`` and ``ChanelShuffle.cpp``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format, suggested
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

# -- pixels ------------------------------------------------------------------------------------------------------------


def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """(*, C r r, H, W) rearranged to (*, C, H r, W r). Raise RuntimeError if that is not possible."""
    size, r = _check_pixels("pixel_shuffle", self, "upscale_factor", upscale_factor), upscale_factor
    *batch, channels, height, width = size
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    whole = (*batch, channels // (r * r), height * r, width * r)

    def shuffled(x: Any) -> Any:
        return x.reshape(-1, channels // (r * r), r, r, height, width).transpose(0, 1, 4, 2, 5, 3).reshape(whole)

    return _rearranged(self, whole, shuffled)


def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    """(*, C, H r, W r) rearranged to (*, C r r, H, W). Raise RuntimeError if that is not possible."""
    size, r = _check_pixels("pixel_unshuffle", self, "downscale_factor", downscale_factor), downscale_factor
    *batch, channels, height, width = size
    for name, index, length in (("height", -2, height), ("width", -1, width)):
        if length % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({index})={length} "
                f"is not divisible by {r}"
            )
    if not numel(size):
        return ops.clone.call(self, None)
    whole = (*batch, channels * r * r, height // r, width // r)

    def unshuffled(x: Any) -> Any:
        return x.reshape(-1, channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4).reshape(whole)

    return _rearranged(self, whole, unshuffled)


def math_pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """``pixel_shuffle`` by views and copies."""
    r = upscale_factor
    _check_pixels("pixel_shuffle", self, "upscale_factor", r)
    *batch, channels, height, width = self._size
    c = channels // (r * r)
    parts = ops.reshape.call(self, (*batch, c, r, r, height, width))
    rank = len(batch)
    order = (*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2)
    return _reshaped_copy(ops.permute.call(parts, order), (*batch, c, height * r, width * r))


def math_pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    """``pixel_unshuffle`` by views and copies."""
    r = downscale_factor
    _check_pixels("pixel_unshuffle", self, "downscale_factor", r)
    *batch, channels, height, width = self._size
    parts = ops.reshape.call(self, (*batch, channels, height // r, r, width // r, r))
    rank = len(batch)
    order = (*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3)
    return _reshaped_copy(ops.permute.call(parts, order), (*batch, channels * r * r, height // r, width // r))


def _reshaped_copy(permuted: Tensor, size: Size) -> Tensor:
    return ops.view.call(ops.clone.call(permuted, "contiguous_format"), size)


def _check_pixels(name: str, self: Tensor, factor_name: str, factor: int) -> Size:
    if len(self._size) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(self._size)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {factor_name}, but got {factor}")
    return self._size


def _rearranged(self: Tensor, size: Size, function: Any) -> Tensor:
    """A new tensor in the suggested memory format, with the elements rearranged by an array function."""
    memory_format = suggested(self)
    output = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    ops.resize_.call(output, size, memory_format)
    if numel(size) and output._array is not None:
        store(output, function(in_format(self, memory_format)._array))
    return output


# -- channels ----------------------------------------------------------------------------------------------------------


def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    """The channels of ``groups`` groups interleaved: the first of each group, then the second ones.

    Raise RuntimeError if that is not possible.
    """
    return ops.native_channel_shuffle.call(_check_channels(self, groups), groups)


def _check_channels(self: Tensor, groups: int) -> Tensor:
    if len(self._size) <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self._size)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if self._size[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {self._size[1]} channels and {groups} groups."
        )
    return self


def channel_shuffle_cpu(self: Tensor, groups: int) -> Tensor:
    """``channel_shuffle`` by one loop."""
    _check_channels(self, groups)
    if not numel(self._size):
        return ops.alias.call(self)
    batch, channels = self._size[:2]
    parts = (batch, groups, channels // groups, -1)
    return _rearranged(self, self._size, lambda x: x.reshape(parts).swapaxes(1, 2).reshape(self._size))


def math_channel_shuffle(self: Tensor, groups: int) -> Tensor:
    """``channel_shuffle`` by views and a copy."""
    _check_channels(self, groups)
    batch, channels = self._size[:2]
    parts = ops.view.call(self, (batch, groups, channels // groups, -1))
    moved = in_format(ops.permute.call(parts, (0, 2, 1, 3)))
    return ops.reshape.call(moved, self._size)
