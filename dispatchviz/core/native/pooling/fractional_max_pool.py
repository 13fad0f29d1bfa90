"""``fractional_max_pool2d``, ``fractional_max_pool3d``: windows at random steps
(``aten/src/ATen/native/FractionalMaxPooling.h``, ``FractionalMaxPool2d.cpp``, ``FractionalMaxPool3d.cpp``).

Rule: a random number u per example, channel and dimension decides where the windows begin: the i-th of n at ``int((i +
u) * a) - int(u * a)``, where ``a`` is the available length divided by n - 1. The last one begins at the end. Images
draw their numbers for the width first, volumes draw them last.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel

Ops = tuple[Structured, Structured]

_COUNTS = {2: "Ints", 3: "three Ints"}
_DIMENSIONS = {2: ("height", "width"), 3: ("time", "width", "height")}
"""The dimensions in the order in which they are checked."""

# -- forward -----------------------------------------------------------------------------------------------------------


def fractional_max_pool2d_meta(
    op: Ops, self: Tensor, kernel_size: Size, output_size: Size, random_samples: Tensor
) -> None:
    """The shape (N, C, *output_size)."""
    _outputs(op, self, kernel_size, output_size)


def fractional_max_pool3d_meta(
    op: Ops, self: Tensor, kernel_size: Size, output_size: Size, random_samples: Tensor
) -> None:
    """The shape (N, C, *output_size)."""
    _outputs(op, self, kernel_size, output_size)


def _outputs(op: Ops, self: Tensor, kernel_size: Size, output_size: Size) -> None:
    dims = 2 if "2d" in op[0].family else 3
    _check_sizes(f"fractional_max_pool{dims}d", dims, kernel_size, output_size)
    where = f"fractional_max_pool{dims}d()" if dims == 2 else "fractional_max_pool3d_out()"
    _check_input(where, dims, self)
    _check_room(where, dims, self, kernel_size, output_size)
    size = (*self._size[:-dims], *output_size)
    for each, dtype in zip(op, (self._dtype, int64), strict=True):
        each.set_output_raw_strided(size, contiguous_strides(size), dtype, self._device)


def _check_sizes(name: str, dims: int, kernel_size: Size, output_size: Size) -> None:
    for what, size in (("kernel_size", kernel_size), ("output_size", output_size)):
        if len(size) != dims:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of {_COUNTS[dims]}")


def _check_input(where: str, dims: int, self: Tensor) -> None:
    size = list(self._size)
    if len(size) not in (dims + 1, dims + 2):
        raise RuntimeError(f"{where}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {size}")
    for dim in range(len(size) - dims - 1, len(size)):
        if not size[dim]:
            raise RuntimeError(
                f"{where}: Expected input to have non-zero size for non-batch dimensions, but got{size} with "
                f"dimension {dim} being empty."
            )


def _check_room(where: str, dims: int, self: Tensor, kernel_size: Size, output_size: Size) -> None:
    """Raise RuntimeError if the windows do not fit. A volume needs one element more than an image."""
    for name in _DIMENSIONS[dims]:
        at = ("time", "height", "width").index(name) - 3
        length = self._size[at]
        if output_size[at] + kernel_size[at] - 1 + (dims == 3) > length:
            raise RuntimeError(f"{where}: pool {name} {kernel_size[at]} too large relative to input {name} {length}")


def fractional_max_pool2d_out(
    self: Tensor, kernel_size: Size, output_size: Size, random_samples: Tensor, output: Tensor, indices: Tensor
) -> None:
    """The maxima, and their indices in their plane."""
    _pool(2, self, kernel_size, random_samples, output, indices)


def fractional_max_pool3d_out(
    self: Tensor, kernel_size: Size, output_size: Size, random_samples: Tensor, output: Tensor, indices: Tensor
) -> None:
    """The maxima, and their indices in their volume."""
    _pool(3, self, kernel_size, random_samples, output, indices)


def _pool(dims: int, self: Tensor, kernel_size: Size, random_samples: Tensor, output: Tensor, indices: Tensor) -> None:
    _check_samples(dims, self, random_samples)
    self = in_format(self)
    if not numel(self._size):
        return
    if not self._dtype.is_floating_point:
        raise not_implemented(f"fractional_max_pool{dims}d_out_frame", self._dtype)
    xp: Any = array_module(self._device.type)
    space, count = self._size[-dims:], math.prod(self._size[: -dims - 1])
    samples = random_samples._array[:count]
    samples = samples[..., ::-1] if dims == 2 else samples
    starts = [_starts(xp, samples[..., d], space[d], output._size[-dims + d], kernel_size[d]) for d in range(dims)]
    positions = _window_indices(xp, starts, space, kernel_size)
    if not positions.shape[-1]:
        output._array[...], indices._array[...] = -xp.inf, _firsts(starts, space).reshape(indices._size)
        return
    planes = self._array.reshape(count, -1, math.prod(space))
    values = xp.take_along_axis(planes, positions.reshape(*planes.shape[:2], -1), 2).reshape(positions.shape)
    best = _argmax(xp, values)[..., None]
    output._array[...] = xp.take_along_axis(values, best, -1).reshape(output._size)
    indices._array[...] = xp.take_along_axis(positions, best, -1).reshape(indices._size)


def _check_samples(dims: int, self: Tensor, random_samples: Tensor) -> None:
    """Raise RuntimeError unless there are enough samples (``fractional_max_pool_check_shape``)."""
    size = random_samples._size
    if self._dtype is not random_samples._dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if len(size) != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {len(size)}")
    if size[0] < math.prod(self._size[: -dims - 1]):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if size[1] != self._size[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if size[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {size[2]}.")


def _starts(xp: Any, samples: Any, length: int, count: int, kernel: int) -> Any:
    """The starts of the windows along one dimension: (N, C, count)."""
    kind = samples.dtype.type
    starts = xp.full((*samples.shape, count), length - kernel, "int64")
    if count > 1:
        step = kind(length - kernel) / kind(count - 1)
        indices = (xp.arange(count - 1).astype(samples.dtype) + samples[..., None]) * step
        starts[..., :-1] = indices.astype("int64") - (samples[..., None] * step).astype("int64")
    return starts


def _flat_indices(parts: list[Any], space: Size) -> Any:
    """The flat indices in a plane: (N, C, ...), with the dimensions of each part."""
    steps = list(accumulate(space[:0:-1], lambda a, b: a * b, initial=1))[::-1]
    total: Any = 0
    for d, (part, step) in enumerate(zip(parts, steps, strict=True)):
        own = part.shape[2:]
        shape: list[int] = []
        for kind in range(len(own)):
            shape += [own[kind] if d == other else 1 for other in range(len(parts))]
        total = total + (part * step).reshape(*part.shape[:2], *shape)
    return total


def _firsts(starts: list[Any], space: Size) -> Any:
    return _flat_indices(starts, space)


def _window_indices(xp: Any, starts: list[Any], space: Size, kernel_size: Size) -> Any:
    """The flat indices of the elements of each window: (N, C, *output_size, elements)."""
    parts = [start[..., None] + xp.arange(kernel) for start, kernel in zip(starts, kernel_size, strict=True)]
    found = _flat_indices(parts, space)
    return found.reshape(*found.shape[: 2 + len(parts)], math.prod(kernel_size))


def _argmax(xp: Any, values: Any) -> Any:
    """The index of the first maximum, or of the last nan if there is one."""
    missing = values != values
    last = values.shape[-1] - 1 - xp.argmax(missing[..., ::-1], -1)
    return xp.where(missing.any(-1), last, quiet.run(xp.argmax, values, -1))


# -- backward ----------------------------------------------------------------------------------------------------------


def fractional_max_pool2d_backward_meta(
    op: Structured, grad_output: Tensor, self: Tensor, kernel_size: Size, output_size: Size, indices: Tensor
) -> None:
    """The shape of self. Raise RuntimeError for a gradient of another size."""
    if grad_output._size[-2:] != tuple(output_size):
        raise RuntimeError("fractional_max_pool2d_backward(): gradOutput sizes unexpected")
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def fractional_max_pool2d_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Size, output_size: Size, indices: Tensor, grad_input: Tensor
) -> None:
    """Zeros with the gradient added at the maxima."""
    _scatter(2, in_format(grad_output), indices, grad_input)


def fractional_max_pool3d_backward(
    grad_output: Tensor, self: Tensor, kernel_size: Size, output_size: Size, indices: Tensor
) -> Tensor:
    """Zeros with the gradient added at the maxima of volumes."""
    grad_input = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return fractional_max_pool3d_backward_out(grad_output, self, kernel_size, output_size, indices, grad_input)


def fractional_max_pool3d_backward_out(
    grad_output: Tensor, self: Tensor, kernel_size: Size, output_size: Size, indices: Tensor, grad_input: Tensor
) -> Tensor:
    """Write the result of ``fractional_max_pool3d_backward`` into ``grad_input``."""
    for at, name in ((-3, "time"), (-2, "height"), (-1, "width")):
        if grad_output._size[at] != output_size[at]:
            raise RuntimeError(f"fractional_max_pool3d_backward_out(): gradOutput {name} unexpected")
    grad_output = in_format(grad_output)
    ops.resize_as_.call(grad_input, self, None)
    _scatter(3, grad_output, indices, grad_input)
    return grad_input


def _scatter(dims: int, grad_output: Tensor, indices: Tensor, grad_input: Tensor) -> None:
    ops.zero_.call(grad_input)
    if not numel(grad_output._size):
        return
    if not grad_output._dtype.is_floating_point:
        raise not_implemented(f"fractional_max_pool{dims}d_backward_out_frame", grad_output._dtype)
    xp: Any = array_module(grad_input._device.type)
    size = math.prod(grad_input._size[-dims:])
    targets = grad_input._array.reshape(-1)
    plane = xp.arange(targets.size // size).reshape(-1, 1) * size
    positions = plane + indices._array.reshape(len(plane), -1)
    add_at(targets, positions.reshape(-1), grad_output._array.reshape(-1))
