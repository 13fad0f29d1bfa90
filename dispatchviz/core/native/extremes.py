"""The largest, the smallest, and where they are (``aten/src/ATen/native/ReduceAllOps.cpp``, ``TensorCompare.cpp``,
``ReduceOps.cpp``). Of two tensors, element by element: ``clamping.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import can_cast, int64
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.dims import reduced_mask, wrap_dim
from dispatchviz.core.native.geometry import dense_strides_like
from dispatchviz.core.native.iterator import not_implemented, store
from dispatchviz.core.native.reductions import Dims, set_reduced, with_reduced_dims
from dispatchviz.core.structured import IMPROVABLE, Structured, resize_output
from dispatchviz.core.tensor import Size, Tensor, contiguous_strides, numel

# -- over everything ---------------------------------------------------------------------------------------------------


def max(self: Tensor) -> Tensor:
    """The largest element."""
    return _extreme_of_all("max", self)


def min(self: Tensor) -> Tensor:
    """The smallest element."""
    return _extreme_of_all("min", self)


def _extreme_of_all(name: str, self: Tensor) -> Tensor:
    if not numel(self._size):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    out = ops.empty_memory_format.call((), self._dtype, "strided", self._device, None, None)
    if self._device.type == "cpu" and not self._is_contiguous:
        self = ops.contiguous.call(self, "contiguous_format")
    return _put_extreme(name, self, out)


def _put_extreme(name: str, self: Tensor, out: Tensor) -> Tensor:
    """``max_all_stub``"""
    if self._dtype.is_complex:
        raise not_implemented(f"{name}_all", self._dtype)
    if self._device.type == "cpu":
        ops.fill__Scalar.call(out, 0)
    store(out, getattr(array_module(self._device.type), name)(self._array))
    return out


def max_unary_out(self: Tensor, out: Tensor) -> Tensor:
    """The largest element, into out; there is no check that there is one."""
    return _extreme_into("max", self, out)


def min_unary_out(self: Tensor, out: Tensor) -> Tensor:
    """The smallest element, into out; there is no check that there is one."""
    return _extreme_into("min", self, out)


def _extreme_into(name: str, self: Tensor, out: Tensor) -> Tensor:
    if self._device != out._device:
        raise RuntimeError("Expected self.device() == out.device() to be true, but got false.  " + IMPROVABLE)
    if not can_cast(self._dtype, out._dtype):
        raise RuntimeError(
            "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but "
            f"got false.  {IMPROVABLE}"
        )
    if out._size != ():
        resize_output(out, (), ())
    return _put_extreme(name, self, out)


def max_other(self: Tensor, other: Tensor) -> Tensor:
    """The larger one of two, element by element."""
    return ops.maximum.call(self, other)


def max_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """The larger one of two, into out."""
    return ops.maximum_out.call(self, other, out)


def min_other(self: Tensor, other: Tensor) -> Tensor:
    """The smaller one of two, element by element."""
    return ops.minimum.call(self, other)


def min_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """The smaller one of two, into out."""
    return ops.minimum_out.call(self, other, out)


# -- amax, amin --------------------------------------------------------------------------------------------------------


def amax_meta(op: Structured, self: Tensor, dim: Size, keepdim: bool) -> None:
    """Without the reduced dimensions, same dtype."""
    _reduced_same(op, "amax", self, dim, keepdim)


def amin_meta(op: Structured, self: Tensor, dim: Size, keepdim: bool) -> None:
    """Without the reduced dimensions, same dtype."""
    _reduced_same(op, "amin", self, dim, keepdim)


def _reduced_same(op: Structured, name: str, self: Tensor, dim: Size, keepdim: bool) -> None:
    if op.variant == "out" and op.output._dtype is not self._dtype:
        expected, found = self._dtype.legacy, op.output._dtype.legacy
        raise RuntimeError(
            f"Expected the dtype for input and out to match, but got {expected} for input's dtype and {found} for "
            "out's dtype."
        )
    if not numel(self._size):
        if not dim:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        for one in dim:
            _check_not_empty(name, self, one)
    set_reduced(op, self, dim, keepdim, self._dtype)


def _check_not_empty(name: str, self: Tensor, dim: int) -> None:
    wrapped = wrap_dim(dim, len(self._size))
    if self._size and not self._size[wrapped]:
        raise IndexError(f"{name}(): Expected reduction dim {wrapped} to have non-zero size.")


def amax_out(self: Tensor, dim: Size, keepdim: bool, out: Tensor) -> None:
    """The largest over the dimensions"""
    _reduce("max", self, dim, keepdim, out)


def amin_out(self: Tensor, dim: Size, keepdim: bool, out: Tensor) -> None:
    """The smallest over the dimensions"""
    _reduce("min", self, dim, keepdim, out)


def _reduce(function: str, self: Tensor, dim: Dims, keepdim: bool, out: Tensor) -> None:
    if not numel(self._size):
        return
    mask = reduced_mask(dim, len(self._size))
    viewed = with_reduced_dims(out, self, mask, keepdim)
    if out._device.type == "cpu" and out._dtype is not int64:
        ops.fill__Scalar.call(viewed, 0)
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    store(viewed, getattr(array_module(out._device.type), function)(self._array, axes, keepdims=True))


# -- argmax ------------------------------------------------------------------------------------------------------------


def argmax_meta(op: Structured, self: Tensor, dim: int | None, keepdim: bool) -> None:
    """int64, without the reduced dimension."""
    if self._dtype.is_complex:
        raise RuntimeError("argmax(): does not support complex input")
    if dim is not None:
        _check_not_empty("argmax", self, dim)
    elif not numel(self._size):
        raise IndexError("argmax(): Expected reduction dim to be specified for input.numel() == 0.")
    set_reduced(op, self, None if dim is None else (dim,), keepdim, int64)


def argmax_out(self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> None:
    """The place of the largest; the first one of several"""
    source, axis = (self, dim) if dim is not None else (ops.reshape.call(self, (-1,)), 0)
    mask = reduced_mask((axis,), len(source._size))
    if dim is None:
        ops.as_strided.call(out, (1,), (0,), None)
    else:
        with_reduced_dims(out, source, mask, keepdim)
    if numel(source._size):
        found = array_module(out._device.type).argmax(source._array.reshape(source._size or (1,)), axis)
        out._array[...] = found.reshape(out._size)


# -- along one dimension, with places ----------------------------------------------------------------------------------


def max_dim_meta(op: tuple[Structured, Structured], self: Tensor, dim: int, keepdim: bool) -> None:
    """Values and int64 places, without the dimension."""
    _with_places(op, "max", self, dim, keepdim)


def min_dim_meta(op: tuple[Structured, Structured], self: Tensor, dim: int, keepdim: bool) -> None:
    """Values and int64 places, without the dimension."""
    _with_places(op, "min", self, dim, keepdim)


def _with_places(op: tuple[Structured, Structured], name: str, self: Tensor, dim: int, keepdim: bool) -> None:
    wrap_dim(dim, len(self._size))
    _check_not_empty(name, self, dim)
    if self._dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")
    set_reduced(op[0], self, (dim,), keepdim, self._dtype)
    set_reduced(op[1], self, (dim,), keepdim, int64)


def max_out_dim_max(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    """The largest along a dimension, and the first place of it"""
    _values_and_places("argmax", self, dim, keepdim, values, indices)


def min_out_dim_min(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    """The smallest along a dimension, and the first place of it"""
    _values_and_places("argmin", self, dim, keepdim, values, indices)


def _values_and_places(function: str, self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    if not self._size:
        ops.fill__Tensor.call(values, self)
        ops.fill__Scalar.call(indices, 0)
        return
    if not keepdim and self._device.type == "cpu":  # the loop wants the dimension
        for tensor in (values, indices):
            ops.unsqueeze_.call(tensor, dim)
        for tensor in (values, indices):
            ops.squeeze__dim.call(tensor, dim)
    if numel(self._size):
        xp: Any = array_module(self._device.type)
        axis = wrap_dim(dim, len(self._size))
        places = xp.expand_dims(getattr(xp, function)(self._array, axis), axis)
        values._array[...] = xp.take_along_axis(self._array, places, axis).reshape(values._size)
        indices._array[...] = places.reshape(indices._size)


# -- sort, topk --------------------------------------------------------------------------------------------------------


def sort(self: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    """By the overload that says whether equal elements keep their order."""
    return ops.sort_stable.call(self, False, dim, descending)


def sort_out(self: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Into two tensors."""
    return ops.sort_values_stable.call(self, False, dim, descending, values, indices)


def sort_stable_meta(
    op: tuple[Structured, Structured], self: Tensor, stable: bool | None, dim: int, descending: bool
) -> None:
    """Values and int64 places in the shape and strides of self, without gaps."""
    wrap_dim(dim, len(self._size))
    stride = dense_strides_like(self._size, self._stride)
    op[0].set_output_raw_strided(self._size, stride, self._dtype, self._device)
    op[1].set_output_raw_strided(self._size, stride, int64, self._device)


def sort_stable_out(
    self: Tensor, stable: bool | None, dim: int, descending: bool, values: Tensor, indices: Tensor
) -> None:
    """Sorted along a dimension, nan last."""
    ops.copy_.call(values, self, False)
    if not self._size:
        ops.zero_.call(indices)
        return
    axis = wrap_dim(dim, len(self._size))
    if self._device.type == "cpu":
        _fill_indices(indices, axis)
    if values._array is not None and numel(self._size):
        places = _sorting(self, axis, descending)
        indices._array[...] = places
        values._array[...] = array_module(self._device.type).take_along_axis(self._array, places, axis)


def _fill_indices(indices: Tensor, axis: int) -> None:
    """The places as they are before sorting."""
    places = ops.arange_start.call(0, indices._size[axis], int64, "strided", indices._device, None)
    size = tuple(length if dim == axis else 1 for dim, length in enumerate(indices._size))
    stride = tuple(int(dim == axis) for dim in range(len(indices._size)))
    ops.copy_.call(indices, ops.as_strided.call(places, size, stride, None), False)


def _sorting(self: Tensor, axis: int, descending: bool) -> Any:
    """The places in order; equal elements keep theirs also when the order is turned round."""
    xp: Any = array_module(self._device.type)
    if not descending:
        return xp.argsort(self._array, axis=axis, kind="stable")
    turned = xp.argsort(xp.flip(self._array, axis), axis=axis, kind="stable")
    return self._size[axis] - 1 - xp.flip(turned, axis)


def topk_meta(op: tuple[Structured, Structured], self: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> None:
    """k along the dimension."""
    axis = wrap_dim(dim, len(self._size))
    if k < 0 or k > (self._size[axis] if self._size else 1):
        raise RuntimeError("selected index k out of range")
    size = (*self._size[:axis], k, *self._size[axis + 1 :]) if self._size else ()
    op[0].set_output_raw_strided(size, contiguous_strides(size), self._dtype, self._device)
    op[1].set_output_raw_strided(size, contiguous_strides(size), int64, self._device)


def topk_out(self: Tensor, k: int, dim: int, largest: bool, sorted: bool, values: Tensor, indices: Tensor) -> None:
    """The k largest or smallest along a dimension, in order.

    NB: in PyTorch, which of several equal elements is taken, and the order of what is not ``sorted``, is the library's.
    """
    if not self._size and k:
        ops.copy_.call(values, self, False)
        ops.zero_.call(indices)
        return
    if values._array is not None and numel(values._size):
        axis = wrap_dim(dim, len(self._size))
        cut = (*[slice(None)] * axis, slice(0, k))
        places = _sorting(self, axis, largest)[cut]
        indices._array[...] = places
        values._array[...] = array_module(self._device.type).take_along_axis(self._array, places, axis)


def value_selecting_reduction_backward_symint(
    grad: Tensor, dim: int, indices: Tensor, sizes: Size, keepdim: bool
) -> Tensor:
    """Zeros with the gradient at the places that were chosen."""
    if not keepdim and sizes:
        grad, indices = ops.unsqueeze.call(grad, dim), ops.unsqueeze.call(indices, dim)
    zeros = ops.zeros.call(sizes, grad._dtype, "strided", grad._device, None)
    return ops.scatter__src.call(zeros, dim, indices, grad)
