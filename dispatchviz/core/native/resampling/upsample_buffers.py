"""The tensors that the CPU allocates to resize images: intermediate results, ranges and weights
(``aten/src/ATen/native/cpu/UpSampleKernel.cpp``, ``UpSampleKernelAVXAntialias.h``).

NB: bytes of up to four channels are resized as on a processor with AVX2. Numbers are computed in ``upsample.py``.
"""

from __future__ import annotations

import math

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import CHANNELS_LAST
from dispatchviz.core.native.iterator.strides import is_channels_last
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.native.resampling.upsample import Scales, distance_between, reach, real_type
from dispatchviz.core.tensor.dtype import REDUCED, DType, float64, int64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor

MOST_CHANNELS = 4
"""The number of channels that are resized together."""


def prepare_smooth(self: Tensor, out: Tensor, width: int, align_corners: bool, scales: Scales) -> None:
    """Allocate the tensors of the CPU's loop for smooth resizing."""
    if self._dtype in REDUCED:
        raise not_implemented("compute_index_ranges_weights", self._dtype)
    if self._device.type != "cpu":
        return
    real = real_type(array_module("cpu"), self._dtype)
    most = dict[int, int]()
    for dim in (3, 2):
        distance = distance_between(real, self._size[dim], out._size[dim], align_corners, scales[dim - 2])
        most[dim] = math.ceil(reach(real, distance, width)) * 2 + 1
    _prepare(self, out, most)


def prepare_bytes(self: Tensor, out: Tensor, width: int) -> bool:
    """Allocate the tensors of the CPU's loop for images of bytes. Return whether the images are of bytes."""
    if self._dtype is not uint8 or self._device.type != "cpu":
        return False
    _prepare(self, out, {2: width, 3: width})
    return True


def _prepare(self: Tensor, out: Tensor, most: dict[int, int]) -> None:
    """Allocate all tensors. A new element along a dimension uses at most ``most`` old ones."""
    changed = [dim for dim in (3, 2) if self._size[dim] != out._size[dim]]
    if not changed:
        ops.copy_.call(out, self, False)
        return
    if self._dtype is uint8 and self._size[1] <= MOST_CHANNELS:
        _prepare_vectorized(self, out, changed, most)
        return
    for dim in changed:
        self = _resized_between(self, out, dim, most[dim], dim == changed[-1])


def _prepare_vectorized(self: Tensor, out: Tensor, changed: list[int], most: dict[int, int]) -> None:
    """Allocate the tensors of ``upsample_avx_bilinear_bicubic_uint8``, which resizes four interleaved channels."""
    if not self._is_contiguous and not is_channels_last(self._size, self._stride):
        self = ops.contiguous.call(self, CHANNELS_LAST)
    channels, (height, width), (new_height, new_width) = self._size[1], self._size[2:], out._size[2:]
    ready, kept = (channels in (3, 4) and is_channels_last(each._size, each._stride) for each in (self, out))
    for dim in changed:
        _ranges(self, out, dim, most[dim], float64)
    planes = channels if ready else MOST_CHANNELS
    if 3 in changed and (2 in changed or not kept):
        _empty(self, (planes, height, new_width))
    if 2 in changed and not kept:
        _empty(self, (planes, new_height, new_width))
    for image in range(self._size[0]):
        ops.select_int.call(self, 0, image)
        if not ready:
            _empty(self, (MOST_CHANNELS, height, width))
        ops.select_int.call(out, 0, image)


def _resized_between(given: Tensor, out: Tensor, dim: int, most: int, is_last: bool) -> Tensor:
    """The tensor with one resized dimension (``_separable_upsample_generic_Nd_kernel_impl_single_dim``)."""
    size = (*given._size[:dim], out._size[dim], *given._size[dim + 1 :])
    result = out if is_last else _empty(given, size)
    ops.as_strided.call(given, size, (*given._stride[:dim], 0, *given._stride[dim + 1 :]), None)
    _ranges(given, out, dim, most, float64 if given._dtype is uint8 else given._dtype)
    return result


def _ranges(like: Tensor, out: Tensor, dim: int, most: int, dtype: DType) -> None:
    """Allocate the ranges of old elements for each new one, and their weights
    (``HelperInterpBase::_compute_index_ranges_weights``).
    """
    new, rank = out._size[dim], len(out._size)
    alone = tuple(new if one == dim else 1 for one in range(rank))
    for _ in range(3):
        _empty(like, alone, int64)
    weights = _empty(like, tuple(new * most if one == dim else 1 for one in range(rank)), dtype)
    ops.as_strided.call(weights, alone, (*weights._stride[:dim], 0, *weights._stride[dim + 1 :]), None)
    _empty(like, alone, int64)


def _empty(like: Tensor, size: Size, dtype: DType | None = None) -> Tensor:
    return ops.empty_memory_format.call(size, dtype or like._dtype, "strided", like._device, None, None)
