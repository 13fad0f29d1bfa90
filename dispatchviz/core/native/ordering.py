"""Elements in order (``aten/src/ATen/native/Sorting.cpp``, ``TopKImpl.h``): ``sort``, ``argsort``, ``msort``, ``topk``.
Single elements by their rank are in ``selecting.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import int64
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.dims import wrap_dim
from dispatchviz.core.native.geometry import dense_strides_like
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Tensor, contiguous_strides, numel

# -- sort --------------------------------------------------------------------------------------------------------------


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
    _refuse_complex(" Sort", self)
    stride = dense_strides_like(self._size, self._stride)
    for each, dtype in zip(op, (self._dtype, int64), strict=True):
        resized = each.variant == "out" and each.output._size != self._size
        each.set_output_raw_strided(self._size, stride, dtype, self._device)
        if resized and stride == contiguous_strides(self._size):
            ops.as_strided_.call(each.output, self._size, stride, None)  # strides were asked for, if the usual ones


def _refuse_complex(name: str, self: Tensor) -> None:
    if self._dtype.is_complex:
        raise RuntimeError(f"{name} does not support complex dtypes on {self._device.type.upper()}")


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


# -- argsort, msort ----------------------------------------------------------------------------------------------------


def argsort(self: Tensor, dim: int, descending: bool) -> Tensor:
    """The places that ``sort`` gives."""
    return ops.sort.call(self, dim, descending)[1]


def argsort_stable(self: Tensor, stable: bool, dim: int, descending: bool) -> Tensor:
    """The places that ``sort`` gives, which can be asked to leave equal elements in their order."""
    return ops.sort_stable.call(self, stable, dim, descending)[1]


def argsort_stable_out(self: Tensor, stable: bool, dim: int, descending: bool, out: Tensor) -> Tensor:
    """Into out."""
    values = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.sort_values_stable.call(self, stable, dim, descending, values, out)[1]


def msort(self: Tensor) -> Tensor:
    """Sorted along the first dimension."""
    return ops.sort.call(self, 0, False)[0]


def msort_out(self: Tensor, out: Tensor) -> Tensor:
    """Into out."""
    indices = ops.empty_memory_format.call((0,), int64, "strided", self._device, None, None)
    return ops.sort_values.call(self, 0, False, out, indices)[0]


# -- topk --------------------------------------------------------------------------------------------------------------


def topk_meta(op: tuple[Structured, Structured], self: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> None:
    """k along the dimension."""
    axis = wrap_dim(dim, len(self._size))
    if k < 0 or k > (self._size[axis] if self._size else 1):
        raise RuntimeError("selected index k out of range")
    _refuse_complex(" topk", self)
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
