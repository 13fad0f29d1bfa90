"""``adaptive_avg_pool1d/2d/3d``, ``adaptive_max_pool1d/2d/3d`` (``aten/src/ATen/native/AdaptiveAveragePooling.cpp``,
``AdaptiveAveragePooling3d.cpp``, ``AdaptiveMaxPooling2d.cpp``, ``AdaptiveMaxPooling3d.cpp``)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from dispatchviz.core.call.structured import Structured, resize
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.factories.empty_full import check_size
from dispatchviz.core.native.iterator.argument_checks import TensorArg, check_dim_range
from dispatchviz.core.native.iterator.memory_formats import CHANNELS_LAST, CONTIGUOUS, in_format, strides_in, suggested
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, not_implemented, quiet, store
from dispatchviz.core.native.pooling.max_pool import add_at_indices, empty_of
from dispatchviz.core.native.pooling.pool_shapes import check_1d
from dispatchviz.core.tensor.dtype import REDUCED, int64
from dispatchviz.core.tensor.tensor import Size, Tensor

Two = tuple[Tensor, Tensor]


def _regions(space: Size, output_size: Size) -> Iterator[tuple[Size, Any]]:
    """Yield each output index with its input region; regions may overlap."""
    for at in product(*map(range, output_size)):
        lengths = zip(at, space, output_size, strict=True)
        yield at, tuple(slice(i * n // count, -(-(i + 1) * n // count)) for i, n, count in lengths)


def _check_not_empty(name: str, self: Tensor, ranks: tuple[int, int], colon: str = "") -> None:
    if len(self._size) not in ranks:
        raise RuntimeError(f"{name}(): Expected {ranks[0]}D or {ranks[1]}D tensor, but got{colon} {list(self._size)}")
    for dim in range(len(self._size) - ranks[0] + 1, len(self._size)):
        if self._size[dim] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(self._size)} with dimension {dim} being empty"
            )


# -- means -------------------------------------------------------------------------------------------------------------


def adaptive_avg_pool1d(self: Tensor, output_size: Size) -> Tensor:
    """Adaptive average pooling of rows, as images one element high."""
    check_dim_range("adaptive_avg_pool1d", TensorArg(self, "self", 1), 2, 4)
    check_1d("adaptive_avg_pool1d", "output_size", output_size)
    lines = ops.unsqueeze.call(self, -2)
    return ops.squeeze_dim.call(ops.adaptive_avg_pool2d.call(lines, (1, *output_size)), -2)


def adaptive_avg_pool2d_symint(self: Tensor, output_size: Size) -> Tensor:
    """The mean if the output has one element, else ``_adaptive_avg_pool2d``."""
    _check_output_size("adaptive_avg_pool2d", output_size, 2)
    if tuple(output_size) != (1, 1):
        return ops._adaptive_avg_pool2d.call(self, output_size)
    out = ops.mean_dim.call(self, (-1, -2), True, None)
    if suggested(self) == CHANNELS_LAST:
        count, channels = self._size[:2]
        strides = (channels, 1, channels, channels)
        ops.as_strided_.call(out, (count, channels, 1, 1), strides, None)
    return out


def adaptive_avg_pool3d_symint(self: Tensor, output_size: Size) -> Tensor:
    """The mean if the output has one element, else ``_adaptive_avg_pool3d``."""
    _check_output_size("adaptive_avg_pool3d", output_size, 3)
    if tuple(output_size) == (1, 1, 1):
        return ops.mean_dim.call(self, (-1, -2, -3), True, None)
    return ops._adaptive_avg_pool3d.call(self, output_size)


def _check_output_size(name: str, output_size: Size, dims: int) -> None:
    if len(output_size) != dims:
        raise RuntimeError(f"{name}: output_size must be {dims}")
    if min(output_size) < 0:
        listed = f"{output_size[0]}, " + ",".join(map(str, output_size[1:]))
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{listed}}}"
        )


def adaptive_avg_pool2d(self: Tensor, output_size: Size) -> Tensor:
    """The mean of each region."""
    output = empty_of(self)
    _check_not_empty("adaptive_avg_pool2d", self, (3, 4))
    size = (*self._size[:-2], *output_size)
    ops.resize_.call(output, size, None)
    resize(output, size, strides_in(suggested(self), size))
    _put_means("adaptive_avg_pool2d", self, output, 2)
    return output


def adaptive_avg_pool3d(self: Tensor, output_size: Size) -> Tensor:
    """The mean of each region."""
    output = empty_of(self)
    _check_not_empty("adaptive_avg_pool3d", self, (4, 5))
    ops.resize_.call(output, (*self._size[:-3], *output_size), None)
    _put_means("adaptive_avg_pool3d_cpu", self, output, 3)
    return output


def _put_means(name: str, self: Tensor, output: Tensor, dims: int) -> None:
    if not self._dtype.is_floating_point:
        raise not_implemented(name, self._dtype)
    stepwise = dims == 3 and self._dtype in REDUCED
    array = self._array if stepwise else converted(self._array, accumulated(self._dtype))
    found = array_module(self._device.type).empty(output._size, array.dtype)
    mean = _stepwise_mean if stepwise else _mean
    for at, region in _regions(self._size[-dims:], output._size[-dims:]):
        found[(..., *at)] = quiet.run(mean, array[(..., *region)], dims)
    store(output, found)


def _mean(part: Any, dims: int) -> Any:
    return part.mean(tuple(range(-dims, 0)))


def _stepwise_mean(part: Any, dims: int) -> Any:
    """The mean of a region; each addition and each division is rounded."""
    space = part.shape[-dims:]
    total = part[(..., *(0 for _ in space))] * 0
    for at in product(*map(range, space)):
        total = total + part[(..., *at)]
    return _divided(total, space)


def _divided(total: Any, space: Size) -> Any:
    """A sum divided by one length of the region after the other."""
    for length in space:
        total = total / total.dtype.type(length)
    return total


def adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient divided by the size of each region, added to its elements"""
    grad_input = empty_of(self)
    ops.resize_.call(grad_input, self._size, None)
    memory_format = suggested(self)
    resize(grad_input, self._size, strides_in(memory_format, self._size))
    ops.zero_.call(grad_input)
    _distribute(in_format(grad_output, memory_format), grad_input, 2)
    return grad_input


def adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient divided by the size of each region, added to its elements"""
    grad_input = ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    _distribute(in_format(grad_output), grad_input, 3)
    return grad_input


def _distribute(grad: Tensor, out: Tensor, dims: int) -> None:
    found = array_module(grad._device.type).zeros(out._size, grad._array.dtype)
    for at, region in _regions(out._size[-dims:], grad._size[-dims:]):
        part = grad._array[(..., *at)].reshape(*out._size[:-dims], *(1 for _ in at))
        found[(..., *region)] += _divided(part, tuple(window.stop - window.start for window in region))
    store(out, found)


# -- maxima ------------------------------------------------------------------------------------------------------------


def adaptive_max_pool1d(self: Tensor, output_size: Size) -> Two:
    """Adaptive maximum pooling of rows, as images one element high."""
    check_dim_range("adaptive_max_pool1d", TensorArg(self, "self", 1), 2, 4)
    check_1d("adaptive_max_pool1d", "output_size", output_size)
    lines = ops.unsqueeze.call(self, -2)
    output, indices = ops.adaptive_max_pool2d.call(lines, (1, *output_size))
    indices = ops.squeeze_dim.call(indices, -2)  # C++ evaluates the last argument first
    return ops.squeeze_dim.call(output, -2), indices


def adaptive_max_pool2d_meta(op: tuple[Structured, Structured], self: Tensor, output_size: Size) -> None:
    """One element per region, and its index in the image."""
    _set_max_outputs("adaptive_max_pool2d", op, self, output_size, 2)


def adaptive_max_pool3d_meta(op: tuple[Structured, Structured], self: Tensor, output_size: Size) -> None:
    """One element per region, and its index in the volume."""
    _set_max_outputs("adaptive_max_pool3d", op, self, output_size, 3)


def _set_max_outputs(name: str, op: tuple[Structured, Structured], self: Tensor, output_size: Size, dims: int) -> None:
    _check_not_empty(name, self, (dims + 1, dims + 2), ":")
    if len(output_size) != dims:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {dims}")
    size = (*self._size[:-dims], *output_size)
    check_size(size)
    strides = strides_in(suggested(self) if dims == 2 else CONTIGUOUS, size)
    op[0].set_output_raw_strided(size, strides, self._dtype, self._device)
    op[1].set_output_raw_strided(size, strides, int64, self._device)


def adaptive_max_pool2d_out(self: Tensor, output_size: Size, out: Tensor, indices: Tensor) -> None:
    """The maximum of each region, and the index of the first one"""
    _store_max("adaptive_max_pool2d", self, out, indices, 2)


def adaptive_max_pool3d_out(self: Tensor, output_size: Size, out: Tensor, indices: Tensor) -> None:
    """The maximum of each region, and the index of the first one"""
    _store_max("adaptive_max_pool3d_cpu", self, out, indices, 3)


def _store_max(name: str, self: Tensor, out: Tensor, indices: Tensor, dims: int) -> None:
    if not self._dtype.is_floating_point:
        raise not_implemented(name, self._dtype)
    xp: Any = array_module(self._device.type)
    space = self._size[-dims:]
    numbers = xp.arange(math.prod(space)).reshape(space)
    for at, region in _regions(space, out._size[-dims:]):
        part = self._array[(..., *region)]
        flat = part.reshape(*part.shape[: part.ndim - dims], math.prod(part.shape[part.ndim - dims :]))
        best = xp.argmax(flat, -1)
        out._array[(..., *at)] = xp.take_along_axis(flat, best[..., None], -1)[..., 0]
        indices._array[(..., *at)] = numbers[region].reshape(-1)[best]


def adaptive_max_pool2d_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, indices: Tensor) -> None:
    """The shape of self."""
    op.set_output_raw_strided(self._size, strides_in(suggested(self), self._size), self._dtype, self._device)


def adaptive_max_pool3d_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, indices: Tensor) -> None:
    """The shape of self."""
    op.set_output_raw_strided(self._size, strides_in(CONTIGUOUS, self._size), self._dtype, self._device)


def adaptive_max_pool2d_backward_out(grad_output: Tensor, self: Tensor, indices: Tensor, grad_input: Tensor) -> None:
    """Zeros with the gradient added at the indices of the maxima"""
    memory_format = suggested(self)
    ops.zero_.call(grad_input)
    add_at_indices(grad_input, in_format(indices, memory_format), in_format(grad_output, memory_format), 2)


def adaptive_max_pool3d_backward_out(grad_output: Tensor, self: Tensor, indices: Tensor, grad_input: Tensor) -> None:
    """Zeros with the gradient added at the indices of the maxima"""
    contiguous = in_format(grad_output)
    ops.zero_.call(grad_input)
    add_at_indices(grad_input, in_format(indices), contiguous, 3)
