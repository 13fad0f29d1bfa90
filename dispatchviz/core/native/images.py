"""Convolution and pooling over images (``aten/src/ATen/native/Convolution.cpp``, ``DilatedMaxPool2d.cpp``).

NB: in PyTorch, ``convolution`` calls ``_convolution``, and that the operator of one of many libraries; here it
computes. Transposed and grouped convolutions and other ranks than two are not part of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import int64
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Size, Tensor, contiguous_strides

# -- convolution -------------------------------------------------------------------------------------------------------


def conv2d_symint(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Size, padding: Size, dilation: Size, groups: int
) -> Tensor:
    """Of one image or several."""
    if len(input._size) == 4:
        return ops.convolution.call(input, weight, bias, stride, padding, dilation, False, (0, 0), groups)
    if len(input._size) != 3:
        raise RuntimeError(
            f"Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: {list(input._size)}"
        )
    several = ops.unsqueeze.call(input, 0)
    result = ops.convolution.call(several, weight, bias, stride, padding, dilation, False, (0, 0), groups)
    return ops.squeeze_dim.call(result, 0)


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
) -> Tensor:
    """Each window of the image times the weights. NotImplementedError for what is not part of the model."""
    _refuse(input, transposed)
    stride, padding, dilation = _pair(stride), _pair(padding), _pair(dilation)
    size = tuple(
        (length + 2 * pad - step * (kernel - 1) - 1) // by + 1
        for length, pad, step, kernel, by in zip(
            input._size[2:], padding, dilation, weight._size[2:], stride, strict=True
        )
    )
    shape = (input._size[0], weight._size[0], *size)
    out = ops.empty_memory_format.call(shape, input._dtype, "strided", input._device, None, None)
    if out._array is None:
        return out
    padded, kernels, result = _grouped(_padded(input, padding), 1, groups), _grouped(weight._array, 0, groups), 0
    for at, window in _windows(weight, size, stride, dilation):
        result = result + _einsum(out, "ngchw,goc->ngohw", padded[window], kernels[(..., *at)])
    result = result.reshape(shape)  # type: ignore[attr-defined]
    out._array[...] = result if bias is None else result + bias._array.reshape(1, -1, 1, 1)
    return out


def _refuse(input: Tensor, transposed: bool) -> None:
    if transposed or len(input._size) != 4:
        raise NotImplementedError("only plain convolutions of two dimensions are part of the model")


def _pair(given: Size) -> Size:
    return (given[0], given[0]) if len(given) == 1 else tuple(given)


def _padded(input: Tensor, padding: Size) -> Any:
    xp: Any = array_module(input._device.type)
    return xp.pad(input._array, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))


def _grouped(array: Any, dim: int, groups: int) -> Any:
    """The channels of a dimension as groups of channels."""
    shape = array.shape
    return array.reshape(*shape[:dim], groups, shape[dim] // groups, *shape[dim + 1 :])


def _windows(weight: Tensor, size: Size, stride: Size, dilation: Size) -> Iterator[tuple[Size, Any]]:
    """For each place of the weights, the elements that it meets."""
    for at in product(*map(range, weight._size[2:])):
        starts = [place * step for place, step in zip(at, dilation, strict=True)]
        cuts = (
            slice(start, start + by * (length - 1) + 1, by)
            for start, by, length in zip(starts, stride, size, strict=True)
        )
        yield at, (..., *cuts)


def _einsum(like: Tensor, how: str, *operands: Any) -> Any:
    return array_module(like._device.type).einsum(how, *operands)


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Size | None,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
    output_mask: tuple[bool, ...],
) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias that are asked for."""
    _refuse(input, transposed)
    stride, padding, dilation = _pair(stride), _pair(padding), _pair(dilation)
    xp: Any = array_module(input._device.type)
    whole, grad = _padded(input, padding), _grouped(grad_output._array, 1, groups)
    padded, kernels = _grouped(whole, 1, groups), _grouped(weight._array, 0, groups)
    of_input, of_weight = xp.zeros_like(padded), xp.zeros_like(kernels)
    for at, window in _windows(weight, grad_output._size[2:], stride, dilation):
        of_input[window] += _einsum(input, "ngohw,goc->ngchw", grad, kernels[(..., *at)])
        of_weight[(..., *at)] = _einsum(input, "ngohw,ngchw->goc", grad, padded[window])
    rows, columns = input._size[2:]
    inside = of_input.reshape(whole.shape)[:, :, padding[0] : padding[0] + rows, padding[1] : padding[1] + columns]
    found = (inside, of_weight.reshape(weight._size), grad_output._array.sum((0, 2, 3)))
    return tuple(  # type: ignore[return-value]
        _tensor(input, array) if wanted else None for array, wanted in zip(found, output_mask, strict=True)
    )


def _tensor(like: Tensor, array: Any) -> Tensor:
    out = ops.empty_memory_format.call(array.shape, like._dtype, "strided", like._device, None, None)
    out._array[...] = array
    return out


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
