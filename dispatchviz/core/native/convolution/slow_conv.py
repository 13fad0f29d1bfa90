"""``slow_conv2d``, ``slow_conv3d``, ``slow_conv_dilated*``, ``slow_conv_transpose*``: PyTorch's own convolutions,
without a library (``ConvolutionMM2d.cpp``, ``ConvolutionMM3d.cpp``, ``NaiveDilatedConvolution.cpp``,
``NaiveConvolutionTranspose2d.cpp``, ``NaiveConvolutionTranspose3d.cpp``).

In PyTorch, they lay the windows out as the columns of a matrix and multiply. Here the matrix is allocated, because that
is visible in a trace, but nothing is written into it. The caller handles groups.
"""

from __future__ import annotations

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_arrays import Steps, input_space, output_space
from dispatchviz.core.native.convolution.conv_tensors import (
    blank,
    check_scalar_type,
    common_format,
    put_convolution,
    put_input_gradient,
    resized,
)
from dispatchviz.core.native.iterator.memory_formats import CHANNELS_LAST, in_format, strides_in
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides

Bias = Tensor | None

# -- Slow2d, Slow3d ----------------------------------------------------------------------------------------------------


def thnn_conv2d(self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size) -> Tensor:
    """Call ``_slow_conv2d_forward``."""
    return ops._slow_conv2d_forward.call(self, weight, kernel_size, bias, stride, padding)


def slow_conv2d_forward(
    self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size
) -> Tensor:
    """The convolution, computed image by image."""
    return _by_columns("slow_conv2d_cpu", self, weight, bias, Steps(stride, padding, (1, 1), 1))


def slow_conv3d(self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size) -> Tensor:
    """Call ``slow_conv3d_forward``."""
    return ops.slow_conv3d_forward.call(self, weight, kernel_size, bias, stride, padding)


def slow_conv3d_forward(
    self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size
) -> Tensor:
    """The convolution, with all groups at once."""
    groups = self._size[1] // weight._size[1]
    return _by_columns("slow_conv3d_cpu", self, weight, bias, Steps(stride, padding, (1, 1, 1), groups))


def _by_columns(name: str, self: Tensor, weight: Tensor, bias: Bias, steps: Steps) -> Tensor:
    memory_format = common_format(self, weight)
    output = blank(self)
    self = in_format(self, memory_format)
    view_weight_2d(weight, memory_format)
    columns_of(self, weight, steps, memory_format)
    space = output_space(self._size[2:], weight._size[2:], steps)
    resized(output, (self._size[0], weight._size[0], *space), memory_format)
    if bias is not None:
        shape = (-1, *(1 for _ in space))
        ops.copy_.call(output, ops.reshape.call(bias, shape), False)
    if self._dtype is bool_:
        raise not_implemented(name, self._dtype)
    check_scalar_type(weight, self._dtype)
    put_convolution(output, self, weight, bias, steps)
    return output


def view_weight_2d(weight: Tensor, memory_format: str) -> None:
    """The weights as a matrix with one row for each output channel."""
    weight = in_format(weight, memory_format)
    rows = weight._size[0]
    columns = weight._array.size // max(rows, 1) if weight._array is not None else 0
    if memory_format == CHANNELS_LAST:
        ops.as_strided.call(weight, (rows, columns), (columns, 1), None)
    else:
        ops.view.call(weight, (rows, columns))


def columns_of(self: Tensor, weight: Tensor, steps: Steps, memory_format: str) -> None:
    """Allocate the matrix of windows, with one row per window if channels are last.

    A kernel of one element views the input instead.
    """
    batch, kernel = self._size[0], weight._size[2:]
    space = output_space(self._size[2:], kernel, steps)
    rows, length = _product(weight._size[1:]) * steps.groups, _product(space)
    windows_first = memory_format == CHANNELS_LAST
    size = (batch, length, rows) if windows_first else (batch, rows, length)
    if not (steps.groups == 1 and set(kernel) == set(steps.stride) == {1} and not any(steps.padding)):
        blank(self, size)
    elif windows_first:
        ops.detach.call(ops.as_strided.call(self, size, contiguous_strides(size), None))
    else:
        ops.detach.call(ops.view.call(self, size))


def _product(lengths: Size) -> int:
    found = 1
    for length in lengths:
        found *= length
    return found


# -- SlowDilated2d, SlowDilated3d --------------------------------------------------------------------------------------


def slow_conv_dilated2d(
    self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size, dilation: Size
) -> Tensor:
    """The dilated convolution, computed image by image."""
    return _dilated("slow_conv_dilated<>", self, weight, bias, Steps(stride, padding, dilation, 1))


def slow_conv_dilated3d(
    self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size, dilation: Size
) -> Tensor:
    """The dilated convolution, computed volume by volume."""
    return _dilated("slow_conv_dilated<>", self, weight, bias, Steps(stride, padding, dilation, 1))


def _dilated(name: str, self: Tensor, weight: Tensor, bias: Bias, steps: Steps) -> Tensor:
    space = output_space(self._size[2:], weight._size[2:], steps)
    size = (self._size[0], weight._size[0], *space)
    memory_format = common_format(self, weight)
    given = None if memory_format != CHANNELS_LAST else memory_format
    output = ops.empty_memory_format.call(size, self._dtype, "strided", self._device, None, given)
    columns = blank(self)
    resized(columns, (_product(weight._size[1:]), _product(space)))
    if bias is None:
        ops.zero_.call(output)
    if self._dtype is bool_:
        raise not_implemented(name, self._dtype)
    check_scalar_type(weight, self._dtype)
    for index in range(size[0]):
        ops.select_int.call(self, 0, index)
        of_one = ops.select_int.call(output, 0, index)
        for channel in range(size[1]):
            if bias is None:
                break
            of_channel = ops.select_int.call(of_one, 0, channel)
            ops.fill__Tensor.call(of_channel, ops.select_int.call(bias, 0, channel))
    put_convolution(output, self, weight, bias, steps)
    return output


# -- SlowTranspose2d, SlowTranspose3d ----------------------------------------------------------------------------------


def slow_conv_transpose2d_meta(
    op: Structured,
    self: Tensor,
    weight: Tensor,
    kernel_size: Size,
    bias: Bias,
    stride: Size,
    padding: Size,
    output_padding: Size,
    dilation: Size,
) -> None:
    """The shape of the result. Raise RuntimeError if the output padding is too large."""
    _check_output_padding(stride, output_padding, dilation)
    size = _transposed_size(self, weight, Steps(stride, padding, dilation, 1), output_padding)
    strides = strides_in(common_format(self, weight), size)
    op.set_output_raw_strided(size, strides, self._dtype, self._device)


def _check_output_padding(stride: Size, output_padding: Size, dilation: Size) -> None:
    settings = zip(output_padding, stride, dilation, strict=True)
    if any(more >= step and more >= by for more, step, by in settings):
        names = (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
        terms = [
            f"{name}_{side}: {length}"
            for name, given in names
            for side, length in zip(("depth", "height", "width")[-len(given) :], given, strict=True)
        ]
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(terms)}")


def _transposed_size(self: Tensor, weight: Tensor, steps: Steps, output_padding: Size) -> Size:
    space = input_space(self._size[2:], weight._size[2:], steps, output_padding)
    if min(space) < 1:
        shapes = (" x ".join(map(str, each)) for each in (self._size[2:], space))
        raise RuntimeError(
            "Given input size per channel: ({}). Calculated output size per channel: ({}). Output size is too "
            "small".format(*shapes)
        )
    return (self._size[0], weight._size[1], *space)


def slow_conv_transpose2d_structured(
    self: Tensor,
    weight: Tensor,
    kernel_size: Size,
    bias: Bias,
    stride: Size,
    padding: Size,
    output_padding: Size,
    dilation: Size,
    out: Tensor,
) -> None:
    """The transposed convolution, computed image by image"""
    columns = blank(self)
    resized(columns, (self._size[0], _product(weight._size[1:]), _product(self._size[2:])))
    ops.zero_.call(columns)
    check_scalar_type(weight, self._dtype)
    for index in range(self._size[0]):
        for tensor in (self, out, columns):
            ops.select_int.call(tensor, 0, index)
    steps = Steps(stride, padding, dilation, 1)
    put_input_gradient(out, self, weight, None, out._size[2:], steps)
    if bias is not None:
        ops.add__Tensor.call(out, ops.reshape.call(bias, (-1, 1, 1)), 1)


def slow_conv_transpose3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Size,
    bias: Bias,
    stride: Size,
    padding: Size,
    output_padding: Size,
    dilation: Size,
) -> Tensor:
    """The transposed convolution, computed volume by volume"""
    _check_output_padding(stride, output_padding, dilation)
    steps = Steps(stride, padding, dilation, 1)
    output = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    resized(output, _transposed_size(self, weight, steps, output_padding))
    blank(self, (_product(weight._size[1:]), _product(self._size[2:])))
    if bias is not None:
        ops.ones.call(output._size[2:], self._dtype, "strided", self._device, None)
    check_scalar_type(weight, self._dtype)
    for index in range(self._size[0]):
        ops.select_int.call(self, 0, index)
        ops.select_int.call(output, 0, index)
    put_input_gradient(output, self, weight, bias, output._size[2:], steps)
    return output
