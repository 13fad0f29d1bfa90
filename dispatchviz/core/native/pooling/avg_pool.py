"""``avg_pool1d``, ``avg_pool2d``, ``avg_pool3d`` (``aten/src/ATen/native/AveragePool2d.cpp``, ``AveragePool3d.cpp``,
``Pooling.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import TensorArg, check_dim_range
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, in_format, strides_in, suggested
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, not_implemented, store
from dispatchviz.core.native.pooling.pool_shapes import Windows, check_pooled, pooled_space, windows_of
from dispatchviz.core.native.pooling.pool_windows import divisors, kernel_positions, padded
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

# -- one dimension -----------------------------------------------------------------------------------------------------


def avg_pool1d(
    self: Tensor, kernel_size: Size, stride: Size, padding: Size, ceil_mode: bool, count_include_pad: bool
) -> Tensor:
    """Average pooling of rows, as images one element high."""
    check_dim_range("avg_pool1d", TensorArg(self, "self", 1), 2, 4)
    lines = ops.unsqueeze.call(self, -2)
    output = ops.avg_pool2d.call(
        lines, (1, *kernel_size), (1, *(stride or kernel_size)), (0, *padding), ceil_mode, count_include_pad, None
    )
    return ops.squeeze_dim.call(output, -2)


# -- two and three dimensions ------------------------------------------------------------------------------------------


def avg_pool2d_meta(
    op: Structured,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> None:
    """One element per window."""
    windows = windows_of("avg_pool2d", 2, kernel_size, stride, padding)
    _check_divisor(divisor_override)
    rank = len(self._size)
    if rank < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got -3)")
    _set_pooled(op, self, windows, ceil_mode)


def avg_pool3d_meta(
    op: Structured,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> None:
    """One element per window."""
    windows = windows_of("avg_pool3d", 3, kernel_size, stride, padding)
    if len(self._size) not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    _check_divisor(divisor_override)
    _set_pooled(op, self, windows, ceil_mode)


def _check_divisor(divisor_override: int | None) -> None:
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")


def _set_pooled(op: Structured, self: Tensor, windows: Windows, ceil_mode: bool) -> None:
    dims = len(windows.kernel)
    space = pooled_space(self._size[-dims:], windows, ceil_mode)
    check_pooled(self, windows, space, f"avg_pool{dims}d()")
    size = (*self._size[:-dims], *space)
    memory_format = suggested(self) if dims == 2 else CONTIGUOUS
    op.set_output_raw_strided(size, strides_in(memory_format, size), self._dtype, self._device)


def avg_pool2d_out(
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    output: Tensor,
) -> None:
    """The mean of each window"""
    windows = windows_of("avg_pool2d", 2, kernel_size, stride, padding)
    _put_means(self, windows, count_include_pad, divisor_override, "avg_pool2d", output)


def avg_pool3d_out(
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    output: Tensor,
) -> None:
    """The mean of each window"""
    windows = windows_of("avg_pool3d", 3, kernel_size, stride, padding)
    _put_means(self, windows, count_include_pad, divisor_override, "avg_pool3d_out_frame", output)


def _put_means(
    self: Tensor, windows: Windows, count_include_pad: bool, divisor_override: int | None, name: str, out: Tensor
) -> None:
    if self._dtype is bool_ or self._dtype.is_complex:
        raise not_implemented(name, self._dtype)
    xp: Any = array_module(self._device.type)
    dims = len(windows.kernel)
    space = out._size[-dims:]
    array = converted(self._array, accumulated(self._dtype))
    whole = padded(xp, array, windows, space, 0)
    total = sum(whole[window] for _, window in kernel_positions(windows, space))
    by = divisors(xp, self._size[-dims:], windows, space, count_include_pad, divisor_override)
    means = xp.trunc(total / by) if array.dtype.kind in "iu" else (total / by).astype(array.dtype)
    target = out._array if dims == 2 else _in_order(out)
    target[...] = converted(means, out._dtype)


def _in_order(out: Tensor) -> Any:
    """The memory of a tensor as a contiguous array, for kernels that write there regardless of its strides."""
    buffer = out._storage.buffer
    return buffer[out._offset : out._offset + numel(out._size)].reshape(out._size)


# -- backward ----------------------------------------------------------------------------------------------------------


def avg_pool2d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> None:
    """The shape of self."""
    op.set_output_raw_strided(self._size, strides_in(suggested(self), self._size), self._dtype, self._device)


def avg_pool3d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> None:
    """The shape of self."""
    op.set_output_raw_strided(self._size, strides_in(CONTIGUOUS, self._size), self._dtype, self._device)


def avg_pool2d_backward_out(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    grad_input: Tensor,
) -> None:
    """The gradient divided by the divisor of each window, added to its elements"""
    if grad_input._device.type == "cuda":  # AveragePool2d.cu writes each element once, out of all its windows
        in_format(self, suggested(self))
    else:
        ops.zero_.call(grad_input)
    grad = in_format(grad_output, suggested(self))
    windows = windows_of("avg_pool2d", 2, kernel_size, stride, padding)
    _distribute(grad, grad_input, windows, count_include_pad, divisor_override)


def avg_pool3d_backward_out(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    grad_input: Tensor,
) -> None:
    """The gradient divided by the divisor of each window, added to its elements"""
    grad = in_format(grad_output)
    ops.zero_.call(grad_input)
    windows = windows_of("avg_pool3d", 3, kernel_size, stride, padding)
    _distribute(grad, grad_input, windows, count_include_pad, divisor_override)


def _distribute(
    grad: Tensor, out: Tensor, windows: Windows, count_include_pad: bool, divisor_override: int | None
) -> None:
    xp: Any = array_module(grad._device.type)
    dims = len(windows.kernel)
    space, lengths = grad._size[-dims:], out._size[-dims:]
    by = divisors(xp, lengths, windows, space, count_include_pad, divisor_override)
    part = (converted(grad._array, accumulated(out._dtype)) / by).astype(out._array.dtype)
    whole = padded(xp, xp.zeros(out._size, out._array.dtype), windows, space, 0)
    for _, window in reversed(list(kernel_positions(windows, space))):  # in PyTorch's order of addition
        whole[window] += part
    inside = tuple(slice(pad, pad + length) for pad, length in zip(windows.padding, lengths, strict=True))
    store(out, whole[(..., *inside)])
