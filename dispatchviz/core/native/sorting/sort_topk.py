"""``sort``, ``argsort``, ``msort``, ``topk`` (``aten/src/ATen/native/Sorting.cpp``, ``TopKImpl.h``).

Order statistics are in ``kthvalue_median.py``.
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.strides import dense_strides_like
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.sorting import std_sort
from dispatchviz.core.native.sorting.quickselect import stable_argsort
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel

# -- sort --------------------------------------------------------------------------------------------------------------


def sort(self: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """Call ``sort.stable`` with stable=False."""
    return ops.sort_stable.call(self, False, dim, descending)


def sort_out(self: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """The ``out=`` version of ``sort``, with two outputs."""
    return ops.sort_values_stable.call(self, False, dim, descending, values, indices)


def sort_stable_meta(
    op: tuple[Structured, Structured], self: Tensor, stable: bool | None, dim: int, descending: bool
) -> None:
    """Values and int64 indices with the shape and dense strides of self."""
    wrap_dim(dim, len(self._size))
    _refuse_complex(" Sort", self)
    stride = dense_strides_like(self._size, self._stride)
    for each, dtype in zip(op, (self._dtype, int64), strict=True):
        resized = each.variant == "out" and each.output._size != self._size
        each.set_output_raw_strided(self._size, stride, dtype, self._device)
        if resized and stride == contiguous_strides(self._size):
            ops.as_strided_.call(each.output, self._size, stride, None)  # strides are requested even if contiguous


def _refuse_complex(name: str, self: Tensor) -> None:
    if self._dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex dtypes on {self._device.type.upper()}")


def sort_stable_out(
    self: Tensor, stable: bool | None, dim: int, descending: bool, values: Tensor, indices: Tensor
) -> None:
    """Sort along a dimension, nan last."""
    ops.copy_.call(values, self, False)
    if not self._size:
        ops.zero_.call(indices)
        return
    axis = wrap_dim(dim, len(self._size))
    if self._device.type == "cpu":
        _fill_indices(indices, axis)
    if values._array is not None and numel(self._size):
        positions = _stable_argsort(self, axis, descending)
        if not stable and self._device.type == "cpu" and self._stride[axis]:  # a stride of 0 means equal elements
            positions = _argsort_like_std_sort(self, axis, descending, positions)
        indices._array[...] = positions
        values._array[...] = array_module(self._device.type).take_along_axis(self._array, positions, axis)


def _fill_indices(indices: Tensor, axis: int) -> None:
    """Write ``arange`` along the dimension into the indices, before sorting."""
    positions = ops.arange_start.call(0, indices._size[axis], int64, "strided", indices._device, None)
    size = tuple(length if dim == axis else 1 for dim, length in enumerate(indices._size))
    stride = tuple(int(dim == axis) for dim in range(len(indices._size)))
    ops.copy_.call(indices, ops.as_strided.call(positions, size, stride, None), False)


def _stable_argsort(self: Tensor, axis: int, descending: bool) -> Any:
    """The indices of a stable sort, also in descending order."""
    if not descending:
        return stable_argsort(self._array, axis)
    xp: Any = array_module(self._device.type)
    flipped = stable_argsort(xp.flip(self._array, axis), axis)
    return self._size[axis] - 1 - xp.flip(flipped, axis)


def _argsort_like_std_sort(self: Tensor, axis: int, descending: bool, indices: Any) -> Any:
    """The indices as ``std::sort`` returns them, for long enough rows with equal elements."""
    if self._size[axis] <= std_sort.SHORT:
        return indices
    rows = numpy.moveaxis(self._array, axis, -1).reshape(-1, self._size[axis])
    found = numpy.moveaxis(indices, axis, -1).copy()
    for row, ordered in zip(rows, found.reshape(rows.shape), strict=True):
        ranks = ranks_of(row, descending)
        if not _all_differ(ranks):
            ordered[...] = std_sort.sorted_indices(ranks)
    return numpy.moveaxis(found, -1, axis)


def _all_differ(ranks: list[int]) -> bool:
    return max(ranks) - min(ranks) == len(ranks) - 1


def ranks_of(row: Any, descending: bool = False) -> list[int]:
    """The number of different smaller elements for each one, or minus the number of larger ones; nan is the largest."""
    order = stable_argsort(row)
    ordered = row[order]
    is_new = (ordered[1:] != ordered[:-1]) & ((ordered[1:] == ordered[1:]) | (ordered[:-1] == ordered[:-1]))
    ranks = numpy.zeros(len(row), numpy.int64)
    ranks[order[1:]] = numpy.cumsum(numpy.asarray(is_new))
    return (-ranks if descending else ranks).tolist()


# -- argsort, msort ----------------------------------------------------------------------------------------------------


def argsort(self: Tensor, dim: int, descending: bool) -> Tensor:
    """The indices of ``sort``."""
    return ops.sort.call(self, dim, descending)[1]


def argsort_stable(self: Tensor, stable: bool, dim: int, descending: bool) -> Tensor:
    """The indices of ``sort``, stable if requested."""
    return ops.sort_stable.call(self, stable, dim, descending)[1]


def argsort_stable_out(self: Tensor, stable: bool, dim: int, descending: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``argsort_stable``."""
    values = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.sort_values_stable.call(self, stable, dim, descending, values, out)[1]


def msort(self: Tensor) -> Tensor:
    """The tensor sorted along the first dimension."""
    return ops.sort.call(self, 0, False)[0]


def msort_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``msort``."""
    indices = ops.empty_memory_format.call((0,), int64, "strided", self._device, None, None)
    return ops.sort_values.call(self, 0, False, out, indices)[0]


# -- topk --------------------------------------------------------------------------------------------------------------


def topk_meta(op: tuple[Structured, Structured], self: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> None:
    """Values and indices of size ``k`` along the dimension."""
    axis = wrap_dim(dim, len(self._size))
    if k < 0 or k > (self._size[axis] if self._size else 1):
        raise RuntimeError("selected index k out of range")
    _refuse_complex(" topk", self)
    size = (*self._size[:axis], k, *self._size[axis + 1 :]) if self._size else ()
    op[0].set_output_raw_strided(size, contiguous_strides(size), self._dtype, self._device)
    op[1].set_output_raw_strided(size, contiguous_strides(size), int64, self._device)


def topk_out(self: Tensor, k: int, dim: int, largest: bool, sorted: bool, values: Tensor, indices: Tensor) -> None:
    """Write the k largest or smallest elements along a dimension, in order.

    On the CPU, the C++ library decides which of several equal elements are taken, and their order if not ``sorted``.
    NB: on CUDA they have the order of a stable sort.
    """
    if not self._size and k:
        ops.copy_.call(values, self, False)
        ops.zero_.call(indices)
        return
    if values._array is not None and numel(values._size):
        axis = wrap_dim(dim, len(self._size))
        first_k = (*[slice(None)] * axis, slice(0, k))
        if self._device.type == "cpu":
            positions = _topk_indices(self, k, axis, largest, sorted)
        else:
            positions = _stable_argsort(self, axis, largest)[first_k]
        indices._array[...] = positions
        values._array[...] = array_module(self._device.type).take_along_axis(self._array, positions, axis)


def _topk_indices(self: Tensor, k: int, axis: int, largest: bool, sorted: bool) -> Any:
    """The indices of the first k elements, row by row, as the CPU returns them."""
    length = self._size[axis]
    rows = numpy.moveaxis(self._array, axis, -1)
    found = [_first_k(ranks_of(row, largest), k, sorted) for row in rows.reshape(-1, length)]
    return numpy.moveaxis(numpy.array(found, numpy.int64).reshape(*rows.shape[:-1], k), -1, axis)


def _first_k(ranks: list[int], k: int, sorted: bool) -> list[int]:
    if sorted and _all_differ(ranks):
        return [int(index) for index in numpy.argsort(ranks)[:k]]
    indices = list(range(len(ranks)))
    if k * 64 <= len(ranks):
        std_sort.standard_partial_sort(indices, ranks, k)
    else:
        std_sort.standard_nth_element(indices, ranks, k - 1)
        if sorted:
            std_sort.standard_sort(indices, ranks, k - 1)
    return indices[:k]
