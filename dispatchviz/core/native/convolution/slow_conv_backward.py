"""Backward of the ``slow_conv*`` convolutions (``slow_conv.py`` lists PyTorch's files).

Only the buffers of the requested gradients are allocated. Columns are allocated because a trace shows them; nothing is
written into them.
"""

from __future__ import annotations

from math import prod
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_mkldnn_cudnn import put_gradient_of_input
from dispatchviz.core.native.convolution.conv_params import Params
from dispatchviz.core.native.convolution.conv_tensors import blank, common_format, put_weight_gradient, resized
from dispatchviz.core.native.convolution.slow_conv import columns_of, view_weight_2d
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, in_format
from dispatchviz.core.tensor.tensor import Size, Tensor

Mask = tuple[bool, ...]
Three = tuple[Any, Any, Any]


def slow_conv2d_backward(
    grad_output: Tensor, self: Tensor, weight: Tensor, kernel_size: Size, stride: Size, padding: Size, output_mask: Mask
) -> Three:
    """The requested gradients of input, weight and bias."""
    params = Params(tuple(stride), tuple(padding), (1, 1), False, (0, 0), 1)
    return by_columns_backward(grad_output, self, weight, params, output_mask)


def by_columns_backward(grad: Tensor, input: Tensor, weight: Tensor, params: Params, mask: Mask) -> Three:
    """The gradients of ``Slow2d`` and ``Slow3d``."""
    memory_format = common_format(input, weight)
    made = [blank(like) if wanted else None for like, wanted in zip((grad, grad, grad), mask, strict=True)]
    of_input, of_weight, of_bias = made
    if of_input is not None:
        _input_by_columns(of_input, grad, input, weight, params, memory_format)
    if of_bias is not None:
        _sum_of_bias(of_bias, grad)
    if of_weight is not None:
        resized(of_weight, weight._size, memory_format)
        ops.zero_.call(of_weight)
        view_weight_2d(of_weight, memory_format)
        contiguous = in_format(grad, memory_format)
        columns_of(in_format(input, memory_format), weight, params.steps, memory_format)
        put_weight_gradient(of_weight, contiguous, input, weight._size[2:], params.steps)
    return of_input, of_weight, of_bias


def _input_by_columns(
    out: Tensor, grad: Tensor, input: Tensor, weight: Tensor, params: Params, memory_format: str
) -> None:
    view_weight_2d(weight, memory_format)
    grad = in_format(grad, memory_format)
    ops.resize_as_.call(out, input, None)
    if len(weight._size) == 5:
        rows = prod(weight._size[1:]) * params.groups
        blank(grad, (input._size[0], rows, prod(grad._size[2:])))
    else:
        ops.zero_.call(out)
    put_gradient_of_input(out, grad, weight, params)


def dilated_backward(grad: Tensor, input: Tensor, weight: Tensor, params: Params, mask: Mask) -> Three:
    """The gradients of ``SlowDilated2d`` and ``SlowDilated3d``."""
    memory_format = common_format(input, weight)
    grad = in_format(grad, memory_format)
    sizes = (input._size, weight._size, (weight._size[0],))
    made = [blank(grad, size) if wanted else None for size, wanted in zip(sizes, mask, strict=True)]
    of_input, of_weight, of_bias = made
    columns = blank(input)
    if of_input is not None or of_weight is not None:
        resized(columns, (1, 1))
    for gradient in (of_weight, of_bias):
        if gradient is not None:
            ops.zero_.call(gradient)
    dims = tuple(range(1, len(grad._size) - 1))
    for index in range(input._size[0]):
        ops.select_int.call(input, 0, index)
        of_one = ops.select_int.call(grad, 0, index)
        if of_input is not None:
            ops.select_int.call(of_input, 0, index)
        if of_bias is not None:
            ops.add__Tensor.call(of_bias, ops.sum_dim_IntList.call(of_one, dims, False, None), 1)
    _put(of_input, of_weight, grad, input, weight, params)
    return of_input, of_weight, of_bias


def _put(
    of_input: Tensor | None, of_weight: Tensor | None, grad: Tensor, input: Tensor, weight: Tensor, params: Params
) -> None:
    if of_input is not None:
        put_gradient_of_input(of_input, grad, weight, params)
    if of_weight is not None:
        first, second = (input, grad) if params.transposed else (grad, input)
        put_weight_gradient(of_weight, first, second, weight._size[2:], params.steps)


def transposed_backward(grad: Tensor, input: Tensor, weight: Tensor, params: Params, mask: Mask) -> Three:
    """The gradients of ``SlowTranspose2d`` and ``SlowTranspose3d``."""
    of_input, of_weight, of_bias = (blank(grad) if wanted else None for wanted in mask)
    memory_format = common_format(input, weight)
    if of_input is not None:
        contiguous = in_format(grad, memory_format)
        _resized_zeros(of_input, input._size, memory_format)
        _columns_and_parts(of_input, contiguous, weight, input)
    if len(weight._size) == 5:
        _parameters_of_volumes(of_weight, of_bias, grad, input, weight)
    else:
        if of_bias is not None:
            _sum_of_bias(of_bias, grad)
        if of_weight is not None:
            _resized_zeros(of_weight, weight._size, memory_format)
            _columns_and_parts(in_format(grad, memory_format), input, weight, input)
    _put(of_input, of_weight, grad, input, weight, params)
    return of_input, of_weight, of_bias


def _parameters_of_volumes(
    of_weight: Tensor | None, of_bias: Tensor | None, grad: Tensor, input: Tensor, weight: Tensor
) -> None:
    """Write the gradients of weight and bias of a volume (``slow_conv_transpose3d_acc_grad_parameters_cpu``)."""
    if of_weight is None and of_bias is None:
        return
    if of_weight is not None:
        _resized_zeros(of_weight, weight._size, CONTIGUOUS)
    if of_bias is not None:
        _resized_zeros(of_bias, weight._size[1:2], CONTIGUOUS)
    contiguous = in_format(grad)
    blank(grad, (prod(weight._size[1:]), prod(input._size[2:])))
    for index in range(grad._size[0]):
        ops.select_int.call(contiguous, 0, index)
        if of_weight is not None:
            ops.select_int.call(input, 0, index)
    if of_bias is not None:
        _sum_of_bias(of_bias, contiguous)


def _sum_of_bias(out: Tensor, grad: Tensor) -> None:
    ops.sum_IntList_out.call(grad, (0, *range(2, len(grad._size))), False, None, out)


def _resized_zeros(tensor: Tensor, size: Size, memory_format: str) -> None:
    resized(tensor, size, memory_format)
    ops.zero_.call(tensor)


def _columns_and_parts(first: Tensor, second: Tensor, weight: Tensor, input: Tensor) -> None:
    if len(weight._size) == 4:
        resized(blank(first), (1, 1))
    else:
        blank(first, (prod(weight._size[1:]), prod(input._size[2:])))
    for index in range(second._size[0]):
        ops.select_int.call(first, 0, index)
        ops.select_int.call(second, 0, index)
