"""``convolution_backward``, and ``_convolution_double_backward``, which is composed of convolutions
(``aten/src/ATen/native/Convolution.cpp``). The backward functions of single backends are in ``slow_conv_backward.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_mkldnn_cudnn import cudnn_backward, depthwise_backward, mkldnn_backward
from dispatchviz.core.native.convolution.conv_params import (
    Backend,
    Params,
    backend_format,
    check_same_type,
    check_shape,
    params_of,
    select_backend,
)
from dispatchviz.core.native.convolution.convolution import of_group
from dispatchviz.core.native.convolution.slow_conv_backward import (
    by_columns_backward,
    dilated_backward,
    transposed_backward,
)
from dispatchviz.core.native.iterator.argument_checks import call_with_undefined
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.tensor.tensor import Size, Tensor

Mask = tuple[bool, ...]
Three = tuple[Any, Any, Any]


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Size | None,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
    output_mask: Mask,
) -> Three:
    """The requested gradients of input, weight and bias, computed by the backend that the forward call would choose."""
    params = params_of(weight, stride, padding, dilation, transposed, output_padding, groups)
    check_shape(input, weight, None, params)
    if len(input._size) != len(grad_output._size):
        raise RuntimeError(
            "Expected input and grad_output to have the same number of dimensions, but got: "
            f"{len(input._size)} and {len(grad_output._size)}"
        )
    if not transposed and any(params.output_padding):
        raise RuntimeError(
            f"output_padding is not supported for non-transposed convolutions; got: {list(params.output_padding)}"
        )
    flat = len(weight._size) == 3
    if flat:
        input, params = in_format(input), params.as_2d()
        grad_output, input, weight = (ops.unsqueeze.call(tensor, 2) for tensor in (grad_output, input, weight))
    found = list(_backend_gradients(grad_output, input, weight, bias_sizes, params, output_mask))
    for index in (0, 1) if flat else ():
        if output_mask[index]:
            found[index] = ops.squeeze_dim.call(found[index], 2)
    if output_mask[2] and found[2] is None:
        dims = (0, *range(2, len(grad_output._size)))
        found[2] = ops.sum_dim_IntList.call(grad_output, dims, False, None)
    return found[0], found[1], found[2]


def _backend_gradients(
    grad: Tensor, input: Tensor, weight: Tensor, bias_sizes: Size | None, params: Params, mask: Mask
) -> Three:
    backend = select_backend(input, weight, params)
    memory_format = backend_format(input, weight, backend)
    match backend:
        case Backend.EMPTY:
            return _empty_gradients(input, weight, bias_sizes, mask)
        case Backend.CUDNN | Backend.CUDNN_TRANSPOSE:
            check_same_type(input, weight, None, mkldnn=False)
            return cudnn_backward(grad, input, weight, params, mask)
        case Backend.CUDA_DEPTHWISE:
            return depthwise_backward(grad, input, weight, params, mask)
        case Backend.MKLDNN | Backend.MKLDNN_TRANSPOSE:
            input, weight = in_format(input, memory_format), in_format(weight, memory_format)
            return mkldnn_backward(grad, input, weight, params, mask)
        case Backend.SLOW3D:
            return by_columns_backward(grad, input, weight, params, mask)
    input, weight = in_format(input, memory_format), in_format(weight, memory_format)
    if params.groups == 1:
        return _without_groups(grad, input, weight, backend, params, mask)
    return _group_by_group(grad, input, weight, backend, params, mask)


def _empty_gradients(input: Tensor, weight: Tensor, bias_sizes: Size | None, mask: Mask) -> Three:
    of_input = ops.zeros_like.call(input, None, None, None, None, None) if mask[0] else None
    of_weight = ops.zeros_like.call(weight, None, None, None, None, None) if mask[1] else None
    of_bias = None
    if mask[2] and bias_sizes is not None:
        of_bias = ops.zeros.call(bias_sizes, weight._dtype, "strided", weight._device, None)
    return of_input, of_weight, of_bias


def _group_by_group(grad: Tensor, input: Tensor, weight: Tensor, backend: Backend, params: Params, mask: Mask) -> Three:
    alone, parts = params._replace(groups=1), []
    for group in range(params.groups):
        g = of_group(grad, 1, params.groups, group)
        x = of_group(input, 1, params.groups, group)
        w = of_group(weight, 0, params.groups, group)
        parts.append(_without_groups(g, x, w, backend, alone, mask))
    joined = [
        ops.cat.call(list(each), dim) if wanted else None
        for each, dim, wanted in zip(zip(*parts, strict=True), (1, 0, 0), mask, strict=True)
    ]
    return joined[0], joined[1], joined[2]


def _without_groups(grad: Tensor, input: Tensor, weight: Tensor, backend: Backend, params: Params, mask: Mask) -> Three:
    if backend is Backend.SLOW2D:
        return ops._slow_conv2d_backward_output_mask.call(
            grad, input, weight, weight._size[2:], params.stride, params.padding, mask
        )
    if backend is Backend.SLOW_DILATED:
        return dilated_backward(grad, input, weight, params, mask)
    return transposed_backward(grad, input, weight, params, mask)


# -- double backward ---------------------------------------------------------------------------------------------------


def _convolution_double_backward(
    ggI: Tensor | None,
    ggW: Tensor | None,
    ggb: Tensor | None,
    gO: Tensor,
    weight: Tensor,
    self: Tensor,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
    output_mask: Mask,
) -> Three:
    """The gradients of grad_output, input and weight, from the gradients of the three gradients."""
    params = params_of(weight, stride, padding, dilation, transposed, output_padding, groups)
    of_output = _sum_of_terms(ggI, ggW, ggb, gO, weight, self, params)
    of_weight = None if ggI is None else _weight_double_backward(ggI, gO, weight, params)
    of_input = None
    if ggW is not None and 0 not in self._size:
        of_input = (_input_double_backward_transposed if transposed else _input_double_backward)(
            ggW, gO, weight, self, params
        )
    return of_output, of_input, of_weight


def _contiguous_on_cuda(tensor: Tensor) -> Tensor:
    """The tensor, made contiguous for cuDNN if it is on CUDA."""
    return in_format(tensor) if tensor._device.type == "cuda" else tensor


def _sum_of_terms(
    ggI: Tensor | None,
    ggW: Tensor | None,
    ggb: Tensor | None,
    gO: Tensor,
    weight: Tensor,
    input: Tensor,
    params: Params,
) -> Tensor | None:
    """conv(ggI, weight) + conv(input, ggW) + ggb"""
    terms: list[Callable[[], Tensor]] = []
    if ggI is not None:
        terms.append(lambda: call_with_undefined(ops.convolution, ggI, _contiguous_on_cuda(weight), None, *params))
    if ggW is not None:
        terms.append(lambda: call_with_undefined(ops.convolution, input, _contiguous_on_cuda(ggW), None, *params))
    if ggb is not None:
        terms.append(lambda: _expand_bias(ggb, gO))
    total: Tensor | None = None
    for term in terms:
        found = term()
        total = found if total is None else ops.add_Tensor.call(total, found, 1)
    return total


def _convolved(input: Tensor, weight: Tensor, params: Params) -> Tensor:
    found: Tensor = call_with_undefined(ops.convolution, input, weight, None, *params)
    return found


def _expand_bias(ggb: Tensor, gO: Tensor) -> Tensor:
    shape = (1, ggb._size[0], *(1 for _ in gO._size[2:]))
    return ops.expand.call(ops.view.call(in_format(ggb), shape), gO._size, False)


def _weight_double_backward(ggI: Tensor, gO: Tensor, weight: Tensor, params: Params) -> Tensor:
    """conv(ggI, gO) summed over the batch, with stride and dilation exchanged."""
    plain = params._replace(groups=1, stride=params.dilation, dilation=params.stride, transposed=False)
    gOt = ops.transpose_int.call(gO, 0, 1)
    ggIt = ops.transpose_int.call(ggI, 0, 1)
    if params.groups == 1:
        found = _one_weight(ggIt, gOt, plain, params.transposed)
    else:
        parts = []
        for group in range(params.groups):
            x, g = _part(ggIt, params.groups, group), _part(gOt, params.groups, group)
            parts.append(_one_weight(x, g, plain, params.transposed))
        found = ops.cat.call(parts, 1)
    return _narrowed(ops.transpose_int.call(found, 0, 1), weight._size)


def _one_weight(ggIt: Tensor, gOt: Tensor, plain: Params, transposed: bool) -> Tensor:
    gOt = _contiguous_on_cuda(gOt)
    first, second = (gOt, ggIt) if transposed else (ggIt, gOt)
    return _convolved(first, second, plain)


def _part(tensor: Tensor, groups: int, group: int) -> Tensor:
    length = tensor._size[0] // groups
    return ops.narrow.call(tensor, 0, length * group, length)


def _narrowed(tensor: Tensor, size: Sequence[int]) -> Tensor:
    """A tensor cut down to the spatial size."""
    for dim in range(2, len(size)):
        if tensor._size[dim] > size[dim]:
            tensor = ops.narrow.call(tensor, dim, 0, size[dim])
    return tensor


def _input_double_backward_transposed(ggW: Tensor, gO: Tensor, weight: Tensor, input: Tensor, params: Params) -> Tensor:
    """conv(gO, ggW)"""
    plain = params._replace(transposed=False)
    return _narrowed(call_with_undefined(ops.convolution, _contiguous_on_cuda(gO), ggW, None, *plain), input._size)


def _input_double_backward(ggW: Tensor, gO: Tensor, weight: Tensor, input: Tensor, params: Params) -> Tensor:
    """A transposed convolution of gO and ggW, padded by the elements that no window had reached"""
    more = []
    lengths = zip(weight._size[2:], input._size[2:], gO._size[2:], *params[:3], params.output_padding, strict=True)
    for width, length, found, step, pad, by, given in lengths:
        expected = (width - 1) * by - 2 * pad + step * (found - 1) + 1
        more.append(given if expected == length else length - expected)
    back = params._replace(transposed=True, output_padding=tuple(more))
    return _convolved(_contiguous_on_cuda(gO), ggW, back)
