"""``empty``, ``empty_strided``, ``full``, ``ones``, ``zeros``, their ``*_like`` and ``new_*``, ``scalar_tensor``
(``aten/src/ATen/native/TensorFactories.cpp``, ``aten/src/ATen/EmptyTensor.cpp``).

Only ``empty`` and ``empty_strided`` allocate; the others call one of them and then an operator that writes. Random
tensors are in ``rand_randn.py``. Tensor options are passed as dtype, layout, device and pin_memory; None means not
given. NB: in PyTorch, ``pin_memory`` requests page-locked host memory, and there are layouts other than strided. Here
both are accepted where they request nothing, and ignored.
"""

from __future__ import annotations

from math import prod

from dispatchviz.core.call.deterministic_algorithms import filled_if_deterministic, fills_memory
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.device.missing_devices import present
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.native.iterator.memory_formats import check_rank
from dispatchviz.core.native.iterator.scalar import Scalar, in_one_element
from dispatchviz.core.native.iterator.strides import channels_last_strides, dense_strides_like
from dispatchviz.core.tensor.dtype import DType, bool_, default_complex_dtype, default_dtype, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, check_numel, contiguous_strides, extent
from dispatchviz.core.tensor.tensor import empty_strided as allocate
from dispatchviz.core.thread.guards import AutoDispatchBelowAutograd, ExcludeDispatchKeyGuard

_TRACER = raw(DispatchKey.Tracer)


# -- empty -------------------------------------------------------------------------------------------------------------


def empty(
    size: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Uninitialized memory."""
    return filled_if_deterministic(_new(size, dtype, device, memory_format))


def empty_meta(
    size: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """A tensor without memory. Raise RuntimeError if its size in bytes needs more than 63 bits."""
    if prod(size) * (dtype or default_dtype()).itemsize >> 63 and min(size) >= 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    return _new(size, dtype, device, memory_format)


def _new(size: Size, dtype: DType | None, device: Device | None, memory_format: str | None) -> Tensor:
    size = tuple(size)
    check_size(size)
    return allocate(size, _format_strides(size, memory_format), dtype or default_dtype(), present(device or CPU))


def empty_out(size: Size, memory_format: str | None, out: Tensor) -> Tensor:
    """Resize ``out``. Raise RuntimeError for a memory format."""
    if memory_format is not None:
        raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
    check_size(size)
    return ops.resize_.call(out, size, None)


def empty_strided(
    size: Size,
    stride: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Uninitialized memory with given strides."""
    return filled_if_deterministic(_new_strided(size, stride, dtype, device))


def empty_strided_meta(
    size: Size,
    stride: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """A tensor without memory, with given strides."""
    return _new_strided(size, stride, dtype, device)


def _new_strided(size: Size, stride: Size, dtype: DType | None, device: Device | None) -> Tensor:
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    check_size(size)
    if stride and min(stride) < 0:
        raise _overflow(size, stride)
    dtype, device = dtype or default_dtype(), present(device or CPU)
    if extent(size, stride) * dtype.itemsize >> 63 and device.type != "meta":
        raise _overflow(size, stride)
    if prod(size) >> 63:
        check_numel(size)
    return allocate(size, stride, dtype, device)


def _overflow(size: Size, stride: Size) -> RuntimeError:
    return RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")


def empty_like(
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Uninitialized memory of the shape of self; by default dense, with its order of dimensions."""
    options = (dtype or self._dtype, layout, device or self._device, pin_memory)
    if memory_format in (None, "preserve_format"):
        return ops.empty_strided.call(self._size, dense_strides_like(self._size, self._stride), *options)
    return ops.empty_memory_format.call(self._size, *options, memory_format)


def new_empty(
    self: Tensor,
    size: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Uninitialized memory with the options of self."""
    return ops.empty_memory_format.call(size, dtype or self._dtype, layout, device or self._device, pin_memory, None)


def new_empty_strided(
    self: Tensor,
    size: Size,
    stride: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Uninitialized memory with given strides and the options of self."""
    return ops.empty_strided.call(size, stride, dtype or self._dtype, layout, device or self._device, pin_memory)


def check_size(size: Size) -> None:
    for length in size:
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(size)}")


def _format_strides(size: Size, memory_format: str | None) -> Size:
    if memory_format in (None, "contiguous_format"):
        return contiguous_strides(size)
    if memory_format == "preserve_format":
        raise RuntimeError("unsupported memory format Preserve")
    check_rank(memory_format, size)
    return channels_last_strides(size)


# -- constants ---------------------------------------------------------------------------------------------------------


def full(
    size: Size,
    fill_value: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """A tensor filled with one number, which determines the dtype if none is given."""
    result = ops.empty_memory_format.call(size, dtype or full_dtype(fill_value), layout, device, pin_memory, None)
    return ops.fill__Scalar.call(result, fill_value)


def full_dtype(value: Scalar) -> DType:
    """The dtype of a number if none is given."""
    if type(value) is complex:
        return default_complex_dtype()
    return {bool: bool_, int: int64}.get(type(value), default_dtype())


def full_out(size: Size, fill_value: Scalar, out: Tensor) -> Tensor:
    """Fill ``out`` with one number."""
    return ops.fill__Scalar.call(ops.resize_.call(out, size, None), fill_value)


def full_like(
    self: Tensor,
    fill_value: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """A tensor of the shape of self, filled with one number."""
    result = ops.empty_like.call(self, dtype, layout, device, pin_memory, memory_format)
    return ops.fill__Scalar.call(result, fill_value)


def ones(size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None) -> Tensor:
    """Ones. It calls ``fill_`` directly, not ``full``."""
    return full(size, 1.0, dtype, layout, device, pin_memory)


def ones_meta_symint(
    size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """A tensor without memory."""
    return ones(size, dtype, layout, device, pin_memory)


def ones_out(size: Size, out: Tensor) -> Tensor:
    """Write ones into ``out``."""
    return full_out(size, 1.0, out)


def ones_like(
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Ones in the shape of self."""
    return full_like(self, 1.0, dtype, layout, device, pin_memory, memory_format)


def zeros(
    size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """Zeros, written by ``zero_``. Raise RuntimeError for a negative length."""
    if any(length < 0 for length in size):
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return ops.zero_.call(ops.empty_memory_format.call(size, dtype, layout, device, pin_memory, None))


def zeros_out(size: Size, out: Tensor) -> Tensor:
    """Write zeros into ``out``."""
    return ops.zero_.call(ops.resize_.call(out, size, None))


def zeros_like(
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Zeros in the shape of self."""
    return ops.zero_.call(ops.empty_like.call(self, dtype, layout, device, pin_memory, memory_format))


def new_zeros(
    self: Tensor,
    size: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Zeros with the options of self."""
    return ops.zero_.call(ops.new_empty.call(self, size, dtype, layout, device, pin_memory))


def new_ones(
    self: Tensor,
    size: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Ones with the options of self."""
    return new_full(self, size, 1.0, dtype, layout, device, pin_memory)


def new_full(
    self: Tensor,
    size: Size,
    fill_value: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """A tensor filled with one number, with the options of self."""
    result = ops.new_empty.call(self, size, dtype, layout, device, pin_memory)
    return ops.fill__Scalar.call(result, fill_value)


def scalar_tensor(
    s: Scalar, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """A 0-dim tensor. On the CPU it calls no other operator, unless new memory is filled (deterministic algorithms)."""
    if (device or CPU).type == "cpu":
        tensor = allocate((), (), dtype or default_dtype(), CPU)
        if fills_memory():
            with ExcludeDispatchKeyGuard(_TRACER), AutoDispatchBelowAutograd():
                filled_if_deterministic(tensor)
        tensor._array[...] = in_one_element(s, tensor._dtype)
        return tensor
    return ops.fill__Scalar.call(ops.empty_memory_format.call((), dtype, layout, device, pin_memory, None), s)


# -- empty_permuted ----------------------------------------------------------------------------------------------------


def empty_permuted_symint(
    size: Size,
    physical_layout: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Uninitialized memory with the dimensions in the order ``physical_layout``.

    Raise RuntimeError if that is not a permutation.
    """
    _check_layout(size, physical_layout)
    lengths = tuple(size[dim] for dim in physical_layout)
    dense = ops.empty_memory_format.call(lengths, dtype, layout, device, pin_memory, None)
    steps = dict(zip(physical_layout, dense._stride, strict=True))
    return ops.as_strided.call(dense, size, tuple(steps[dim] for dim in range(len(size))), None)


def _check_layout(size: Size, physical_layout: Size) -> None:
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for index, dim in enumerate(physical_layout):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at index "
                f"{index}).  NB: negative dims not currently supported; file an issue if you want it."
            )
        if dim in physical_layout[:index]:
            raise RuntimeError("Duplicate dim not allowed")
