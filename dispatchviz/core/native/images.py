"""Convolution and pooling over images (``aten/src/ATen/native/Convolution.cpp``, ``DilatedMaxPool2d.cpp``).

NB: in PyTorch, ``convolution`` calls ``_convolution``, and that the operator of one of many libraries; here it
computes. Transposed and grouped convolutions and other ranks than two are not part of the model.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import int64
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Size, Tensor, contiguous_strides


def _pair(given: Size) -> Size:
    return (given[0], given[0]) if len(given) == 1 else tuple(given)


# -- max_pool2d --------------------------------------------------------------------------------------------------------


def max_pool2d(self: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool) -> Tensor:
    """The first result of ``max_pool2d_with_indices``."""
    return ops.max_pool2d_with_indices.call(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool2d_with_indices_meta(
    op: tuple[Structured, Structured],
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
) -> None:
    """One element per window, and its place in the image."""
    if ceil_mode or any(_pair(padding)) or _pair(dilation) != (1, 1):
        raise NotImplementedError("max_pool2d with padding, dilation or ceil_mode is not part of the model")
    if len(self._size) not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    kernel, by = _pair(kernel_size), _pair(stride or kernel_size)
    lengths = zip(self._size[-2:], kernel, by, strict=True)
    size = (*self._size[:-2], *((length - window) // step + 1 for length, window, step in lengths))
    op[0].set_output_raw_strided(size, contiguous_strides(size), self._dtype, self._device)
    op[1].set_output_raw_strided(size, contiguous_strides(size), int64, self._device)


def max_pool2d_with_indices_out(
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
) -> None:
    """The largest of each window; the first of several"""
    xp: Any = array_module(self._device.type)
    kernel, by = _pair(kernel_size), _pair(stride or kernel_size)
    height, width = out._size[-2:]
    candidates, places = [], []
    rows, columns = xp.arange(height) * by[0], xp.arange(width) * by[1]
    for y, x in product(*map(range, kernel)):
        cut = (slice(y, y + by[0] * (height - 1) + 1, by[0]), slice(x, x + by[1] * (width - 1) + 1, by[1]))
        candidates.append(self._array[(..., *cut)])
        places.append((rows + y)[:, None] * self._size[-1] + (columns + x)[None, :])
    stacked, placed = xp.stack(candidates), xp.stack(places)
    best = xp.argmax(stacked, 0)
    out._array[...] = xp.take_along_axis(stacked, best[None], 0)[0]
    indices._array[...] = placed[best, xp.arange(height)[:, None], xp.arange(width)[None, :]]


def max_pool2d_with_indices_backward_meta(
    op: Structured,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    indices: Tensor,
) -> None:
    """The shape of self."""
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def max_pool2d_with_indices_backward_out(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    indices: Tensor,
    grad_input: Tensor,
) -> None:
    """Zeros with the gradient added at the places that were chosen"""
    ops.zero_.call(grad_input)
    xp: Any = array_module(self._device.type)
    planes = grad_input._array.reshape(-1, self._size[-2] * self._size[-1])
    places = indices._array.reshape(planes.shape[0], -1)
    xp.add.at(planes, (xp.arange(planes.shape[0])[:, None], places), grad_output._array.reshape(places.shape))
