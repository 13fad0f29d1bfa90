"""``to``, ``_to_copy``, ``type_as``: another dtype, device or memory format
(``aten/src/ATen/native/TensorConversions.cpp``)."""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.core.device.missing_devices import ensure_has_index
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import suggested
from dispatchviz.core.native.iterator.strides import dense_strides_like
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor, options_of


def to_dtype_layout(
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    non_blocking: bool,
    copy: bool,
    memory_format: str | None,
) -> Tensor:
    """self with other options; self itself if nothing changes and no copy is requested."""
    device = None if device is None else ensure_has_index(device)
    same = dtype in (None, self._dtype) and device in (None, self._device)
    if same and not copy and memory_format in (None, "preserve_format", suggested(self)):  # to_will_alias
        return self
    return ops._to_copy.call(self, dtype, layout, device, pin_memory, non_blocking, memory_format)


def to_device(
    self: Tensor, device: Device, dtype: DType, non_blocking: bool, copy: bool, memory_format: str | None
) -> Tensor:
    """self on another device and with another dtype."""
    return to_dtype_layout(self, dtype, None, device, None, non_blocking, copy, memory_format)


def to_dtype(self: Tensor, dtype: DType, non_blocking: bool, copy: bool, memory_format: str | None) -> Tensor:
    """self with another dtype."""
    if dtype is self._dtype and not copy and memory_format is None:
        return self
    return to_dtype_layout(self, dtype, None, None, None, non_blocking, copy, memory_format)


def to_other(self: Tensor, other: Tensor, non_blocking: bool, copy: bool, memory_format: str | None) -> Tensor:
    """self with the options of another tensor."""
    return to_dtype_layout(self, other._dtype, "strided", other._device, None, non_blocking, copy, memory_format)


def _to_copy(
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    non_blocking: bool,
    memory_format: str | None,
) -> Tensor:
    """A copy with other options; by default dense, with the same order of dimensions."""
    options = (dtype or self._dtype, layout, ensure_has_index(device or self._device), pin_memory)
    if memory_format in (None, "preserve_format"):
        result = ops.empty_strided.call(self._size, dense_strides_like(self._size, self._stride), *options)
    else:
        result = ops.empty_memory_format.call(self._size, *options, memory_format)
    return ops.copy_.call(result, self, non_blocking)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """self with the dtype and device of another tensor."""
    options = options_of(other)
    return ops.to_dtype_layout.call(self, options.dtype, "strided", options.device, None, False, False, None)
