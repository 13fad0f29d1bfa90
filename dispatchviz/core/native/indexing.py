"""Elements picked and written by a tensor of places: ``index_select``, ``gather``, ``scatter``, ``nonzero``,
``bincount`` (``aten/src/ATen/native/TensorAdvancedIndexing.cpp``, ``SummaryOps.cpp``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import bool_, int32, int64
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.dims import wrap_dim
from dispatchviz.core.native.scalars import Scalar, convert
from dispatchviz.core.structured import Structured, resize, resize_output
from dispatchviz.core.tensor import Size, Tensor, contiguous_strides, numel

# -- index_select ------------------------------------------------------------------------------------------------------


def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The indices of one dimension that a vector names."""
    dim = wrap_dim(dim, len(self._size))
    out = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    if len(index._size) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index._dtype not in (int32, int64):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    count = numel(index._size)
    if not self._size and count != 1:
        raise RuntimeError("index_select(): Index to scalar can have only 1 value, got " + f"{count} value(s)")
    size = (*self._size[:dim], count, *self._size[dim + 1 :]) if self._size else ()
    resize(out, size, contiguous_strides(size))
    if self._array is None:
        return out
    places = index._array.reshape(-1)
    if len(self._size) > 1 and dim == 0 and self._device.type == "cpu" and count:
        ops.select_int.call(self, dim, 0)
        ops.select_int.call(out, dim, 0)
    _check_places(places, self._size[dim] if self._size else 1, "index out of range in self")
    out._array[...] = self._array.take(places, axis=dim) if self._size else self._array
    return out


def _check_places(places: Any, length: int, text: str) -> None:
    if ((places < 0) | (places >= length)).any():
        raise IndexError(text)


def index_select_backward_symint(grad: Tensor, self_sizes: Size, dim: int, index: Tensor) -> Tensor:
    """Zeros with the gradient added in at the indices."""
    zeros = ops.new_zeros.call(grad, self_sizes, None, None, None, None)
    return ops.index_add_.call(zeros, dim, index, grad, 1)


def index_add_meta(op: Structured, self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Scalar) -> None:
    """Shape and dtype of self."""
    wrap_dim(dim, len(self._size))
    if len(index._size) > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {len(index._size)} with type: "
            f"{index._dtype.legacy} and size: {list(index._size)}"
        )
    if self._dtype is not source._dtype:
        raise RuntimeError("index_add_(): self and source must have the same scalar type")
    length = (source._size or (1,))[wrap_dim(dim, len(source._size))]
    if numel(index._size) != length:
        raise RuntimeError(
            f"index_add_(): Number of indices ({numel(index._size)}) should be equal to source.size(dim): ({length}), "
            f"for dim: {dim}"
        )
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def index_add_out(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Scalar, out: Tensor) -> None:
    """self with alpha * source added at the indices of one dimension"""
    if out is not self:
        ops.copy_.call(out, self, False)
    dim = wrap_dim(dim, len(self._size))
    places = index._array.reshape(-1)
    _check_places(places, self._size[dim] if self._size else 1, "index out of range in self")
    if self._device.type == "cpu" and len(self._size) > 1 and alpha == 1:
        wide = tuple(numel(index._size) if d == dim else length for d, length in enumerate(self._size))
        expanded = ops.as_strided.call(index, wide, tuple(int(d == dim) for d in range(len(wide))), None)
        ops.scatter_add_.call(out, dim, expanded, source)
        return
    _added(out, dim, source, places, convert(alpha, self._dtype))


def _added(out: Tensor, dim: int, source: Tensor, places: Any, factor: Any = 1) -> None:
    xp = array_module(out._device.type)
    target = xp.moveaxis(out._array, dim, 0) if out._size else out._array.reshape(1)
    values = xp.moveaxis(source._array, dim, 0) if source._size else source._array.reshape(1)
    xp.add.at(target, places, values * out._dtype.numpy.type(factor))


# -- gather, scatter ---------------------------------------------------------------------------------------------------


def gather_meta(op: Structured, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> None:
    """The shape of the index."""
    _check_gathered("gather", self, dim, index)
    op.set_output_raw_strided(index._size, contiguous_strides(index._size), self._dtype, self._device)


def _check_gathered(name: str, self: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> None:
    dim = wrap_dim(dim, len(self._size))
    if not numel(index._size):
        return
    if index._dtype not in (int32, int64):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(len(index._size), 1) != max(len(self._size), 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            + ("self tensor" if name != "gather" else "input tensor")
        )
    if src is not None and max(len(index._size), 1) != max(len(src._size), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if src is not None and src._dtype is not self._dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")


def gather_out(self: Tensor, dim: int, index: Tensor, sparse_grad: bool, out: Tensor) -> None:
    """out[i][j] = self[index[i][j]][j], for dimension 0"""
    places, dim = _places_along(self, dim, index)
    if places is not None:
        xp = array_module(out._device.type)
        source = self._array.reshape(self._size or (1,))
        cut = tuple(slice(None) if d == dim else slice(0, n) for d, n in enumerate(places.shape))
        out._array[...] = xp.take_along_axis(source[cut], places, dim).reshape(out._size)


def _places_along(self: Tensor, dim: int, index: Tensor) -> tuple[Any, int]:
    """The index as an array with a dimension at least; None if it is empty."""
    dim = wrap_dim(dim, len(self._size))
    if not numel(index._size):
        return None, dim
    places = index._array
    if self._device.type == "cpu":
        places = ops.to_dtype.call(index, int64, False, False, None)._array
    places = places.reshape(index._size or (1,))
    length = self._size[dim] if self._size else 1
    wrong = (places < 0) | (places >= length)
    if wrong.any():
        raise RuntimeError(f"index {int(places[wrong][0])} is out of bounds for dimension {dim} with size {length}")
    return places, dim


def gather_backward(grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    """Zeros with the gradient added in where it was read."""
    zeros = ops.new_zeros.call(grad, self._size, None, None, None, None)
    return ops.scatter_add_.call(zeros, dim, index, grad)


def scatter_src_meta(op: Structured, self: Tensor, dim: int, index: Tensor, src: Tensor) -> None:
    """Shape and dtype of self."""
    _check_gathered("scatter", self, dim, index, src)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def scatter_value_meta(op: Structured, self: Tensor, dim: int, index: Tensor, value: Scalar) -> None:
    """Shape and dtype of self."""
    _check_gathered("scatter", self, dim, index)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def scatter_add_meta(op: Structured, self: Tensor, dim: int, index: Tensor, src: Tensor) -> None:
    """Shape and dtype of self."""
    _check_gathered("scatter", self, dim, index, src)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def scatter_src_out(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> None:
    """self with src written at the places"""
    grid, at = _scattered(self, dim, index, out)
    if grid is not None:
        out._array.reshape(out._size or (1,))[grid] = src._array.reshape(src._size or (1,))[at]


def scatter_value_out(self: Tensor, dim: int, index: Tensor, value: Scalar, out: Tensor) -> None:
    """self with a number written at the places"""
    grid, _ = _scattered(self, dim, index, out)
    if grid is not None:
        out._array.reshape(out._size or (1,))[grid] = convert(value, out._dtype)


def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> None:
    """self with src added at the places"""
    grid, at = _scattered(self, dim, index, out)
    if grid is not None:
        target = out._array.reshape(out._size or (1,))
        array_module(out._device.type).add.at(target, grid, src._array.reshape(src._size or (1,))[at])


def _scattered(self: Tensor, dim: int, index: Tensor, out: Tensor) -> tuple[Any, Any]:
    """Copies self; the places in it as one array per dimension, and the cut of the source that goes there."""
    if out is not self:
        ops.copy_.call(out, self, False)
    places, dim = _places_along(self, dim, index)
    if places is None:
        return None, None
    xp = array_module(out._device.type)
    grid = list(xp.indices(places.shape, sparse=True))
    grid[dim] = places
    return tuple(grid), tuple(slice(0, n) for n in places.shape)


# -- nonzero ----------------------------------------------------------------------------------------------------------


def nonzero(self: Tensor) -> Tensor:
    """The places of what is not 0, one a row."""
    return nonzero_out(self, ops.empty_memory_format.call((0,), int64, "strided", self._device, None, None))


def nonzero_out(self: Tensor, out: Tensor) -> Tensor:
    """Into out, which is resized. The rows are written dimension by dimension."""
    if out._dtype is not int64:
        raise RuntimeError(
            "nonzero: Expected out tensor to have scalar type Long but got scalar type " + out._dtype.legacy
        )
    xp: Any = array_module(self._device.type)
    found = xp.stack(xp.nonzero(self._array), 1) if self._size else xp.zeros((int(bool(self._array)), 0), "int64")
    size = (int(found.shape[0]), len(self._size))
    stride = (1, max(size[0], 1)) if self._size else contiguous_strides(size)
    if out._size != size:
        resize_output(out, size, stride)
        if self._device.type == "cpu":
            ops.as_strided_.call(out, size, stride, None)
    out._array[...] = found
    return out


def nonzero_numpy(self: Tensor) -> list[Tensor]:
    """The places, one tensor per dimension; a 0-dim tensor counts as having one."""
    source = self if self._size else ops.unsqueeze.call(self, 0)
    return ops.unbind_int.call(ops.nonzero.call(source), 1)


def argwhere(self: Tensor) -> Tensor:
    """``nonzero``"""
    return ops.nonzero.call(self)


def where(condition: Tensor) -> list[Tensor]:
    """``nonzero_numpy``"""
    return ops.nonzero_numpy.call(condition)


# -- bincount ----------------------------------------------------------------------------------------------------------


def _bincount(self: Tensor, weights: Tensor | None, minlength: int) -> Tensor:
    """How often each number occurs, or the sum of the weights where it does.

    NB: in PyTorch, the CPU kernel asks ``min`` and ``max`` first, through operators.
    """
    if len(self._size) != 1 or self._dtype.can_require_grad or self._dtype is bool_:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if self._array.size and int(self._array.min()) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._size != self._size:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    count = max(int(self._array.max()) + 1 if self._array.size else 0, minlength)
    dtype = int64 if weights is None else weights._dtype
    out = ops.zeros.call((count,), dtype, "strided", self._device, None)
    array_module(self._device.type).add.at(out._array, self._array, 1 if weights is None else weights._array)
    return out
