"""Shared parts of upsampling: output sizes, scales, weights, checks (``aten/src/ATen/native/UpSample.h``,
``cpu/UpSampleKernel.cpp``).

Each dimension is resized separately: every new element is a weighted sum of a few old ones, its taps. The backward pass
adds each gradient to the same taps. ``scales`` are factors that a user gave, or None if only sizes are known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.call.structured import IMPROVABLE, Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.iterator.memory_formats import CHANNELS_LAST, CONTIGUOUS, in_format, strides_in, suggested
from dispatchviz.core.native.iterator.strides import is_channels_last
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, not_implemented, quiet, store
from dispatchviz.core.tensor.dtype import REDUCED, DType, float32, float64, int64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

Factor = float | None
"""The scale factor of a dimension, or None if the user gave none."""
Scales = Sequence[Factor]
Taps = list[tuple[Any, Any]]
"""The index of an old element, and its weight (None means 1), for each new element along a dimension."""
AxisTaps = Callable[[Any, DType, int, int, float | None], Taps]
"""A function of ``(xp, dtype, old length, new length, scale)`` that returns the taps."""

# -- sizes -------------------------------------------------------------------------------------------------------------


def output_size_of(input: Tensor, output_size: Size | None, scale_factors: Sequence[float] | None) -> Size:
    """The given size, or the factors times the input's size (``compute_output_size``).

    Raise RuntimeError if both are given.
    """
    space = input._size[2:]
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    given, name = (scale_factors, "scale_factors") if output_size is None else (output_size, "output_size")
    if given is None or len(given) != len(space):
        raise RuntimeError(
            f"Expected static_cast<int64_t>({name}->size()) == spatial_dimensions to be true, but got false.  "
            f"{IMPROVABLE}"
        )
    return tuple(_whole(length * given[i]) if output_size is None else int(given[i]) for i, length in enumerate(space))


def _whole(length: float) -> int:
    """A length as an integer. Raise RuntimeError if it does not fit into 64 bits."""
    if not -(2.0**63) <= length < 2.0**63:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return int(length)


def scale(scale_factors: Sequence[float] | None, dim: int) -> float | None:
    """The scale factor of a dimension, or None if there are none (``get_scale_value``)."""
    return None if scale_factors is None else scale_factors[dim]


def check_sizes(input_size: Size, output_size: Size, count: int) -> Size:
    """The new size of the whole tensor (``upsample_*_common_check``). Raise RuntimeError if it is invalid."""
    if len(output_size) != count:
        raise RuntimeError(f"It is expected output_size equals to {count}, but got size {len(output_size)}")
    if len(input_size) != count + 2:
        raise RuntimeError(f"It is expected input_size equals to {count + 2}, but got size {len(input_size)}")
    space = input_size[2:]
    if min(*space, *output_size) <= 0:
        between = " and output" if count == 1 else " output"
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({_lengths(space)}){between} "
            f"({_lengths(output_size)})"
        )
    return (*input_size[:2], *output_size)


def _lengths(space: Size) -> str:
    return ", ".join(f"{name}: {length}" for name, length in zip(("D", "H", "W")[-len(space) :], space, strict=True))


# -- meta --------------------------------------------------------------------------------------------------------------


def set_upsampled(op: Structured, self: Tensor, output_size: Size, count: int) -> None:
    """The meta of a forward kernel.

    Raise RuntimeError for sizes that do not fit, and for an empty input unless only the batch is empty.
    """
    size = check_sizes(self._size, output_size, count)
    if not numel(self._size) and not all(self._size[1:]):
        raise RuntimeError(
            f"Non-empty {count + 2}D data tensor expected but got a tensor with sizes {list(self._size)}"
        )
    _set_output(op, self, size)


def set_downsampled(op: Structured, grad_output: Tensor, output_size: Size, input_size: Size, count: int) -> None:
    """The meta of a backward kernel. Raise RuntimeError for a gradient of another size."""
    _check_gradient(grad_output._size, check_sizes(input_size, output_size, count), count)
    _set_output(op, grad_output, input_size)


def _set_output(op: Structured, like: Tensor, size: Size) -> None:
    stride = strides_in(suggested(like), size)
    op.set_output_raw_strided(size, stride, like._dtype, like._device)


def _check_gradient(found: Size, size: Size, count: int) -> None:
    if count > 1 and len(found) != len(size):
        raise RuntimeError(
            f"Expected grad_output to be a tensor of dimension {len(size)} but got: dimension {len(found)}"
        )
    for dim, length in enumerate(size):
        if count == 1 and (len(found) != len(size) or found[dim] != length):
            raise RuntimeError(
                f"Expected a tensor of dimension {len(size)} and tensor.size[{dim}] == {length} but got: dimension "
                f"{len(found)} and tensor.size[{dim}] = {found[dim]}"
            )
        if found[dim] != length:
            raise RuntimeError(
                f"Expected grad_output to have the same shape as output; output.size({dim}) = {length} but got "
                f"grad_output.size({dim}) = {found[dim]}"
            )


# -- impl --------------------------------------------------------------------------------------------------------------


def is_small(self: Tensor, out: Tensor) -> bool:
    """Return whether the CPU uses the loop for images (``_use_vectorized_kernel_cond_2d``)."""
    many_channels = is_channels_last(self._size, self._stride) and self._size[1] > 3
    return many_channels or sum(out._size[-2:]) <= 128


def put_images(kernel: str, self: Tensor, out: Tensor, taps: AxisTaps, scales: Scales) -> None:
    """Resize by the loop for channels-last images. On the CPU, other images are converted to that format and back."""
    if out._device.type == "cpu":
        given, result = in_format(self, CHANNELS_LAST), in_format(out, CHANNELS_LAST)
    else:
        given, result = (
            in_format(self, CHANNELS_LAST if is_channels_last(self._size, self._stride) else CONTIGUOUS),
            out,
        )
    put_upsampled(kernel, given, result, taps, scales, ("uint8",))
    if result is not out:
        ops.copy_.call(out, result, False)


def prepare_generic(self: Tensor, out: Tensor, count: int, per_dim: int, ones: bool = False) -> None:
    """Allocate the tensors of indices and weights of the CPU's loop for any number of dimensions."""
    if self._device.type != "cpu" or (self._dtype is uint8 and not ones):
        return
    weights = float32 if self._dtype is uint8 else self._dtype
    stride = (*self._stride[:-count], *(0 for _ in range(count)))
    rank = len(self._size)
    ops.as_strided.call(self, (*self._size[:-count], *out._size[-count:]), stride, None)
    for dim in range(rank - count, rank):
        size = tuple(out._size[dim] if one == dim else 1 for one in range(rank))
        for coordinate in range(per_dim - ones):
            dtype = int64 if coordinate % 2 == 0 else weights
            ops.empty_memory_format.call(size, dtype, "strided", self._device, None, None)
        if ones:
            ops.ones.call(size, weights, "strided", self._device, None)


def put_upsampled(
    kernel: str, self: Tensor, out: Tensor, taps: AxisTaps, scales: Scales, dtypes: Sequence[str] = ()
) -> None:
    """Resize the last dimensions. Raise NotImplementedError unless the dtype is floating or listed in ``dtypes``."""
    dtype = self._dtype
    if not dtype.is_floating_point and dtype.name not in dtypes:
        raise not_implemented(kernel, dtype)
    if out._array is None or not numel(out._size):
        return
    xp: Any = array_module(out._device.type)
    generic = kernel.startswith("compute_indices_weights")
    values = self._array if dtype is uint8 else converted(self._array, accumulated(dtype))
    for axis in reversed(range(len(out._size) - len(scales), len(out._size))):
        found = taps(xp, dtype, self._size[axis], out._size[axis], scales[axis - len(out._size)])
        if dtype is uint8:
            values = quiet.run(_resized_bytes, xp, values, axis, found)
        else:
            if generic:  # weights are kept in a tensor of the dtype
                found = [(index, None if weight is None else weight.astype(dtype.numpy)) for index, weight in found]
            values = quiet.run(_resized, xp, values, axis, found)
    store(out, values)


def _resized_bytes(xp: Any, values: Any, axis: int, taps: Taps) -> Any:
    """Resize uint8 with 15-bit weights; the largest weight decides the number of fractional bits
    (``compute_index_ranges_int16``).
    """
    if taps[0][1] is None:
        return xp.take(values, taps[0][0], axis)
    taps = _merged(xp, taps)
    maximum = max(float(weight.max()) for _, weight in taps)
    bits = next((bits for bits in range(22) if int(0.5 + maximum * (1 << bits + 1)) >= 1 << 15), 22)
    total = 1 << bits - 1
    for index, weight in taps:
        scaled = weight * (1 << bits)
        whole = xp.where(scaled < 0, scaled - 0.5, scaled + 0.5).astype(xp.int64)
        shape = [-1 if dim == axis else 1 for dim in range(values.ndim)]
        total = total + xp.take(values, index, axis).astype(xp.int64) * whole.reshape(shape)
    return xp.clip(total >> bits, 0, 255).astype(values.dtype)


def _merged(xp: Any, taps: Taps) -> Taps:
    """Taps in which an element that occurs twice, at an edge, has both weights at its second position, so they are
    rounded together.
    """
    found = list(taps)
    for i, ((index, _), (following, more)) in enumerate(itertools.pairwise(taps)):
        twice = xp.where(index == following, found[i][1], 0)
        found[i] = index, found[i][1] - twice
        found[i + 1] = following, more + twice
    return found


def _resized(xp: Any, values: Any, axis: int, taps: Taps) -> Any:
    total = None
    for index, weight in taps:
        term = xp.take(values, index, axis)
        if weight is not None:
            term = term * weight.astype(values.dtype).reshape([-1 if dim == axis else 1 for dim in range(values.ndim)])
        total = term if total is None else total + term
    return total


def put_gradients(kernel: str, grad_output: Tensor, grad_input: Tensor, taps: AxisTaps, scales: Scales) -> None:
    """Add up the gradients of the new elements that each old element contributed to.

    Raise NotImplementedError for integers.
    """
    ops.zero_.call(grad_input)
    dtype = grad_output._dtype
    if not dtype.is_floating_point:
        raise not_implemented(kernel, dtype)
    four = len(grad_output._size) == 4 and is_channels_last(grad_output._size, grad_output._stride)
    grad = in_format(grad_output, CHANNELS_LAST if four else "contiguous_format")
    if grad_input._array is None or not numel(grad_output._size):
        return
    xp: Any = array_module(grad_input._device.type)
    values = converted(grad._array, accumulated(dtype))
    first = len(grad_input._size) - len(scales)
    for i, each in enumerate(scales):
        axis = first + i
        found = taps(xp, dtype, grad_input._size[axis], grad_output._size[axis], each)
        values = quiet.run(_scatter_add_taps, xp, values, axis, grad_input._size[axis], found)
    store(grad_input, values)


def _scatter_add_taps(xp: Any, values: Any, axis: int, length: int, taps: Taps) -> Any:
    there = xp.moveaxis(values, axis, 0)
    total = xp.zeros((length, *there.shape[1:]), values.dtype)
    for index, weight in taps:
        fraction = there
        if weight is not None:
            fraction = there * weight.astype(values.dtype).reshape([-1, *(1 for _ in there.shape[1:])])
        add_at(total, index, fraction)
    return xp.moveaxis(total, 0, axis)


# -- taps --------------------------------------------------------------------------------------------------------------


def real_type(xp: Any, dtype: DType) -> Any:
    """The dtype of source coordinates and weights."""
    return xp.float64 if dtype in (float64, uint8) else xp.float32


def factor(real: Any, old: int, new: int, given: float | None) -> Any:
    """The distance of new elements in units of old ones (``compute_scales_value``)."""
    return real(1.0 / given) if given is not None and given > 0 else real(old) / real(new)


def nearest(xp: Any, dtype: DType, old: int, new: int, given: float | None) -> Taps:
    """The old element at or before the position of each new one."""
    indices = xp.arange(new)
    if new == old:
        return [(indices, None)]
    if new == 2 * old:
        return [(indices >> 1, None)]
    found = xp.floor(indices.astype(xp.float32) * factor(xp.float32, old, new, given)).astype(xp.int64)
    return [(xp.minimum(found, old - 1), None)]


def nearest_exact(xp: Any, dtype: DType, old: int, new: int, given: float | None) -> Taps:
    """The old element whose center is nearest to that of each new one."""
    middles = xp.arange(new).astype(xp.float32) + xp.float32(0.5)
    found = xp.floor(middles * factor(xp.float32, old, new, given)).astype(xp.int64)
    return [(xp.minimum(found, old - 1), None)]


def sources(
    xp: Any, dtype: DType, old: int, new: int, given: float | None, align_corners: bool, below_zero: bool
) -> Any:
    """The positions of the new elements among the old ones (``area_pixel_compute_source_index``)."""
    real = real_type(xp, dtype)
    indices = xp.arange(new).astype(real)
    if align_corners:
        return indices * (real(old - 1) / real(new - 1) if new > 1 else real(0))
    found = factor(real, old, new, given) * (indices + real(0.5)) - real(0.5)
    return found if below_zero else xp.maximum(found, 0)


def linear_taps(align_corners: bool, rounded: bool = False) -> AxisTaps:
    """The two neighbors, weighted by distance.

    ``rounded``: one weight is rounded to the dtype, the other is 1 minus it.
    """

    def taps(xp: Any, dtype: DType, old: int, new: int, given: float | None) -> Taps:
        real = real_type(xp, dtype)
        if new == old:
            return [(xp.arange(new), None)]
        coordinate = sources(xp, dtype, old, new, given, align_corners, False)
        left = xp.minimum(coordinate.astype(xp.int64), old - 1)
        fraction = xp.clip(coordinate - left.astype(real), 0, 1).astype(real)
        if rounded and dtype in REDUCED:
            fraction = fraction.astype(dtype.numpy).astype(real)
        right = xp.where(left < old - 1, left + 1, left)
        return [(left, (1 - fraction).astype(real)), (right, fraction)]

    return taps


def cubic(align_corners: bool) -> AxisTaps:
    """Four neighbors, weighted by a cubic polynomial of their distance."""

    def taps(xp: Any, dtype: DType, old: int, new: int, given: float | None) -> Taps:
        real = real_type(xp, dtype)
        coordinate = sources(xp, dtype, old, new, given, align_corners, True)
        start = xp.minimum(xp.floor(coordinate).astype(xp.int64), old - 1)
        fraction = xp.clip(coordinate - start.astype(real), 0, 1).astype(real)
        offsets = ((-1, 1 + fraction), (0, fraction), (1, 1 - fraction), (2, 2 - fraction))
        return [(xp.clip(start + k, 0, old - 1), _cubic_weight(xp, x, -0.75).astype(real)) for k, x in offsets]

    return taps


def _cubic_weight(xp: Any, x: Any, a: float) -> Any:
    """Keys' cubic kernel at a distance below 2."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return xp.where(x < 1, near, xp.where(x < 2, far, 0))


LINEAR_WIDTH, CUBIC_WIDTH = 2, 4
"""The number of old elements in the kernel of a new one (``interp_size``)."""


def linear_smooth(align_corners: bool) -> AxisTaps:
    """A triangular kernel as wide as the new elements (antialias)."""
    return _smooth(align_corners, LINEAR_WIDTH, lambda xp, x: xp.where(x < 1, 1 - x, 0))


def cubic_smooth(align_corners: bool) -> AxisTaps:
    """A cubic kernel as wide as the new elements (antialias)."""
    return _smooth(align_corners, CUBIC_WIDTH, lambda xp, x: _cubic_weight(xp, x, -0.5))


def _smooth(align_corners: bool, width: int, kernel: Callable[[Any, Any], Any]) -> AxisTaps:
    def taps(xp: Any, dtype: DType, old: int, new: int, given: float | None) -> Taps:
        if new == old:
            return [(xp.arange(new), None)]
        real = real_type(xp, dtype)
        apart = distance_between(real, old, new, align_corners, given)
        support = reach(real, apart, width)
        inverse = 1 / apart if apart >= 1 else real(1)
        center = apart * (xp.arange(new).astype(real) + real(0.5))
        low = xp.maximum((center - support + 0.5).astype(xp.int64), 0)
        high = xp.minimum((center + support + 0.5).astype(xp.int64), old)
        count = int((high - low).max())
        index = low[:, None] + xp.arange(count)[None, :]
        weights = kernel(xp, xp.abs((index - center[:, None] + 0.5) * inverse))
        weights = xp.where(index < high[:, None], weights, 0)
        weights = (weights / weights.sum(1, keepdims=True)).astype(real)
        return [(xp.minimum(index[:, k], old - 1), weights[:, k]) for k in range(count)]

    return taps


def distance_between(real: Any, old: int, new: int, align_corners: bool, given: float | None) -> Any:
    """The distance of new elements in units of old ones (``area_pixel_compute_scale``)."""
    if not align_corners:
        return factor(real, old, new, given)
    return real(old - 1) / real(new - 1) if new > 1 else real(0)


def reach(real: Any, apart: Any, width: int) -> Any:
    """The distance from a new element within which old ones count."""
    return (width * 0.5) * apart if apart >= 1 else real(width * 0.5)
