"""``mkldnn_convolution``, ``cudnn_convolution``, ``conv_depthwise2d``, ``conv_depthwise3d`` and their backward passes
(``mkldnn/Conv.cpp``, ``cudnn/ConvShared.cpp``, ``DepthwiseConv2d.cu``).

The libraries themselves are not part of the model: the functions of ``conv_arrays.py`` compute. NB: in PyTorch, oneDNN
may lay a result out in another order than requested; the result is then copied.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_arrays import Steps, input_space, output_space
from dispatchviz.core.native.convolution.conv_params import Params
from dispatchviz.core.native.convolution.conv_tensors import (
    blank,
    put_convolution,
    put_input_gradient,
    put_weight_gradient,
    resized,
)
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, in_format, of_either, strides_in, suggested
from dispatchviz.core.tensor.tensor import Size, Tensor, empty_strided

Bias = Tensor | None
Three = tuple[Any, Any, Any]

# -- oneDNN ------------------------------------------------------------------------------------------------------------


def mkldnn_convolution(
    self: Tensor, weight: Tensor, bias: Bias, padding: Size, stride: Size, dilation: Size, groups: int
) -> Tensor:
    """A convolution whose result oneDNN computes into a tensor of its own, which is then converted."""
    steps = Steps(stride, padding, dilation, groups)
    space = output_space(self._size[2:], weight._size[2:], steps)
    output = _dense_output(self, (self._size[0], weight._size[0], *space), of_either(self, weight))
    put_convolution(output, self, weight, bias, steps)
    return output


def mkldnn_convolution_transpose(input: Tensor, weight: Tensor, bias: Bias, params: Params) -> Tensor:
    """The transposed convolution of ``_convolution`` by oneDNN; a plain function, not an operator."""
    steps = params.steps
    space = input_space(input._size[2:], weight._size[2:], steps, params.output_padding)
    size = (input._size[0], weight._size[1] * params.groups, *space)
    output = _dense_output(input, size, of_either(input, weight))
    put_input_gradient(output, input, weight, bias, space, steps)
    return output


def _dense_output(like: Tensor, size: Size, memory_format: str) -> Tensor:
    """The result of ``mkldnn_to_dense``, or a tensor that PyTorch laid out in another format."""
    output = blank(like)
    return resized(output, size, memory_format) if memory_format != CONTIGUOUS else _to_dense(like, size)


def _to_dense(like: Tensor, size: Size) -> Tensor:
    dense = blank(like, size)
    ops.as_strided_.call(dense, size, dense._stride, None)
    return resized(dense, size)


def mkldnn_backward(
    grad: Tensor, input: Tensor, weight: Tensor, params: Params, output_mask: tuple[bool, ...]
) -> Three:
    """The requested gradients; those of weight and bias are computed together."""
    memory_format, steps = of_either(input, weight), params.steps
    grad = in_format(grad, memory_format)
    of_input = _dense_output(grad, input._size, memory_format) if output_mask[0] else None
    if of_input is not None:
        put_gradient_of_input(of_input, grad, weight, params)
    if not any(output_mask[1:]):
        return of_input, None, None
    of_bias = _to_dense(grad, (grad._size[1],)) if output_mask[2] else None
    of_weight = _to_dense(grad, weight._size)
    first, second = (input, grad) if params.transposed else (grad, input)
    put_weight_gradient(of_weight, first, second, weight._size[2:], steps)
    if of_bias is not None and of_bias._array is not None:
        of_bias._array[...] = grad._array.sum((0, *range(2, grad._array.ndim)))
    return of_input, of_weight, of_bias


def put_gradient_of_input(out: Tensor, grad: Tensor, weight: Tensor, params: Params) -> None:
    """Write the gradient of an input. For a transposed convolution it is a plain convolution."""
    if params.transposed:
        put_convolution(out, grad, weight, None, params.steps)
    else:
        put_input_gradient(out, grad, weight, None, out._size[2:], params.steps)


# -- cuDNN -------------------------------------------------------------------------------------------------------------


def cudnn_convolution(
    self: Tensor,
    weight: Tensor,
    padding: Size,
    stride: Size,
    dilation: Size,
    groups: int,
    benchmark: bool,
    deterministic: bool,
    allow_tf32: bool,
) -> Tensor:
    """A convolution without bias."""
    steps = Steps(stride, padding, dilation, groups)
    space = output_space(self._size[2:], weight._size[2:], steps)
    output = _new(self, weight, (self._size[0], weight._size[0], *space))
    put_convolution(output, self, weight, None, steps)
    return output


def cudnn_convolution_transpose(
    self: Tensor,
    weight: Tensor,
    padding: Size,
    output_padding: Size,
    stride: Size,
    dilation: Size,
    groups: int,
    benchmark: bool,
    deterministic: bool,
    allow_tf32: bool,
) -> Tensor:
    """A transposed convolution without bias."""
    steps = Steps(stride, padding, dilation, groups)
    space = input_space(self._size[2:], weight._size[2:], steps, output_padding)
    output = _new(self, weight, (self._size[0], weight._size[1] * groups, *space))
    put_input_gradient(output, self, weight, None, space, steps)
    return output


def _new(like: Tensor, weight: Tensor, size: Size) -> Tensor:
    """``at::detail::empty_cuda``, which is not an operator."""
    return empty_strided(size, strides_in(of_either(like, weight), size), like._dtype, like._device)


def cudnn_backward(grad: Tensor, input: Tensor, weight: Tensor, params: Params, output_mask: tuple[bool, ...]) -> Three:
    """The requested gradients of input and weight, from contiguous tensors.

    The caller sums the gradient of the bias.
    """
    if params.transposed:
        grad = in_format(grad, suggested(input))
    else:
        grad = ops.to_dtype_layout.call(grad, None, None, None, None, False, False, suggested(input))
    of_input, of_weight = None, None
    if output_mask[0]:
        memory_format = of_either(grad, weight)
        given, weight = in_format(grad, memory_format), in_format(weight, memory_format)
        of_input = _new(grad, weight, input._size)
        put_gradient_of_input(of_input, given, weight, params)
    if output_mask[1]:
        memory_format = of_either(input, grad)
        first, second = (input, grad) if params.transposed else (grad, input)
        first, second = in_format(first, memory_format), in_format(second, memory_format)
        options = (grad._dtype, "strided", grad._device, None, memory_format)
        of_weight = ops.empty_memory_format.call(weight._size, *options)
        put_weight_gradient(of_weight, first, second, weight._size[2:], params.steps)
    return of_input, of_weight, None


def depthwise_backward(
    grad: Tensor, input: Tensor, weight: Tensor, params: Params, output_mask: tuple[bool, ...]
) -> Three:
    """The requested gradients of input and weight.

    The caller sums the gradient of the bias. NB: written without access to a GPU.
    """
    grad = in_format(grad, of_either(input, weight))
    of_input = _new(input, weight, input._size) if output_mask[0] else None
    of_weight = _new(weight, weight, weight._size) if output_mask[1] else None
    if of_input is not None:
        put_gradient_of_input(of_input, grad, weight, params)
    if of_weight is not None:
        put_weight_gradient(of_weight, grad, input, weight._size[2:], params.steps)
    return of_input, of_weight, None


# -- depthwise ---------------------------------------------------------------------------------------------------------


def conv_depthwise2d(
    self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size, dilation: Size
) -> Tensor:
    """A convolution with one group for each channel."""
    return _depthwise(self, weight, bias, Steps(stride, padding, dilation, self._size[1]))


def conv_depthwise3d(
    self: Tensor, weight: Tensor, kernel_size: Size, bias: Bias, stride: Size, padding: Size, dilation: Size
) -> Tensor:
    """A convolution with one group for each channel."""
    return _depthwise(self, weight, bias, Steps(stride, padding, dilation, self._size[1]))


def _depthwise(self: Tensor, weight: Tensor, bias: Bias, steps: Steps) -> Tensor:
    space = output_space(self._size[2:], weight._size[2:], steps)
    output = blank(self, (self._size[0], weight._size[0], *space))
    put_convolution(output, self, weight, bias, steps)
    return output
