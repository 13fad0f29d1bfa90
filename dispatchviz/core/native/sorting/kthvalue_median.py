"""``kthvalue``, ``median``, ``nanmedian``, ``mode`` (``aten/src/ATen/native/Sorting.cpp``, ``TensorCompare.cpp``).

``sort`` and ``topk`` are in ``sort_topk.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.autograd.variables.legacy_type import type_string
from dispatchviz.core.call.structured import resize_in_order
from dispatchviz.core.device.array_library import array_module, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import TensorArg, check_scalar_types
from dispatchviz.core.native.iterator.memory_overlap import check_no_overlap
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.reductions.min_max import check_not_empty
from dispatchviz.core.native.sorting.quickselect import index_of_rank, stable_argsort
from dispatchviz.core.native.sorting.sort_topk import ranks_of
from dispatchviz.core.native.sorting.std_sort import sorted_indices, standard_nth_element
from dispatchviz.core.tensor.dtype import Category, DType, bool_, int64
from dispatchviz.core.tensor.tensor import Tensor, numel

ValuesAndIndices = tuple[Tensor, Tensor]
"""The values and their indices."""


def _empty(like: Tensor, dtype: DType) -> Tensor:
    return ops.empty_memory_format.call((0,), dtype, "strided", like._device, None, None)


def _with_unit_dim(values: Tensor, indices: Tensor, self: Tensor, dim: int, keepdim: bool) -> None:
    """Resize the outputs with size 1 in the reduced dimension
    (``_reduction_with_indices_allocate_or_resize_output``).
    """
    size = tuple(1 if at == dim else length for at, length in enumerate(self._size))
    if values._dtype is not self._dtype or values._device != self._device:
        raise RuntimeError("output values must be of same type as input")
    if indices._dtype is not int64:
        raise RuntimeError("output indices must be of scalar type Long")
    for out in (values, indices):
        if not keepdim and len(out._size) == len(self._size) - 1:
            ops.unsqueeze_.call(out, dim)  # keeps the strides of the caller's tensor
        resize_in_order(out, size)


def _without_unit_dim(values: Tensor, indices: Tensor, dim: int, keepdim: bool) -> ValuesAndIndices:
    if not keepdim:
        ops.squeeze__dim.call(values, dim)
        ops.squeeze__dim.call(indices, dim)
    return values, indices


def _put(values: Tensor, indices: Tensor, self: Tensor, positions: Any, dim: int) -> None:
    """Gather values by indices that have the reduced dimension."""
    xp: Any = array_module(self._device.type)
    values._array[...] = xp.take_along_axis(self._array, positions, dim).reshape(values._size)
    indices._array[...] = positions.reshape(indices._size)


# -- kthvalue ----------------------------------------------------------------------------------------------------------


def kthvalue(self: Tensor, k: int, dim: int, keepdim: bool) -> ValuesAndIndices:
    """The k-th smallest element along a dimension, with nan last, and one of its indices."""
    values, indices = _empty(self, self._dtype), _empty(self, int64)
    return ops.kthvalue_values.call(self, k, dim, keepdim, values, indices)


def kthvalue_out(self: Tensor, k: int, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> ValuesAndIndices:
    """Write ``kthvalue`` into two tensors. Raise IndexError for an empty dimension, RuntimeError for k out of range."""
    dim = wrap_dim(dim, len(self._size))
    check_not_empty("kthvalue()", self, dim)
    if not 1 <= k <= (self._size[dim] if self._size else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    check_no_overlap(values, (self,))
    _with_unit_dim(values, indices, self, dim, keepdim)
    if not self._size:
        ops.copy_.call(values, self, False)
        ops.zero_.call(indices)
        return values, indices
    ops.clone.call(self, "contiguous_format")
    ops.empty_memory_format.call(self._size, int64, "strided", self._device, None, None)
    if self._dtype is bool_ or self._dtype.is_complex:
        raise not_implemented("kthvalue_cpu", self._dtype)
    if numel(self._size):
        _put(values, indices, self, _along(self, dim, lambda row: index_of_rank(row, k - 1)), dim)
    return _without_unit_dim(values, indices, dim, keepdim)


def _along(self: Tensor, dim: int, function: Any) -> Any:
    """The results of a function of every row, with the dimension kept."""
    rows = numpy.moveaxis(on_host(self._array), dim, -1)
    found = numpy.array([function(row) for row in rows.reshape(-1, rows.shape[-1])], "int64")
    return array_module(self._device.type).asarray(numpy.expand_dims(found.reshape(rows.shape[:-1]), dim))


# -- median ------------------------------------------------------------------------------------------------------------


def median(self: Tensor) -> Tensor:
    """The median of all elements, the lower one of two; nan if there is one."""
    return _median(self, ignore_nan=False)


def nanmedian(self: Tensor) -> Tensor:
    """The median of all elements that are not nan."""
    return _median(self, ignore_nan=True)


def _median(self: Tensor, *, ignore_nan: bool) -> Tensor:
    if not numel(self._size):
        return ops.full.call((), math.nan, self._dtype, "strided", self._device, None)
    ops.clone.call(self, None)
    out = ops.empty_memory_format.call((), self._dtype, "strided", self._device, None, None)
    _check_ordered("median_cpu", self)
    row = on_host(self._array).reshape(-1)
    store(out, row[_middle(row, ignore_nan)])
    return out


def _check_ordered(kernel: str, self: Tensor) -> None:
    if self._dtype.is_complex or self._dtype is bool_:
        raise not_implemented(kernel, self._dtype)


def _middle(row: Any, ignore_nan: bool) -> int:
    """The index of the median. Equal elements count in their order."""
    missing = (row != row).nonzero()[0]
    if not ignore_nan and len(missing):
        return int(missing[0])
    if len(missing) == len(row):
        return _first_of_equals(len(row))
    return int(stable_argsort(row)[(len(row) - (len(missing) if ignore_nan else 0) - 1) // 2])


def _first_of_equals(count: int) -> int:
    """The index of the first of ``count`` nans after C++'s ``std::nth_element``; no nan precedes another one."""
    indices = list(range(count))
    standard_nth_element(indices, [0] * count, 0)
    return indices[0]


def median_dim(self: Tensor, dim: int, keepdim: bool) -> ValuesAndIndices:
    """The median along a dimension and its index; the first nan if there is one."""
    values, indices = _empty(self, self._dtype), _empty(self, int64)
    return ops.median_dim_values.call(self, dim, keepdim, values, indices)


def nanmedian_dim(self: Tensor, dim: int, keepdim: bool) -> ValuesAndIndices:
    """The median along a dimension of the elements that are not nan, and its index."""
    values, indices = _empty(self, self._dtype), _empty(self, int64)
    return ops.nanmedian_dim_values.call(self, dim, keepdim, values, indices)


def median_out(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> ValuesAndIndices:
    """The ``out=`` version of ``median``, with two outputs."""
    return _median_with_indices(self, dim, keepdim, values, indices, ignore_nan=False)


def nanmedian_out(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> ValuesAndIndices:
    """The ``out=`` version of ``nanmedian``, with two outputs."""
    return _median_with_indices(self, dim, keepdim, values, indices, ignore_nan=True)


def _median_with_indices(
    self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor, *, ignore_nan: bool
) -> ValuesAndIndices:
    dim = wrap_dim(dim, len(self._size))
    check_not_empty("median()", self, dim)
    _check_types(values, indices, self)
    kept = tuple(length for at, length in enumerate(self._size) if at != dim)
    size = kept if not keepdim or not self._size else (*self._size[:dim], 1, *self._size[dim + 1 :])
    resize_in_order(values, size)
    resize_in_order(indices, size)
    rows = self if self._size else ops.unsqueeze.call(self, 0)
    results = (values, indices)
    if not keepdim or not self._size:
        results = ops.unsqueeze.call(values, dim), ops.unsqueeze.call(indices, dim)
    if rows._stride[dim] > 1:  # the loop needs contiguous rows
        rows = ops.contiguous.call(_dim_to_last(rows, dim), "contiguous_format")
        results = _dim_to_last(results[0], dim), _dim_to_last(results[1], dim)
        dim = len(rows._size) - 1
    _check_ordered("median_out", self)
    if numel(rows._size):
        _put(*results, rows, _along(rows, dim, lambda row: _middle(row, ignore_nan)), dim)
    return values, indices


def _check_types(values: Tensor, indices: Tensor, self: Tensor) -> None:
    check_scalar_types("median", TensorArg(indices, "indices", 1), int64)
    if type_string(values) != type_string(self):
        raise RuntimeError(
            f"Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type "
            f"{type_string(values)} does not equal {type_string(self)} (while checking arguments for median)"
        )


def _dim_to_last(tensor: Tensor, dim: int) -> Tensor:
    return ops.squeeze__dim.call(ops.transpose_.call(ops.unsqueeze.call(tensor, -1), dim, -1), dim)


# -- mode --------------------------------------------------------------------------------------------------------------


def mode(self: Tensor, dim: int, keepdim: bool) -> ValuesAndIndices:
    """The most frequent element along a dimension, the smallest of several, and the index of its last occurrence in the
    sorted order.
    """
    values, indices = _empty(self, self._dtype), _empty(self, int64)
    return mode_out(self, dim, keepdim, values, indices)


def mode_out(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> ValuesAndIndices:
    """The ``out=`` version of ``mode``, with two outputs."""
    for name, out in (("values", values), ("indices", indices)):
        if out._device != self._device:
            raise RuntimeError(f"expected device '{self._device}' but got '{out._device}' for {name} output")
    for name, out, dtype in (("values", values, self._dtype), ("indices", indices, int64)):
        if out._dtype is not dtype:
            raise RuntimeError(f"expected scalar type '{dtype.legacy}' but got '{out._dtype.legacy}' for {name} output")
    dim = wrap_dim(dim, len(self._size))
    if not numel(self._size):
        check_not_empty("mode()", self, dim)
        size = tuple(1 if at == dim else n for at, n in enumerate(self._size) if keepdim or at != dim)
        resize_in_order(values, size)
        resize_in_order(indices, size)
        return values, indices
    if numel(self._size) == 1 and not self._size:
        resize_in_order(values, ())
        ops.fill__Tensor.call(values, self)
        resize_in_order(indices, ())
        ops.fill__Scalar.call(indices, 0)
        return values, indices
    size = tuple(1 if at == dim else n for at, n in enumerate(self._size))
    for out in (values, indices):
        if not keepdim and len(out._size) >= dim:
            ops.unsqueeze_.call(out, dim)
    for out in (values, indices):
        resize_in_order(out, size)
    if self._dtype.category is Category.COMPLEX:
        raise not_implemented("mode_cpu", self._dtype)
    _put(values, indices, self, _along(self, dim, _most_frequent), dim)
    return _without_unit_dim(values, indices, dim, keepdim)


def _most_frequent(row: Any) -> int:
    order = numpy.array(sorted_indices(ranks_of(row)))
    ordered = row[order]
    ends = numpy.flatnonzero(numpy.append(numpy.asarray(ordered[1:] != ordered[:-1]), True))
    counts = numpy.diff(ends, prepend=-1)
    return int(order[int(ends[counts.argmax()])])
