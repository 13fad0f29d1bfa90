"""``gather``, ``scatter``, ``scatter_add``, ``scatter_reduce`` along a dimension (``TensorAdvancedIndexing.cpp``,
``ScatterGatherChecks.h`` in ``aten/src/ATen/native``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.ufunc_at import add_at, index_grid, ufunc_at
from dispatchviz.core.native.iterator.memory_overlap import check_no_overlap, check_no_partial_overlap
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import DType, int32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.warning import first_time, warn_python

# -- checks ------------------------------------------------------------------------------------------------------------


def _nonempty(size: Size) -> Size:
    """The size, with one dimension for a 0-dim tensor."""
    return size or (1,)


def _check_dtype(name: str, index: Tensor) -> None:
    if numel(index._size) and index._dtype not in (int32, int64):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _is_too_large(index: Size, other: Size, but: int | None) -> bool:
    """Return whether the index is longer than ``other`` in a dimension other than ``but``."""
    return any(dim != but and length > other[wrap_dim(dim, len(other))] for dim, length in enumerate(index))


def _check_scattered(self: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> None:
    """Raise RuntimeError for shapes and dtypes that do not fit (``scatter_meta_impl``)."""
    dim = wrap_dim(dim, len(self._size))
    _check_dtype("scatter", index)
    if src is not None and src._dtype is not self._dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not numel(index._size):
        return
    indices, own = _nonempty(index._size), _nonempty(self._size)
    if len(indices) != len(own):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    wrong = _is_too_large(indices, own, dim) or (src is not None and _is_too_large(indices, _nonempty(src._size), None))
    if src is not None and len(indices) != len(_nonempty(src._size)):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if wrong:
        to_src = "" if src is None else f" and to be no larger size than src {list(src._size)}"
        raise RuntimeError(
            f"Expected index {list(index._size)} to be no larger than self {list(self._size)} apart from dimension "
            f"{dim}{to_src}"
        )


def _scatters_rows(out: Tensor, dim: int, index: Tensor, src: Tensor) -> bool:
    """Return whether PyTorch scatters whole rows, sorted by their target (``can_use_expanded_index_path``).

    Raise RuntimeError for an int32 index of this kind. NB: if the index is narrower than a row, PyTorch writes beyond
    the rows.
    """
    stride = index._stride
    fits = out._device.type == "cpu" and out._dtype.is_floating_point and numel(index._size) > 0
    if not fits or wrap_dim(dim, len(out._size)) != 0 or not (out._is_contiguous and src._is_contiguous):
        return False
    if stride[:1] != (1,) or max(stride) > 1 or numel(index._size) // index._size[0] < _ENOUGH_CHANNELS:
        return False
    if index._dtype is not int64:
        raise RuntimeError("expected scalar type Long but found Int")
    return True


_ENOUGH_CHANNELS = 16
"""The number of channels from which PyTorch sorts the rows."""


def _indices_along(self: Tensor, dim: int, index: Tensor, by_rows: bool = False) -> tuple[Any, int]:
    """The index as an array with at least one dimension, or None if it is empty; and the dimension, counted from 0."""
    dim = wrap_dim(dim, len(self._size))
    if not numel(index._size):
        return None, dim
    indices = index._array
    if self._device.type == "cpu" and not by_rows:
        indices = ops.to_dtype.call(index, int64, False, False, None)._array
    indices = indices.reshape(_nonempty(index._size))
    length = self._size[dim] if self._size else 1
    wrong = (indices < 0) | (indices >= length)
    if wrong.any():
        raise RuntimeError(f"index {int(indices[wrong][0])} is out of bounds for dimension {dim} with size {length}")
    return indices, dim


# -- gather ------------------------------------------------------------------------------------------------------------


def gather_meta(op: Structured, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> None:
    """The shape of the index."""
    dim = wrap_dim(dim, len(self._size))
    _check_dtype("gather", index)
    if numel(index._size):
        _check_gathered(self, dim, index)
    op.set_output_raw_strided(index._size, contiguous_strides(index._size), self._dtype, self._device)
    if op.variant == "out":
        check_no_overlap(op.output, (self,))
        check_no_partial_overlap(op.output, (index,))


def _check_gathered(self: Tensor, dim: int, index: Tensor) -> None:
    indices, own = _nonempty(index._size), _nonempty(self._size)
    if len(indices) != len(own):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for other, (length, most) in enumerate(zip(indices, own, strict=True)):
        if other != dim and length > most:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index._size)} to be no larger than "
                f"self {list(self._size)} apart from dimension {dim}"
            )


def gather_out(self: Tensor, dim: int, index: Tensor, sparse_grad: bool, out: Tensor) -> None:
    """self[index[i][j]][j] for dimension 0"""
    indices, dim = _indices_along(self, dim, index)
    if indices is not None:
        _restrided(index, (out, None), (self, dim))
        xp = array_module(out._device.type)
        source = self._array.reshape(_nonempty(self._size))
        window = tuple(slice(None) if d == dim else slice(0, n) for d, n in enumerate(indices.shape))
        out._array[...] = xp.take_along_axis(source[window], indices, dim).reshape(out._size)


def gather_backward(grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    """Zeros with the gradient added at the gathered positions."""
    zeros = ops.new_zeros.call(grad, self._size, None, None, None, None)
    elsewhere = is_tensor_subclass_like(grad) or is_tensor_subclass_like(index)
    return (ops.scatter_add if elsewhere else ops.scatter_add_).call(zeros, dim, index, grad)


# -- scatter -----------------------------------------------------------------------------------------------------------


def scatter_src_meta(op: Structured, self: Tensor, dim: int, index: Tensor, src: Tensor) -> None:
    """The shape and dtype of self."""
    _like_self(op, self, dim, index, src)


def scatter_value_meta(op: Structured, self: Tensor, dim: int, index: Tensor, value: Scalar) -> None:
    """The shape and dtype of self."""
    _like_self(op, self, dim, index)


def scatter_add_meta(op: Structured, self: Tensor, dim: int, index: Tensor, src: Tensor) -> None:
    """The shape and dtype of self."""
    _like_self(op, self, dim, index, src)


def _like_self(op: Structured, self: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> None:
    _check_scattered(self, dim, index, src)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def scatter_src_out(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> None:
    """self with ``src`` written at the indices"""
    grid, at = _scattered(self, dim, index, out)
    if grid is not None:
        _restrided(index, (out, dim), (src, None))
        out._array.reshape(_nonempty(out._size))[grid] = src._array.reshape(_nonempty(src._size))[at]


def scatter_value_out(self: Tensor, dim: int, index: Tensor, value: Scalar, out: Tensor) -> None:
    """self with a number written at the indices"""
    grid, _ = _scattered(self, dim, index, out)
    if grid is not None:
        _restrided(index, (out, dim))
        out._array.reshape(_nonempty(out._size))[grid] = convert(value, out._dtype)


def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> None:
    """self with ``src`` added at the indices"""
    if out is not self:
        ops.copy_.call(out, self, False)
    if _scatters_rows(out, dim, index, src):
        _reduce_rows(out, index, src, "sum", include_self=True)
        return
    grid, at = _index_grid(out, dim, index)
    if grid is not None:
        _restrided(index, (out, dim), (src, None))
        _scatter_add(out, grid, src._array.reshape(_nonempty(src._size))[at])


def _scatter_add(out: Tensor, key: Any, values: Any) -> None:
    """Add values at the indices; half and bfloat16 are summed in float32 (``create_acc_buffer``)."""
    within = accumulated(out._dtype)
    if within is out._dtype:
        reduce_at("add", out, key, values)
        return
    wide = out
    if out._device.type == "cpu":
        wide = ops.empty_memory_format.call(out._size, within, None, out._device, None, None)
        ops.copy_.call(wide, out, False)
    total = out._array.reshape(_nonempty(out._size)).astype(within.numpy)
    add_at(total, key, values.astype(within.numpy))
    store(wide, total.reshape(out._size))
    if wide is not out:
        ops.copy_.call(out, wide, False)


def _scattered(self: Tensor, dim: int, index: Tensor, out: Tensor) -> tuple[Any, Any]:
    """Copy self to ``out``. Return the indices as one array per dimension, and the part of the source to scatter."""
    if out is not self:
        ops.copy_.call(out, self, False)
    return _index_grid(out, dim, index)


def _restrided(index: Tensor, *tensors: tuple[Tensor, int | None]) -> None:
    """View each tensor in the shape of the index, as CUDA's kernel does (``cuda/ScatterGatherKernel.cu``).

    The tensor that the index refers to gets stride 0 along the given dimension.
    """
    if index._device.type != "cuda":
        return
    for tensor, dim in tensors:
        stride = list(_nonempty(tensor._stride))
        if dim is not None:
            stride[dim] = 0
        ops.as_strided.call(tensor, _nonempty(index._size), tuple(stride), None)


def _index_grid(out: Tensor, dim: int, index: Tensor, by_rows: bool = False) -> tuple[Any, Any]:
    indices, dim = _indices_along(out, dim, index, by_rows)
    if indices is None:
        return None, None
    return index_grid(indices.shape, dim, indices), tuple(slice(0, n) for n in indices.shape)


_UFUNCS = {"sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply", "mean": "add"} | {
    "amax": "maximum",
    "max": "maximum",
    "amin": "minimum",
    "min": "minimum",
}
"""The NumPy ufunc of each reduction. Only the kernels know ``max`` and ``min``; the backward functions do not."""


def reduce_at(reduce: str, out: Tensor, key: Any, values: Any) -> None:
    """Reduce values into the elements at the indices, unbuffered."""
    ufunc_at(_UFUNCS[reduce], out._array.reshape(_nonempty(out._size)), key, values)


# -- scatter with a reduction ------------------------------------------------------------------------------------------


def _check_old_reduce(reduce: str) -> None:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")


def check_reduce(reduce: str) -> None:
    """Raise RuntimeError for an unknown ``reduce``."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin", "max", "min"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")


def scatter_reduce_meta(op: Structured, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str) -> None:
    """The shape and dtype of self."""
    if first_time("scatter reduce"):
        warn_python(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options.",
            "aten/src/ATen/native/TensorAdvancedIndexing.cpp:225",
        )
    _like_self(op, self, dim, index, src)
    _check_old_reduce(reduce)


def scatter_value_reduce_meta(
    op: Structured, self: Tensor, dim: int, index: Tensor, value: Scalar, reduce: str
) -> None:
    """The shape and dtype of self."""
    _like_self(op, self, dim, index)
    _check_old_reduce(reduce)


def scatter_reduce_two_meta(
    op: Structured, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> None:
    """The shape and dtype of self."""
    _like_self(op, self, dim, index, src)
    check_reduce(reduce)


def scatter_reduce_out(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, out: Tensor) -> None:
    """self with ``src`` added or multiplied at the indices"""
    grid, at = _scattered(self, dim, index, out)
    if grid is not None:
        reduce_at(reduce, out, grid, src._array.reshape(_nonempty(src._size))[at])


def scatter_value_reduce_out(self: Tensor, dim: int, index: Tensor, value: Scalar, reduce: str, out: Tensor) -> None:
    """self with a number added or multiplied at the indices"""
    grid, _ = _scattered(self, dim, index, out)
    if grid is not None:
        reduce_at(reduce, out, grid, out._dtype.numpy.type(convert(value, out._dtype)))


def scatter_reduce_two(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, out: Tensor
) -> None:
    """self with all values of the same index reduced"""
    dim = wrap_dim(dim, len(self._size))
    if out is not self:
        ops.copy_.call(out, self, False)
    if _scatters_rows(out, dim, index, src):
        _reduce_rows(out, index, src, reduce, include_self)
        return
    if out is not self:
        ops.copy_.call(out, self, False)
    if numel(index._size):
        if not include_self:
            ops.scatter__value.call(out, dim, index, first_value(reduce, out._dtype))
        grid, at = _index_grid(out, dim, index)
        reduce_at(reduce, out, grid, src._array.reshape(_nonempty(src._size))[at])
    if reduce == "mean":
        ones = ops.ones_like.call(src, None, None, None, None, None)
        count = counting_from(out, include_self)
        divide_by_count(out, ops.scatter_add_.call(count, dim, index, ones))


def _reduce_rows(out: Tensor, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> None:
    """Reduce whole rows. Half and bfloat16 are summed in a float32 row, one for each thread."""
    grid, at = _index_grid(out, 0, index, by_rows=True)
    values, within = src._array[at], accumulated(out._dtype)
    if within is not out._dtype:
        row = numel(out._size) // out._size[0]
        ops.zeros.call((1, row), within, "strided", out._device, None)
    total = out._array.astype(within.numpy)
    if not include_self:
        total[grid] = first_value(reduce, out._dtype)
    getattr(numpy, _UFUNCS[reduce]).at(total, grid, values.astype(within.numpy))
    if reduce == "mean":
        count = numpy.full(out._size, int(include_self), within.numpy)
        numpy.add.at(count, grid, 1)
        total /= numpy.maximum(count, 1)
    store(out, total)


def first_value(reduce: str, dtype: DType) -> Scalar:
    """The initial value of the reduction, if ``include_self`` is False."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    is_max = reduce in ("amax", "max")
    sign = -1 if is_max else 1
    if dtype.is_floating_point:
        return sign * float("inf")
    if dtype.name == "bool":
        return not is_max
    limits = numpy.iinfo(dtype.numpy)
    return int(limits.min if is_max else limits.max)


def counting_from(out: Tensor, include_self: bool) -> Tensor:
    """The initial counts: ones if self is included, else zeros."""
    like = ops.ones_like.call if include_self else ops.zeros_like.call
    return like(out, None, None, None, None, None)


def divide_by_count(out: Tensor, count: Tensor) -> None:
    """Divide a sum by the counts to get the mean; integers are rounded down."""
    ops.masked_fill__Scalar.call(count, ops.eq_Scalar.call(count, 0), 1)
    if out._dtype.can_require_grad:
        ops.div__Tensor.call(out, count)
    else:
        ops.div__Tensor_mode.call(out, count, "floor")
