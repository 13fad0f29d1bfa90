"""``max_pool1d``, ``max_pool2d``, ``max_pool3d``, ``max_unpool2d``, ``max_unpool3d``
(``aten/src/ATen/native/DilatedMaxPool2d.cpp``, ``DilatedMaxPool3d.cpp``, ``MaxPooling.cpp``, ``MaxUnpooling.cpp``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.call.deterministic_algorithms import alert_not_deterministic
from dispatchviz.core.call.structured import Structured, resize
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import TensorArg, check_dim_range
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, in_format, strides_in, suggested
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.native.pooling.pool_shapes import Windows, check_pooled, pooled_length, pooled_space, windows_of
from dispatchviz.core.native.pooling.pool_windows import max_with_indices, scattered
from dispatchviz.core.tensor.dtype import bool_, int64
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.thread_state import thread

Two = tuple[Tensor, Tensor]

# -- one dimension -----------------------------------------------------------------------------------------------------


def max_pool1d(self: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool) -> Tensor:
    """Maximum pooling of rows; it calls ``max_pool1d_with_indices`` on CUDA and if a gradient or a tensor subclass
    needs the indices.
    """
    length = _checked_length(self, kernel_size, stride, padding, dilation, ceil_mode)
    if self._device.type != "cpu" or _needs_gradient(self):
        return ops.max_pool1d_with_indices.call(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
    batch = self._size[0] if len(self._size) == 3 else 1
    output = ops.empty_memory_format.call(
        (batch, self._size[-2], length), self._dtype, "strided", self._device, None, None
    )
    if output._array.size:
        if self._dtype is bool_:
            raise not_implemented("max_pool1d_impl", self._dtype)
        windows = Windows(kernel_size, stride or kernel_size, padding, dilation)
        output._array[...] = max_with_indices(array_module("cpu"), self._array, windows, (length,))[0]
    return ops.squeeze__dim.call(output, 0) if len(self._size) == 2 else output


def _needs_gradient(self: Tensor) -> bool:
    if (requires_grad(self) and thread.state.grad_mode) or self._fw_grad is not None:
        return True
    return is_tensor_subclass_like(self)


def _checked_length(
    self: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool
) -> int:
    """The length of the result. Raise RuntimeError for invalid arguments (``check_max_pool1d``)."""
    name, rank = "max_pool1d()", len(self._size)
    if rank not in (2, 3) or 0 in self._size[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(self._size)}"
        )
    kernel, step, pad, by = kernel_size[0], (stride or kernel_size)[0], padding[0], dilation[0]
    if kernel <= 0:
        raise RuntimeError(f"{name} kernel_size must be greater than zero, but got {kernel}")
    if step <= 0:
        raise RuntimeError(f"{name} stride must be greater than zero, but got {step}")
    if pad < 0:
        raise RuntimeError(f"{name} padding must be non-negative, but got {pad}")
    if pad > kernel // 2:
        raise RuntimeError(
            f"{name} padding should be at most half of kernel size, but got padding={pad} and kernel_size={kernel}"
        )
    if by <= 0:
        raise RuntimeError(f"{name} dilation must be greater than zero, but got {by}")
    length = pooled_length(self._size[-1], kernel, step, pad, by, ceil_mode)
    if length <= 0:
        raise RuntimeError(f"{name} Invalid computed output size: {length}")
    return length


def max_pool1d_with_indices(
    self: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool
) -> Two:
    """Maximum pooling of rows, as images one element high."""
    check_dim_range("max_pool1d_with_indices", TensorArg(self, "self", 1), 2, 4)
    lines = ops.unsqueeze.call(self, -2)
    output, indices = ops.max_pool2d_with_indices.call(
        lines, (1, *kernel_size), (1, *(stride or kernel_size)), (0, *padding), (1, *dilation), ceil_mode
    )
    return ops.squeeze_dim.call(output, -2), ops.squeeze_dim.call(indices, -2)


# -- two dimensions ----------------------------------------------------------------------------------------------------


def max_pool2d(self: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool) -> Tensor:
    """The first result of ``max_pool2d_with_indices``."""
    return ops.max_pool2d_with_indices.call(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool2d_with_indices_meta(
    op: tuple[Structured, Structured],
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
) -> None:
    """One element per window, and its index in the image."""
    windows = windows_of("max_pool2d", 2, kernel_size, stride, padding, dilation)
    memory_format = suggested(self)
    if len(self._size) not in (3, 4):
        raise RuntimeError("non-empty 3D or 4D (batch mode) tensor expected for input")
    space = pooled_space(self._size[-2:], windows, ceil_mode)
    check_pooled(self, windows, space)
    size = (*self._size[:-2], *space)
    strides = strides_in(memory_format, size)
    op[0].set_output_raw_strided(size, strides, self._dtype, self._device)
    op[1].set_output_raw_strided(size, strides, int64, self._device)


def max_pool2d_with_indices_out(
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
) -> None:
    """The maximum of each window, and the index of the first one"""
    windows = windows_of("max_pool2d", 2, kernel_size, stride, padding, dilation)
    _store_max(self, windows, "max_pool2d", out, indices)


def _store_max(self: Tensor, windows: Windows, name: str, out: Tensor, indices: Tensor) -> None:
    if self._dtype is bool_:
        raise not_implemented(name, self._dtype)
    if self._dtype.is_complex:
        raise not_implemented(name, self._dtype)
    dims = len(windows.kernel)
    found = max_with_indices(array_module(self._device.type), self._array, windows, out._size[-dims:])
    out._array[...], indices._array[...] = found


def max_pool2d_with_indices_backward_meta(
    op: Structured,
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    indices: Tensor,
) -> None:
    """The shape of self."""
    strides = strides_in(suggested(self), self._size)
    op.set_output_raw_strided(self._size, strides, self._dtype, self._device)


def max_pool2d_with_indices_backward_out(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    indices: Tensor,
    grad_input: Tensor,
) -> None:
    """Zeros with the gradient added at the indices of the maxima"""
    memory_format, on_cuda = suggested(self), grad_input._device.type == "cuda"
    if not on_cuda:
        ops.zero_.call(grad_input)
    grad_output = in_format(grad_output, memory_format)
    indices = in_format(indices, memory_format)
    if on_cuda:  # DilatedMaxPool2d.cu
        ops.zero_.call(grad_input)
    add_at_indices(grad_input, indices, grad_output, 2)


def add_at_indices(grad_input: Tensor, indices: Tensor, grad_output: Tensor, dims: int) -> None:
    """Add a gradient at the flat indices of each plane, in place."""
    xp: Any = array_module(grad_input._device.type)
    found = xp.zeros(grad_input._size, grad_input._array.dtype)
    scattered(xp, found, xp.ascontiguousarray(indices._array), xp.ascontiguousarray(grad_output._array), dims)
    grad_input._array[...] = found


# -- three dimensions --------------------------------------------------------------------------------------------------


def max_pool3d(self: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool) -> Tensor:
    """The first result of ``max_pool3d_with_indices``."""
    return ops.max_pool3d_with_indices.call(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def max_pool3d_with_indices(
    self: Tensor, kernel_size: Size, stride: Size, padding: Size, dilation: Size, ceil_mode: bool
) -> Two:
    """One element per window, and its index in the volume."""
    output, indices = empty_of(self), ops.empty_memory_format.call((0,), int64, "strided", self._device, None, None)
    windows = windows_of("max_pool3d", 3, kernel_size, stride, padding, dilation)
    if len(self._size) not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    space = pooled_space(self._size[-3:], windows, ceil_mode)
    check_pooled(self, windows, space, "max_pool3d_with_indices_out_cpu_template()")
    memory_format = suggested(self) if self._device.type == "cpu" else CONTIGUOUS
    input = in_format(self, memory_format)
    for tensor in (output, indices):
        ops.resize_.call(tensor, (*self._size[:-3], *space), None if memory_format == CONTIGUOUS else memory_format)
    _as_batch(input)
    _store_max(input, windows, "max_pool3d", output, indices)
    return output, indices


def max_pool3d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Size,
    stride: Size,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """Zeros with the gradient added at the indices of the maxima"""
    grad_input = empty_of(self)
    ops.resize_.call(grad_input, self._size, None)
    ops.zero_.call(grad_input)
    _as_batch(grad_output)
    add_at_indices(grad_input, in_format(indices), in_format(grad_output), 3)
    return grad_input


def _as_batch(volume: Tensor) -> None:
    """Call ``unsqueeze`` as PyTorch's CPU kernels do, which require a batch. The view is not used here."""
    if len(volume._size) == 4 and volume._device.type == "cpu":
        ops.unsqueeze.call(volume, 0)


def empty_of(self: Tensor) -> Tensor:
    """An empty tensor with the options of self (``at::empty({0}, self.options())``)."""
    return ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)


# -- unpooling ---------------------------------------------------------------------------------------------------------


def max_unpooling2d_forward(self: Tensor, indices: Tensor, output_size: Size) -> Tensor:
    """Zeros with each element written at its index."""
    output = empty_of(self)
    alert_not_deterministic("max_unpooling2d_forward_out")
    if len(output_size) != 2:
        raise RuntimeError(
            f"There should be exactly two elements (height, width) in output_size, but got {len(output_size)} elements."
        )
    _check_indices(self, indices)
    if len(self._size) not in (3, 4):
        raise RuntimeError(
            f"Input to max_unpooling2d should be a 3d or 4d Tensor, but got a tensor with {len(self._size)} dimensions."
        )
    _put_back(self, indices, output_size, output)
    return output


def max_unpooling3d_forward(self: Tensor, indices: Tensor, output_size: Size, stride: Size, padding: Size) -> Tensor:
    """Zeros with each element written at its index."""
    output = empty_of(self)
    alert_not_deterministic("max_unpooling3d_forward_out")
    if len(output_size) != 3:
        raise RuntimeError(
            "There should be exactly three elements (depth, height, width) in output_size, but got "
            f"{len(output_size)} elements."
        )
    _check_indices(self, indices)
    _put_back(self, indices, output_size, output)
    return output


def _check_indices(self: Tensor, indices: Tensor) -> None:
    if indices._dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices._dtype.legacy}")
    if indices._size != self._size:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self._size)}) but got indices "
            f"tensor with shape: {list(indices._size)}"
        )


def _put_back(self: Tensor, indices: Tensor, output_size: Size, output: Tensor) -> None:
    dims = len(output_size)
    memory_format = suggested(self) if dims == 2 else CONTIGUOUS
    self, indices = in_format(self, memory_format), in_format(indices, memory_format)
    size = (*self._size[:-dims], *output_size)
    ops.resize_.call(output, size, None)
    resize(output, size, strides_in(memory_format, size))
    ops.zero_.call(output)
    area = math.prod(output_size)
    wrong = (indices._array < 0) | (indices._array >= area)
    if wrong.any():
        raise RuntimeError(
            f"Found an invalid max index: {int(indices._array[wrong][-1])} (output volumes are of size "
            f"{'x'.join(map(str, output_size))})"
        )
    xp: Any = array_module(self._device.type)
    planes = xp.zeros((math.prod(size[:-dims]), area), output._array.dtype)
    flat = indices._array.reshape(planes.shape[0], -1)
    planes[xp.arange(planes.shape[0])[:, None], flat] = self._array.reshape(flat.shape)
    output._array[...] = planes.reshape(size)
