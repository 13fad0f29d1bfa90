"""``_unique``, ``_unique2``, ``unique_dim``, ``unique_consecutive`` (``aten/src/ATen/native/Unique.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.device.array_library import array_module, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.sorting.quickselect import stable_argsort
from dispatchviz.core.tensor.dtype import DType, bool_, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, from_blob, numel

Three = tuple[Tensor, Tensor, Tensor]
"""The elements, the index among them of each input element, and the count of each."""


def _unique(self: Tensor, sorted: bool, return_inverse: bool) -> tuple[Tensor, Tensor]:
    """Each element once, always sorted, and the inverse indices."""
    output, inverse, _ = _unique2(self, sorted, return_inverse, return_counts=False)
    return output, inverse


def _unique2(self: Tensor, sorted: bool, return_inverse: bool, return_counts: bool) -> Three:
    """Each element once, always sorted, the inverse indices, and the counts."""
    if not self._is_contiguous:
        self = ops.contiguous.call(self, "contiguous_format")
    output, inverse, counts = _empty(self, self._dtype), _empty(self, int64), _empty(self, int64)
    if self._dtype.is_complex:
        raise not_implemented("unique", self._dtype)
    if self._dtype is bool_:
        order, groups = _sorted_groups(self)
        _put(output, self._array.reshape(-1)[order[_firsts(groups)]])
        _put_counts(counts, groups, return_counts)
        _put_inverse(inverse, self, order, groups, return_inverse)
    elif numel(self._size):
        firsts = _empty(self, int64)
        ordered, indices = ops.sort.call(ops.flatten_using_ints.call(self, 0, -1), -1, False)
        order, groups = indices._array, _groups(ordered._array)
        _put(output, self._array.reshape(-1)[order[_firsts(groups)]])
        _put_inverse(inverse, self, order, groups, return_inverse)
        _put_counts(counts, groups, return_counts)
        if return_counts:
            _put(firsts, _firsts(groups))
    elif return_inverse:
        ops.resize_.call(inverse, self._size, None)
    return output, inverse, counts


def _put_inverse(out: Tensor, self: Tensor, order: Any, groups: Any, wanted: bool) -> None:
    """Write the group of each element into ``out``, if wanted."""
    if wanted:
        ops.resize_.call(out, self._size, None)
        out._array.reshape(-1)[order] = groups


def _put_counts(out: Tensor, groups: Any, wanted: bool) -> None:
    """Write the size of each group into ``out``, if wanted."""
    if wanted:
        _put(out, array_module(out._device.type).bincount(groups))


def _sorted_groups(self: Tensor) -> tuple[Any, Any]:
    """The indices that sort the elements, and the group of equal elements of each."""
    flat = self._array.reshape(-1)
    order = stable_argsort(flat)
    return order, _groups(flat[order])


def _groups(ordered: Any) -> Any:
    """The number of the group of equal elements, counted from 0; nan is equal to nothing."""
    changes = ordered[1:] != ordered[:-1]
    groups = numpy.zeros_like(ordered, "int64")  # a CuPy array for a CuPy array
    groups[1:] = changes.cumsum()
    return groups


def _firsts(groups: Any) -> Any:
    """The index of the first element of each group."""
    starts = numpy.ones_like(groups, "bool")
    starts[1:] = groups[1:] != groups[:-1]
    return starts.nonzero()[0]


def _put(out: Tensor, values: Any) -> None:
    ops.resize_.call(out, values.shape, None)
    out._array[...] = values


def _empty(like: Tensor, dtype: DType, size: Size = (0,)) -> Tensor:
    return ops.empty_memory_format.call(size, dtype, "strided", like._device, None, None)


# -- neighbors --------------------------------------------------------------------------------------------------------


def unique_consecutive(self: Tensor, return_inverse: bool, return_counts: bool, dim: int | None) -> Three:
    """The elements, or the slices along a dimension, that differ from their predecessor."""
    if dim is not None and (dim, len(self._size)) != (0, 0):
        return _along(self, dim, "unique_consecutive", ordered=False)
    if not self._is_contiguous:
        self = ops.contiguous.call(self, "contiguous_format")
    count = numel(self._size)
    output, inverse, counts = _empty(self, self._dtype, (count,)), _empty(self, int64), _empty(self, int64)
    if self._dtype.is_complex:
        raise not_implemented("unique", self._dtype)
    if return_inverse:
        ops.resize_.call(inverse, self._size, None)
    if not count:
        return output, inverse, counts
    groups = _groups(self._array.reshape(-1))
    if return_inverse:
        inverse._array[...] = groups.reshape(self._size)
    if return_counts:
        ops.resize_.call(counts, (count,), None)
        _put(counts, array_module(self._device.type).bincount(groups))
    _put(output, self._array.reshape(-1)[_firsts(groups)])
    return output, inverse, counts


# -- along a dimension -------------------------------------------------------------------------------------------------


def unique_dim(self: Tensor, dim: int, sorted: bool, return_inverse: bool, return_counts: bool) -> Three:
    """Each slice along a dimension once, in order. Raise RuntimeError if another dimension is empty."""
    return _along(self, dim, "unique_dim", ordered=True)


def unique_dim_consecutive(self: Tensor, dim: int, return_inverse: bool, return_counts: bool) -> Three:
    """The slices along a dimension that differ from their predecessor."""
    return _along(self, dim, "unique_dim", ordered=False)


def _along(self: Tensor, dim: int, kernel: str, *, ordered: bool) -> Three:
    """The unique slices along a dimension (``_unique_dim_cpu_template``).

    Raise RuntimeError or IndexError for invalid dimensions.
    """
    if not self._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, len(self._size))
    if self._size[dim] == 0:
        if self._size.count(0) != 1:
            raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
        return _empty(self, self._dtype, self._size), _empty(self, int64), _empty(self, int64)
    if 0 in self._size:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    dim_first = ops.moveaxis_int.call(self, dim, 0)
    flat = dim_first if dim_first._is_contiguous else ops.contiguous.call(dim_first, "contiguous_format")
    flat = ops.view.call(flat, (dim_first._size[0], -1))
    if self._dtype.is_complex:
        raise not_implemented("unique_dim", self._dtype)
    order = list(range(flat._size[0]))
    if ordered:
        rows = on_host(flat._array).tolist()
        order.sort(key=rows.__getitem__)
        flat = ops.index_select.call(flat, 0, _index(flat, order))
    return _unique_rows(flat, order, dim_first._size, dim)


def _index(like: Tensor, order: list[int]) -> Tensor:
    """An index of the rows in their order, on existing memory."""
    index = from_blob(numpy.array(order, "int64"), (len(order),), (1,), int64)
    if like._device.type == "cpu":
        return index
    return ops.to_dtype_layout.call(index, None, None, like._device, None, False, False, None)


def _unique_rows(rows: Tensor, order: list[int], size: Size, dim: int) -> Three:
    """The rows that differ from the last one that was kept (``_unique_dim_cpu_impl``)."""
    inverse = _empty(rows, int64, (len(order),))
    counts = ops.zeros.call((len(order),), int64, "strided", rows._device, None)
    first, *others = ops.unbind_int.call(rows, 0)
    kept, groups = [first], [0]
    for row in others:
        if not ops.equal.call(row, kept[-1]):
            kept.append(row)
        groups.append(len(kept) - 1)
    xp: Any = array_module(rows._device.type)
    inverse._array[xp.asarray(order)] = xp.asarray(groups)
    counts._array[: len(kept)] = xp.bincount(xp.asarray(groups))
    counts = ops.narrow.call(counts, 0, 0, len(kept))
    output = ops.view.call(ops.stack.call(kept, 0), (-1, *size[1:]))
    return ops.moveaxis_int.call(output, 0, dim), inverse, counts
