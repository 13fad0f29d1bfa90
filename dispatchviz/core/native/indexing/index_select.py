"""``index_select``, ``index_add``, ``nonzero``, ``argwhere``, ``bincount``
(``aten/src/ATen/native/TensorAdvancedIndexing.cpp``, ``SummaryOps.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.index_ops import check_indexed
from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.memory_overlap import check_no_overlap
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import bool_, float32, float64, int32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, empty_strided, numel

# -- index_select ------------------------------------------------------------------------------------------------------


def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of a dimension that a vector of indices selects."""
    out = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return index_select_out(self, dim, index, out)


def index_select_out(self: Tensor, dim: int, index: Tensor, out: Tensor) -> Tensor:
    """Write ``index_select`` into ``out``, which is resized."""
    dim = wrap_dim(dim, len(self._size))
    _check_selected(self, index, out)
    count = numel(index._size)
    size = (*self._size[:dim], count, *self._size[dim + 1 :]) if self._size else ()
    if out._size != size:
        resize_output(out, size, contiguous_strides(size))
    if self._array is None:
        return out
    if self._device.type == "cpu":
        index = in_format(index)
    indices = index._array.reshape(-1)
    if len(self._size) > 1 and dim == 0 and self._device.type == "cpu" and count:
        ops.select_int.call(self, dim, 0)
        ops.select_int.call(out, dim, 0)
    _check_indices(indices, self._size[dim] if self._size else 1, "index out of range in self")
    out._array[...] = self._array.take(indices, axis=dim) if self._size else self._array
    return out


def _check_selected(self: Tensor, index: Tensor, out: Tensor) -> None:
    count = numel(index._size)
    if len(index._size) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index._dtype not in (int32, int64):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if self._dtype is not out._dtype:
        raise RuntimeError("index_select(): self and result must have the same scalar type")
    if not self._size and count != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {count} value(s)")
    check_no_overlap(out, (self, index))


def _check_indices(indices: Any, length: int, text: str) -> None:
    if ((indices < 0) | (indices >= length)).any():
        raise IndexError(text)


def index_select_backward_symint(grad: Tensor, self_sizes: Size, dim: int, index: Tensor) -> Tensor:
    """Zeros with the gradient added at the indices."""
    zeros = ops.new_zeros.call(grad, self_sizes, None, None, None, None)
    return ops.index_add_.call(zeros, dim, index, grad, 1)


def index_add_meta(op: Structured, self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Scalar) -> None:
    """The shape and dtype of self."""
    check_indexed("index_add", self, dim, index, source)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def index_add_out(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Scalar, out: Tensor) -> None:
    """self with alpha * source added at the indices along one dimension"""
    if out is not self:
        ops.copy_.call(out, self, False)
    dim = wrap_dim(dim, len(self._size))
    if self._device.type == "cpu":
        index = in_format(index)
    indices = index._array.reshape(-1)
    by_slices = self._device.type == "cpu" and len(self._size) > 1
    if by_slices and alpha == 1 and dim in (0, len(self._size) - 1) and index._dtype is int64:
        wide = tuple(numel(index._size) if d == dim else length for d, length in enumerate(self._size))
        expanded = ops.as_strided.call(index, wide, tuple(int(d == dim) for d in range(len(wide))), None)
        ops.scatter_add_.call(out, dim, expanded, source)
        return
    if by_slices and indices.size and out._array.size:
        ops.select_int.call(out, dim, 0)
        ops.select_int.call(source, dim, 0)
    _check_indices(indices, self._size[dim] if self._size else 1, "index out of range in self")
    _added(out, dim, source, indices, convert(alpha, self._dtype))


def _added(out: Tensor, dim: int, source: Tensor, indices: Any, factor: Any = 1) -> None:
    xp = array_module(out._device.type)
    target = xp.moveaxis(out._array, dim, 0) if out._size else out._array.reshape(1)
    values = xp.moveaxis(source._array, dim, 0) if source._size else source._array.reshape(1)
    add_at(target, indices, values * out._dtype.numpy.type(factor))


# -- nonzero ----------------------------------------------------------------------------------------------------------


def nonzero(self: Tensor) -> Tensor:
    """The indices of nonzero elements, one per row."""
    if self._device.type == "cuda":  # at::detail::empty_cuda, which is not an operator
        return nonzero_out(self, empty_strided((0,), (1,), int64, self._device))
    return nonzero_out(self, ops.empty_memory_format.call((0,), int64, "strided", self._device, None, None))


def nonzero_out(self: Tensor, out: Tensor) -> Tensor:
    """Write ``nonzero`` into ``out``, which is resized. The rows are written dimension by dimension."""
    if out._dtype is not int64:
        raise RuntimeError(
            "nonzero: Expected out tensor to have scalar type Long but got scalar type" + out._dtype.legacy
        )
    if self._device.type == "cuda":
        return _nonzero_cuda(in_format(self), out)
    found = _places(self)
    size = (int(found.shape[0]), len(self._size))
    stride = (1, size[0])
    if out._size != size:
        resize_output(out, size, stride)
        ops.as_strided_.call(out, size, stride, None)
    out._array[...] = found
    return out


def _places(self: Tensor) -> Any:
    xp: Any = array_module(self._device.type)
    return xp.stack(xp.nonzero(self._array), 1) if self._size else xp.zeros((int(bool(self._array)), 0), "int64")


def _nonzero_cuda(self: Tensor, out: Tensor) -> Tensor:
    """Write the indices dimension by dimension into ``out``, which then becomes its own transpose
    (``cuda/Nonzero.cu``).

    If ``out`` has the right size but other strides, the result is copied to it instead.
    """
    found = _places(self)
    size, written = (int(found.shape[0]), len(self._size)), (len(self._size), int(found.shape[0]))
    if out._size == size and not ops.t.call(out)._is_contiguous:
        rows = empty_strided(written, contiguous_strides(written), int64, out._device)
        rows._array[...] = found.T
        return ops.copy_.call(out, ops.t.call(rows), False)
    rows = ops.resize_.call(out, written, None)
    rows._array[...] = found.T
    return ops.set__source_Tensor.call(out, ops.t.call(rows))


def nonzero_static(self: Tensor, size: int, fill_value: int) -> Tensor:
    """The indices of the first ``size`` nonzero elements, padded with ``fill_value``."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    shape = (size, len(self._size))
    out = ops.empty_memory_format.call(shape, int64, "strided", self._device, None, None)
    return nonzero_static_out(self, size, fill_value, out)


def nonzero_static_out(self: Tensor, size: int, fill_value: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``nonzero_static``."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if out._size != (size, len(self._size)):
        raise RuntimeError(
            f"nonzero_static: Expected out tensor to have size {[size, len(self._size)]} but got {list(out._size)}"
        )
    if self._device.type == "cuda":
        return _nonzero_static_cuda(in_format(self), size, fill_value, out)
    if not numel(out._size):
        return out
    found = nonzero(self)
    count = min(found._size[0], size)
    ops.copy_.call(ops.narrow.call(out, 0, 0, count), ops.narrow.call(found, 0, 0, count), False)
    if found._size[0] < size:
        ops.fill__Scalar.call(ops.narrow.call(out, 0, found._size[0], size - found._size[0]), fill_value)
    return out


def _nonzero_static_cuda(self: Tensor, size: int, fill_value: int, out: Tensor) -> Tensor:
    """Write the indices into ``out`` by one kernel (``cuda/Nonzero.cu``).

    If ``out`` is not a transpose, copy them. NB: not measured.
    """
    rows = out
    if not ops.t.call(out)._is_contiguous and numel(out._size):
        whole = (out._size[1], out._size[0])
        rows = ops.t.call(empty_strided(whole, contiguous_strides(whole), int64, out._device))
    found = _places(self)[:size]
    rows._array[...] = fill_value
    rows._array[: len(found)] = found
    return out if rows is out else ops.copy_.call(out, rows, False)


def nonzero_numpy(self: Tensor) -> list[Tensor]:
    """The indices of nonzero elements, one tensor per dimension; a 0-dim tensor is treated as 1-dim."""
    source = self if self._size else ops.unsqueeze.call(self, 0)
    return ops.unbind_int.call(ops.nonzero.call(source), 1)


def argwhere(self: Tensor) -> Tensor:
    """The indices of nonzero elements, one per row (an alias of ``nonzero``)."""
    return ops.nonzero.call(self)


def where(condition: Tensor) -> list[Tensor]:
    """The indices of true elements, one tensor per dimension (an alias of ``nonzero_numpy``)."""
    return ops.nonzero_numpy.call(condition)


# -- unique ------------------------------------------------------------------------------------------------------------


# -- bincount ----------------------------------------------------------------------------------------------------------


def _bincount(self: Tensor, weights: Tensor | None, minlength: int) -> Tensor:
    """The number of occurrences of each number, or the sum of its weights: float32, or float64 for any other dtype."""
    if self._dtype.can_require_grad or self._dtype is bool_:
        raise not_implemented("bincount_cpu", self._dtype)
    if weights is not None and weights._dtype is not float32:
        weights = ops.to_dtype.call(weights, float64, False, False, None)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self._size == (0,):
        return ops.zeros.call((minlength,), int64, "strided", self._device, None)
    if len(self._size) != 1 or int(ops.min.call(self)._array) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._size != self._size:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    count = max(int(ops.max.call(self)._array) + 1, minlength)
    out = ops.zeros.call((count,), int64 if weights is None else weights._dtype, "strided", self._device, None)
    add_at(out._array, self._array, 1 if weights is None else weights._array)
    return out
