"""``index_copy``, ``index_fill``, ``index_reduce``; ``take``, ``put``, ``take_along_dim``
(``aten/src/ATen/native/TensorAdvancedIndexing.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.deterministic_algorithms import alert_not_deterministic
from dispatchviz.core.call.structured import Structured, broadcast_sizes, check_no_internal_overlap, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.gather_scatter import counting_from, divide_by_count, first_value, reduce_at
from dispatchviz.core.native.indexing.ufunc_at import add_at, index_grid
from dispatchviz.core.native.iterator.memory_overlap import check_no_overlap
from dispatchviz.core.native.iterator.scalar import Scalar, convert
from dispatchviz.core.native.iterator.tensor_iterator import common_device
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import int32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel
from dispatchviz.core.thread.warning import first_time, warn_python

# -- index_copy --------------------------------------------------------------------------------------------------------


def index_copy_meta(op: Structured, self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """The shape and dtype of self."""
    dim = wrap_dim(dim, len(self._size))
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)
    _check_copied(self, index, source)
    _check_slices(self, dim, index, source)


def _check_copied(self: Tensor, index: Tensor, source: Tensor) -> None:
    if len(index._size) > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {len(index._size)})")
    count = numel(index._size)
    if not source._size and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if len(source._size) != len(self._size) and source._size and self._size:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(source._size)}), destination dimensionality ({len(self._size)})"
        )
    if index._dtype is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index._dtype.legacy}")
    if self._dtype is not source._dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{self._dtype.legacy} and (source) {source._dtype.legacy}"
        )


def _check_slices(self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    own, other = (size[:dim] + size[dim + 1 :] for size in (self._size, source._size))
    if own != other:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{_listed(own)} at dimension {dim} and source slice shape: {_listed(other)} at dimension 0."
        )
    if source._size and numel(index._size) != source._size[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({numel(index._size)}) should be equal to source.size(dim) "
            f"({source._size[dim]})"
        )


def _listed(size: Size) -> str:
    return " ".join(map(str, size))


def index_copy_out(self: Tensor, dim: int, index: Tensor, source: Tensor, out: Tensor) -> None:
    """self with ``source`` written at the indices along a dimension"""
    if out is not self:
        ops.copy_.call(out, self, False)
    dim = wrap_dim(dim, len(self._size))
    target = out if out._size else ops.unsqueeze.call(out, 0)
    values = source if source._size else ops.unsqueeze.call(source, 0)
    _restride(target, dim, index, target._size[:dim] + values._size[dim : dim + 1] + target._size[dim + 1 :])
    indices = index._array.reshape(-1)
    length = target._size[dim]
    wrong = (indices < 0) | (indices >= length)
    if wrong.any():
        raise IndexError(
            f"index_copy_(): index {int(indices[wrong][0])} is out of bounds for dimension {dim} with size {length}"
        )
    target._array[(slice(None),) * dim + (indices,)] = values._array


def _restride(self: Tensor, dim: int, index: Tensor, size: Size) -> None:
    """View self with stride 0 along a dimension, and the index broadcast over the other dimensions
    (``restride_dim``).
    """
    rank = len(self._size)
    still = tuple(0 if d == dim else step for d, step in enumerate(self._stride))
    alone = tuple(numel(index._size) if d == dim else 1 for d in range(rank))
    step = index._stride[0] if index._size else 1
    views = ((index, alone, tuple(step if d == dim else 0 for d in range(rank))), (self, size, still))
    for tensor, shape, stride in views:
        ops.as_strided.call(tensor, shape, stride, None)


# -- index_fill --------------------------------------------------------------------------------------------------------


def index_fill_int_Scalar(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
    """A copy with a number written at the indices along a dimension."""
    return ops.index_fill__int_Scalar.call(ops.clone.call(self, "preserve_format"), dim, index, value)


def index_fill_int_Tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """A copy with the number of a 0-dim tensor written at the indices along a dimension."""
    return ops.index_fill__int_Tensor.call(ops.clone.call(self, "preserve_format"), dim, index, value)


def index_fill__int_Tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    """The in-place version of ``index_fill``. Raise RuntimeError if ``value`` has dimensions."""
    if value._size:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(value._size)} dimension(s)."
        )
    return ops.index_fill__int_Scalar.call(self, dim, index, ops.item.call(value))


def index_fill__int_Scalar(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
    """The in-place version of ``index_fill``."""
    _check_filled(self, index, value)
    target = self if self._size else ops.unsqueeze.call(self, -1)
    dim = wrap_dim(dim, len(target._size))
    if len(index._size) > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if self._device is not index._device:
        common_device((target, ops.unsqueeze.call(index, 0) if not index._size else index))
    count = numel(index._size)
    _restride(target, dim, index, (*target._size[:dim], count, *target._size[dim + 1 :]))
    indices = index._array.reshape(-1)
    length = target._size[dim]
    wrong = (indices < -length) | (indices >= length)
    if wrong.any():
        raise IndexError(f"index {int(indices[wrong][0])} is out of bounds for dimension {dim} with size {length}")
    target._array[(slice(None),) * dim + (indices,)] = convert(value, self._dtype)
    return self


def _check_filled(self: Tensor, index: Tensor, value: Scalar) -> None:
    if index._dtype is not int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if any(step == 0 and length > 1 for step, length in zip(self._stride, self._size, strict=True)):
        warn_python(
            "Use of index_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
            "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar",
            "aten/src/ATen/native/TensorAdvancedIndexing.cpp:1878",
        )
    if isinstance(value, complex) and not self._dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


# -- index_reduce ------------------------------------------------------------------------------------------------------


def check_indexed(name: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """The checks of ``index_add`` and ``index_reduce`` (``index_func_meta_impl``)."""
    dim = wrap_dim(dim, len(self._size))
    if len(index._size) > 1:
        raise IndexError(
            f"{name}_(): Index is supposed to be a vector, but got dim: {len(index._size)} with type: "
            f"{index._dtype.legacy} and size: {list(index._size)}"
        )
    if index._dtype not in (int32, int64):
        raise RuntimeError(f"{name}_(): Expected dtype int32/int64 for index but got: {index._dtype.legacy}")
    if self._dtype is not source._dtype:
        raise RuntimeError(
            f"{name}_(): self ({self._dtype.legacy}) and source ({source._dtype.legacy}) must have the same scalar type"
        )
    if source._size and dim >= len(source._size):
        wrap_dim(dim, len(source._size))
    count, length = numel(index._size), (source._size or (1,))[dim]
    if not source._size and self._size and count != 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if count != length:
        raise RuntimeError(
            f"{name}_(): Number of indices ({count}) should be equal to source.size(dim): ({length}), for dim: {dim}"
        )
    if source._size and self._size[:dim] + self._size[dim + 1 :] != source._size[:dim] + source._size[dim + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self._size)} source.shape = {list(source._size)}"
        )


def index_reduce_meta(
    op: Structured, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> None:
    """The shape and dtype of self."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    check_indexed("index_reduce", self, dim, index, source)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def index_reduce_out(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, out: Tensor
) -> None:
    """self with all values of the same index along a dimension reduced"""
    if first_time("index_reduce"):
        warn_python(
            "index_reduce() is in beta and the API may change at any time.",
            "aten/src/ATen/native/TensorAdvancedIndexing.cpp:1523",
        )
    if out is not self:
        ops.copy_.call(out, self, False)
    dim = wrap_dim(dim, len(self._size))
    if not include_self:
        long = ops.to_dtype.call(index, int64, False, False, None)
        ops.index_fill__int_Scalar.call(out, dim, long, first_value(reduce, out._dtype))
    several = len(out._size) > 1
    if several and numel(index._size) and numel(self._size):
        ops.select_int.call(out, dim, 0)
        ops.select_int.call(source, dim, 0)
    count = None if several else counting_from(out, include_self)  # a vector is counted for every reduction
    indices = index._array.reshape(-1)
    length = out._size[dim] if out._size else 1
    if ((indices < 0) | (indices >= length)).any():
        raise IndexError("index out of range in self")
    values = source._array if source._size else source._array.reshape(1)
    reduce_at(reduce, out, _index_grid(values, dim, indices), values)
    if reduce == "mean":
        divide_by_count(out, _counted(out, dim, index, source, include_self, count))


def _index_grid(values: Any, dim: int, indices: Any) -> tuple[Any, ...]:
    """The indices as one array per dimension."""
    shape = [-1 if d == dim else 1 for d in range(values.ndim)]
    return index_grid(values.shape, dim, indices.reshape(shape))


def _counted(out: Tensor, dim: int, index: Tensor, source: Tensor, include_self: bool, count: Tensor | None) -> Tensor:
    """The number of values that were reduced into each element."""
    if count is not None:
        reduce_at("sum", count, (index._array.reshape(-1),), count._dtype.numpy.type(1))
        return count
    count = counting_from(out, include_self)
    ones = ops.ones_like.call(source, None, None, None, None, None)
    return ops.index_add_.call(count, dim, index, ones, 1)


# -- take, put ---------------------------------------------------------------------------------------------------------


def take(self: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor at the indices."""
    out = ops.empty_memory_format.call(index._size, self._dtype, "strided", self._device, None, None)
    return take_out(self, index, out)


def take_out(self: Tensor, index: Tensor, out: Tensor) -> Tensor:
    """Write ``take`` into ``out``, which is resized."""
    if index._dtype is not int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index._dtype.legacy}")
    if self._dtype is not out._dtype:
        raise RuntimeError(
            "take(): self and out expected to have the same dtype, but got self.dtype = "
            f"{self._dtype.legacy} and out.dtype = {out._dtype.legacy}"
        )
    if not numel(self._size) and numel(index._size):
        raise IndexError("take(): tried to take from an empty tensor")
    check_no_overlap(out, (index, self))
    if out._size != index._size:
        resize_output(out, index._size, contiguous_strides(index._size))
    if numel(index._size):
        _check_inside(self, index)
        out._array[...] = self._array.reshape(-1)[index._array]
    return out


def _check_inside(self: Tensor, index: Tensor) -> None:
    count, indices = numel(self._size), index._array
    wrong = (indices < -count) | (indices >= count)
    if wrong.any():
        raise IndexError(
            f"out of range: tried to access index {int(indices[wrong].reshape(-1)[0])} on a tensor of {count} elements."
        )


def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """A copy with values written at indices of the flattened tensor."""
    return ops.put_.call(ops.clone.call(self, "preserve_format"), index, source, accumulate)


def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
    """Write values at indices of the flattened tensor, in place; add them if ``accumulate``."""
    if not accumulate:
        alert_not_deterministic("put_")
    _check_put(self, index, source)
    if not numel(index._size):
        return self
    ops.reshape.call(index, source._size)
    _check_inside(self, index)
    xp = array_module(self._device.type)
    indices = xp.unravel_index(index._array.reshape(-1) % numel(self._size), self._size or (1,))
    target, values = self._array.reshape(self._size or (1,)), source._array.reshape(-1)
    if accumulate:
        add_at(target, indices, values)
    else:
        target[indices] = values
    return self


def _check_put(self: Tensor, index: Tensor, source: Tensor) -> None:
    if index._dtype is not int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index._dtype.legacy}")
    if self._dtype is not source._dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{self._dtype.legacy} and source.dtype = {source._dtype.legacy}"
        )
    given, count = numel(source._size), numel(index._size)
    if given != count:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{given}, index.numel() = {count}"
        )
    if not numel(self._size) and count:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    check_no_internal_overlap(self)


# -- take_along_dim ----------------------------------------------------------------------------------------------------


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None) -> Tensor:
    """``gather`` with broadcasting; without a dimension both tensors are flattened."""
    if indices._dtype is not int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices._dtype.legacy}")
    if dim is None:
        flat, positions = ops.view.call(self, (-1,)), ops.view.call(indices, (-1,))
        return ops.gather.call(flat, 0, positions)
    source, positions, dim = _along(self, indices, dim)
    return ops.gather.call(source, dim, positions)


def take_along_dim_out(self: Tensor, indices: Tensor, dim: int | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``take_along_dim``."""
    if indices._dtype is not int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices._dtype.legacy}")
    if dim is None:
        flat, positions = ops.view.call(self, (-1,)), ops.view.call(indices, (-1,))
        return ops.gather_out.call(flat, 0, positions, False, out)
    source, positions, dim = _along(self, indices, dim)
    return ops.gather_out.call(source, dim, positions, False, out)


def _along(self: Tensor, indices: Tensor, dim: int) -> tuple[Tensor, Tensor, int]:
    """Both tensors, broadcast except along the dimension (``_take_along_dim_helper``); and the dimension."""
    if len(self._size) != len(indices._size):
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(self._size)} dimensions for input, and {len(indices._size)} dimensions for indices"
        )
    dim = wrap_dim(dim, len(self._size))
    own = (*self._size[:dim], indices._size[dim], *self._size[dim + 1 :]) if self._size else ()
    other = (*indices._size[:dim], self._size[dim], *indices._size[dim + 1 :]) if self._size else ()
    positions = ops.broadcast_to.call(indices, broadcast_sizes(own, indices._size))
    source = ops.broadcast_to.call(self, broadcast_sizes(other, self._size))
    return source, ops.remainder_Scalar.call(positions, source._size[dim] if source._size else 1), dim
