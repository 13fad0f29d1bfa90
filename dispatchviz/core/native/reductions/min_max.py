"""Minimum and maximum: ``max``, ``min``, ``amax``, ``amin``, ``argmax``, ``argmin``, ``aminmax``
(``aten/src/ATen/native/ReduceAllOps.cpp``, ``TensorCompare.cpp``, ``ReduceOps.cpp``). Those of two tensors, element by
element, are in ``clamp.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import IMPROVABLE, Structured, resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.native.iterator.wrap_dim import reduced_mask, wrap_dim
from dispatchviz.core.native.reductions.sum_mean import Dims, set_reduced, with_reduced_dims
from dispatchviz.core.tensor.dtype import can_cast, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

# -- over all elements -------------------------------------------------------------------------------------------------


def max(self: Tensor) -> Tensor:
    """The largest element."""
    return _reduce_all("max", self)


def min(self: Tensor) -> Tensor:
    """The smallest element."""
    return _reduce_all("min", self)


def _reduce_all(name: str, self: Tensor) -> Tensor:
    if not numel(self._size):
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    out = ops.empty_memory_format.call((), self._dtype, "strided", self._device, None, None)
    if not self._is_contiguous:
        self = ops.contiguous.call(self, "contiguous_format")
    return _store_reduced(name, self, out)


def _store_reduced(name: str, self: Tensor, out: Tensor) -> Tensor:
    """Write the maximum or minimum of all elements into ``out`` (``max_all_stub``)."""
    if self._dtype.is_complex:
        raise not_implemented(f"{name}_all", self._dtype)
    if self._device.type == "cpu":
        ops.fill__Scalar.call(out, 0)
    else:  # cuda/ReduceMaxValuesKernel.cu
        with_reduced_dims(out, self, [True] * len(self._size), keepdim=False)
    store(out, getattr(array_module(self._device.type), name)(self._array))
    return out


def max_unary_out(self: Tensor, out: Tensor) -> Tensor:
    """Write the largest element into ``out``, without checking that there is one."""
    return _reduce_all_out("max", self, out)


def min_unary_out(self: Tensor, out: Tensor) -> Tensor:
    """Write the smallest element into ``out``, without checking that there is one."""
    return _reduce_all_out("min", self, out)


def _reduce_all_out(name: str, self: Tensor, out: Tensor) -> Tensor:
    if self._device != out._device:
        raise RuntimeError("Expected self.device() == out.device() to be true, but got false.  " + IMPROVABLE)
    if not can_cast(self._dtype, out._dtype):
        raise RuntimeError(
            "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but "
            f"got false.  {IMPROVABLE}"
        )
    if out._size != ():
        resize_output(out, (), ())
    return _store_reduced(name, self, out)


def max_other(self: Tensor, other: Tensor) -> Tensor:
    """The larger element of two tensors."""
    return ops.maximum.call(self, other)


def max_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write the larger element of two tensors into ``out``."""
    return ops.maximum_out.call(self, other, out)


def min_other(self: Tensor, other: Tensor) -> Tensor:
    """The smaller element of two tensors."""
    return ops.minimum.call(self, other)


def min_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Write the smaller element of two tensors into ``out``."""
    return ops.minimum_out.call(self, other, out)


# -- amax, amin --------------------------------------------------------------------------------------------------------


def amax_meta(op: Structured, self: Tensor, dim: Size, keepdim: bool) -> None:
    """The shape without the reduced dimensions, and the dtype of self."""
    _reduced_same(op, "amax", self, dim, keepdim)


def amin_meta(op: Structured, self: Tensor, dim: Size, keepdim: bool) -> None:
    """The shape without the reduced dimensions, and the dtype of self."""
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
            if not self._size[wrap_dim(one, len(self._size))]:
                raise IndexError(f"{name}(): Expected reduction dim {one} to have non-zero size.")
    set_reduced(op, self, dim, keepdim, self._dtype)


def check_not_empty(name: str, self: Tensor, dim: int) -> None:
    """Raise IndexError for a dimension without elements (``zero_numel_check_dims``)."""
    wrapped = wrap_dim(dim, len(self._size))
    if self._size and not self._size[wrapped]:
        raise IndexError(f"{name}: Expected reduction dim {wrapped} to have non-zero size.")


def amax_out(self: Tensor, dim: Size, keepdim: bool, out: Tensor) -> None:
    """The maximum over the dimensions"""
    _reduce("max", self, dim, keepdim, out)


def amin_out(self: Tensor, dim: Size, keepdim: bool, out: Tensor) -> None:
    """The minimum over the dimensions"""
    _reduce("min", self, dim, keepdim, out)


def _reduce(function: str, self: Tensor, dim: Dims, keepdim: bool, out: Tensor) -> None:
    if not numel(self._size):
        return
    mask = reduced_mask(dim, len(self._size))
    viewed = with_reduced_dims(out, self, mask, keepdim)
    if self._dtype.is_complex:
        raise not_implemented(f"{function}_values_cpu", self._dtype)
    if out._device.type == "cpu" and out._dtype is not int64:
        ops.fill__Scalar.call(viewed, 0)
    axes = tuple(i for i, reduced in enumerate(mask) if reduced)
    store(viewed, getattr(array_module(out._device.type), function)(self._array, axes, keepdims=True))


# -- argmax, argmin ----------------------------------------------------------------------------------------------------


def argmax_meta(op: Structured, self: Tensor, dim: int | None, keepdim: bool) -> None:
    """An int64 result without the reduced dimension."""
    _arg_meta(op, "argmax", self, dim, keepdim)


def argmin_meta(op: Structured, self: Tensor, dim: int | None, keepdim: bool) -> None:
    """An int64 result without the reduced dimension."""
    _arg_meta(op, "argmin", self, dim, keepdim)


def _arg_meta(op: Structured, name: str, self: Tensor, dim: int | None, keepdim: bool) -> None:
    if self._dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")
    if dim is not None:
        check_not_empty(f"{name}()", self, dim)
    elif not numel(self._size):
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    set_reduced(op, self, None if dim is None else (dim,), keepdim, int64)


def argmax_out(self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> None:
    """The index of the maximum; the first of several"""
    _arg_out("argmax", self, dim, keepdim, out)


def argmin_out(self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> None:
    """The index of the minimum; the first of several"""
    _arg_out("argmin", self, dim, keepdim, out)


def _arg_out(name: str, self: Tensor, dim: int | None, keepdim: bool, out: Tensor) -> None:
    source, axis = (self, dim) if dim is not None else (ops.reshape.call(self, (-1,)), 0)
    mask = reduced_mask((axis,), len(source._size))
    if dim is None:
        ops.as_strided.call(out, (1,), (0,), None)
    else:
        with_reduced_dims(out, source, mask, keepdim)
    if numel(source._size):
        found = getattr(array_module(out._device.type), name)(source._array.reshape(source._size or (1,)), axis)
        out._array[...] = found.reshape(out._size)


# -- along one dimension, with indices ---------------------------------------------------------------------------------


def max_dim_meta(op: tuple[Structured, Structured], self: Tensor, dim: int, keepdim: bool) -> None:
    """Values and int64 indices, without the reduced dimension."""
    _values_and_indices_meta(op, "max", self, dim, keepdim)


def min_dim_meta(op: tuple[Structured, Structured], self: Tensor, dim: int, keepdim: bool) -> None:
    """Values and int64 indices, without the reduced dimension."""
    _values_and_indices_meta(op, "min", self, dim, keepdim)


def _values_and_indices_meta(
    op: tuple[Structured, Structured], name: str, self: Tensor, dim: int, keepdim: bool
) -> None:
    wrap_dim(dim, len(self._size))
    check_not_empty(f"{name}()", self, dim)
    if self._dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")
    set_reduced(op[0], self, (dim,), keepdim, self._dtype)
    set_reduced(op[1], self, (dim,), keepdim, int64)


def max_out_dim_max(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    """The maximum along a dimension, and its first index"""
    _values_and_indices("argmax", self, dim, keepdim, values, indices)


def min_out_dim_min(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    """The minimum along a dimension, and its first index"""
    _values_and_indices("argmin", self, dim, keepdim, values, indices)


def _values_and_indices(function: str, self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    if not self._size:
        ops.fill__Tensor.call(values, self)
        ops.fill__Scalar.call(indices, 0)
        return
    if not numel(self._size):
        return
    axis = wrap_dim(dim, len(self._size))
    if self._device.type == "cuda":
        for tensor in (values, indices):
            with_reduced_dims(tensor, self, reduced_mask((axis,), len(self._size)), keepdim)
    elif not keepdim:  # the loop needs the reduced dimension
        for tensor in (values, indices):
            ops.unsqueeze_.call(tensor, dim)
        for tensor in (values, indices):
            ops.squeeze__dim.call(tensor, dim)
    xp: Any = array_module(self._device.type)
    positions = xp.expand_dims(getattr(xp, function)(self._array, axis), axis)
    values._array[...] = xp.take_along_axis(self._array, positions, axis).reshape(values._size)
    indices._array[...] = positions.reshape(indices._size)


# -- backward ----------------------------------------------------------------------------------------------------------


def value_selecting_reduction_backward_symint(
    grad: Tensor, dim: int, indices: Tensor, sizes: Size, keepdim: bool
) -> Tensor:
    """Zeros with the gradient at the selected indices."""
    if not keepdim and sizes:
        grad, indices = ops.unsqueeze.call(grad, dim), ops.unsqueeze.call(indices, dim)
    if is_tensor_subclass_like(grad) or is_tensor_subclass_like(indices):
        zeros = ops.new_zeros.call(grad, sizes, None, None, None, None)
        return ops.scatter_src.call(zeros, dim, indices, grad)
    zeros = ops.zeros.call(sizes, grad._dtype, "strided", grad._device, None)
    return ops.scatter__src.call(zeros, dim, indices, grad)


# -- aminmax -----------------------------------------------------------------------------------------------------------


def aminmax_meta(op: tuple[Structured, Structured], self: Tensor, dim: int | None, keepdim: bool) -> None:
    """The minimum and maximum of all elements or along a dimension."""
    if dim is not None:
        check_not_empty("aminmax", self, dim)
        dims: Dims = (dim,)
    elif not numel(self._size):
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    else:
        dims = None
    for each in op:
        set_reduced(each, self, dims, keepdim, self._dtype)


def aminmax_out(self: Tensor, dim: int | None, keepdim: bool, min: Tensor, max: Tensor) -> None:
    """The minimum and maximum in one pass"""
    on_cpu = self._device.type == "cpu"
    if dim is None and not self._is_contiguous:
        self = ops.contiguous.call(self, "contiguous_format")
    if self._dtype.is_complex:
        raise not_implemented("aminmax_cpu", self._dtype)
    if not self._size or (dim is None and on_cpu):
        for out in (min, max):
            ops.fill__Scalar.call(out, 0)
    elif dim is not None and on_cpu and not keepdim:
        for out in (min, max):
            ops.unsqueeze_.call(out, dim)
        for out in (min, max):
            ops.squeeze__dim.call(out, dim)
    if numel(self._size):
        xp = array_module(self._device.type)
        axis = None if dim is None or not self._size else wrap_dim(dim, len(self._size))
        store(min, xp.min(self._array, axis).reshape(min._size))
        store(max, xp.max(self._array, axis).reshape(max._size))
