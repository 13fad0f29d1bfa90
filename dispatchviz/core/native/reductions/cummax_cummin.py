"""``cummax``, ``cummin``: cumulative maximum and minimum, with indices (``aten/src/ATen/native/ReduceOps.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.device.array_library import array_module, module_of, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import DType, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel

ValuesAndIndices = tuple[Tensor, Tensor]


def cummax(self: Tensor, dim: int) -> ValuesAndIndices:
    """The cumulative maximum, and its last index."""
    values, indices = _empty(self, self._size, self._dtype), _empty(self, self._size, int64)
    return ops.cummax_out.call(self, dim, values, indices)


def cummin(self: Tensor, dim: int) -> ValuesAndIndices:
    """The cumulative minimum, and its last index."""
    values, indices = _empty(self, self._size, self._dtype), _empty(self, self._size, int64)
    return ops.cummin_out.call(self, dim, values, indices)


def _empty(like: Tensor, size: Size, dtype: DType) -> Tensor:
    return ops.empty_memory_format.call(size, dtype, "strided", like._device, None, None)


def cummax_out(self: Tensor, dim: int, values: Tensor, indices: Tensor) -> ValuesAndIndices:
    """Write ``cummax`` into two tensors. Raise RuntimeError for other dtypes or devices."""
    return _cumulative("cummax", self, dim, values, indices)


def cummin_out(self: Tensor, dim: int, values: Tensor, indices: Tensor) -> ValuesAndIndices:
    """Write ``cummin`` into two tensors. Raise RuntimeError for other dtypes or devices."""
    return _cumulative("cummin", self, dim, values, indices)


def _cumulative(name: str, self: Tensor, dim: int, values: Tensor, indices: Tensor) -> ValuesAndIndices:
    _check_like(values, self)
    _check_like(indices, _empty(self, (0,), int64))
    for out in (values, indices):
        if out._size != self._size:
            resize_output(out, self._size, contiguous_strides(self._size))
    if not self._size:
        if dim not in (0, -1):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        ops.fill__Tensor.call(values, self)
        ops.fill__Scalar.call(indices, 0)
    elif numel(self._size):
        helper = ops._cummax_helper if name == "cummax" else ops._cummin_helper
        helper.call(self, values, indices, wrap_dim(dim, len(self._size)))
    return values, indices


def _check_like(out: Tensor, like: Tensor) -> None:
    """Raise RuntimeError if ``out`` has another dtype or device (``check_scalar_type_device_layout_equal``)."""
    if out._dtype is not like._dtype:
        raise RuntimeError(f"expected scalar_type {like._dtype.legacy} but found {out._dtype.legacy}")
    if out._device != like._device:
        raise RuntimeError(f"expected device {like._device} but found {out._device}")


def cummax_helper(self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
    """The loop of ``cummax``"""
    _loop(self, values, indices, dim, "maximum")


def cummin_helper(self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
    """The loop of ``cummin``"""
    _loop(self, values, indices, dim, "minimum")


def _loop(self: Tensor, values: Tensor, indices: Tensor, dim: int, name: str) -> None:
    if self._dtype.is_complex:
        raise not_implemented(f"cum{name[:3]}_cpu", self._dtype)
    xp: Any = array_module(self._device.type)
    source = self._array
    found = _cumulative_extrema(name, source, dim)
    is_new = (source == found) | (source != source)
    shape = [1] * source.ndim
    shape[dim] = source.shape[dim]
    steps = xp.arange(source.shape[dim]).reshape(shape)
    indices._array[...] = _cumulative_extrema("maximum", xp.where(is_new, steps, 0), dim)
    values._array[...] = found


def _cumulative_extrema(name: str, array: Any, dim: int) -> Any:
    """The result of ``ufunc.accumulate``. CuPy accumulates only sums and products, so the host computes."""
    return module_of(array).asarray(getattr(numpy, name).accumulate(on_host(array), dim))


def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Zeros with the gradient added at the index of each extremum."""
    if not numel(input._size):
        return input
    zeros = ops.zeros.call(input._size, input._dtype, "strided", input._device, None)
    return ops.scatter_add_.call(zeros, dim, indices, grad)
