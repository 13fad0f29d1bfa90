"""``conv1d``, ``conv2d``, ``conv3d``, ``conv_transpose*``, ``convolution``, ``_convolution``
(``aten/src/ATen/native/Convolution.cpp``).

``_convolution`` chooses the backend (``conv_params.select_backend``). The operators of the backends are in
``slow_conv.py`` and ``conv_mkldnn_cudnn.py``, the backward functions in ``conv_backward.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution import conv_mkldnn_cudnn
from dispatchviz.core.native.convolution.conv_arrays import input_space, output_space
from dispatchviz.core.native.convolution.conv_params import (
    Backend,
    Params,
    backend_format,
    check_same_type,
    check_shape,
    params_of,
    select_backend,
)
from dispatchviz.core.native.iterator.argument_checks import call_maybe_undefined
from dispatchviz.core.native.iterator.memory_formats import in_format, suggested
from dispatchviz.core.tensor.dtype import type_meta_name
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread import warning

Bias = Tensor | None

# -- plain convolutions ------------------------------------------------------------------------------------------------


def conv1d_symint(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: Size, dilation: Size, groups: int
) -> Tensor:
    """A convolution of one example or a batch."""
    return _plain("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d_symint(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: Size, dilation: Size, groups: int
) -> Tensor:
    """A convolution of one example or a batch."""
    return _plain("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d_symint(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: Size, dilation: Size, groups: int
) -> Tensor:
    """A convolution of one example or a batch."""
    return _plain("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _plain(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: Size,
    dilation: Size,
    groups: int,
) -> Tensor:
    if bias is not None and bias._dtype is not input._dtype:
        given, found = type_meta_name(input._dtype), type_meta_name(bias._dtype)
        raise RuntimeError(f"Input type ({given}) and bias type ({found}) should be the same")
    several, was_batched = _batchified(input, dims, name)
    call = _complex_convolution if input._dtype.is_complex else _convolved
    output = call(several, weight, bias, stride, padding, dilation, False, (0,) * dims, groups)
    return output if was_batched else ops.squeeze_dim.call(output, 0)


def _batchified(input: Tensor, dims: int, name: str) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it already had one. Raise RuntimeError for other ranks."""
    rank = len(input._size)
    if rank not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input._size)}"
        )
    return (input, True) if rank == dims + 2 else (ops.unsqueeze.call(input, 0), False)


# -- padding "same" and "valid" ----------------------------------------------------------------------------------------


def conv1d_padding_symint(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: str, dilation: Size, groups: int
) -> Tensor:
    """A convolution with the padding ``"same"`` or ``"valid"``."""
    return _with_padding_mode("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d_padding_symint(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: str, dilation: Size, groups: int
) -> Tensor:
    """A convolution with the padding ``"same"`` or ``"valid"``."""
    return _with_padding_mode("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d_padding_symint(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: str, dilation: Size, groups: int
) -> Tensor:
    """A convolution with the padding ``"same"`` or ``"valid"``."""
    return _with_padding_mode("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _with_padding_mode(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: str,
    dilation: Size,
    groups: int,
) -> Tensor:
    several, was_batched = _batchified(input, dims, name)
    call = _complex_convolution_mode if input._dtype.is_complex else ops._convolution_mode.call
    output = call(several, weight, bias, stride, padding, dilation, groups)
    return output if was_batched else ops.squeeze_dim.call(output, 0)


def _convolution_mode_symint(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: str, dilation: Size, groups: int
) -> Tensor:
    """A convolution with the padding ``"same"`` or ``"valid"``. Raise RuntimeError for any other word."""
    if padding == "same":
        return _same(input, weight, bias, stride, dilation, groups)
    if padding == "valid":
        return _convolved(input, weight, bias, stride, (0,), dilation, False, (0,), groups)
    raise RuntimeError(f"Invalid padding string: '{padding}'")


def _same(input: Tensor, weight: Tensor, bias: Bias, stride: Size, dilation: Size, groups: int) -> Tensor:
    dims = len(weight._size) - 2
    _check_same(input, weight, stride, dilation, groups)
    by = dilation * dims if len(dilation) == 1 else dilation
    total = [step * (width - 1) for step, width in zip(by, weight._size[2:], strict=True)]
    left = [pad // 2 for pad in total]
    if any(pad % 2 for pad in total):
        warning.issue(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created"
        )
        # the extra element on the right is padded in the input; the last dimension comes first
        uneven = [one for pad in reversed(total) for one in (0, pad % 2)]
        input = ops.constant_pad_nd.call(input, tuple(uneven), 0)
    return _convolved(input, weight, bias, stride, tuple(left), dilation, False, (0,) * dims, groups)


def _check_same(input: Tensor, weight: Tensor, stride: Size, dilation: Size, groups: int) -> None:
    rank = len(weight._size)
    if rank <= 2:
        raise RuntimeError("weight should have at least three dimensions")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if rank != len(input._size):
        raise RuntimeError(
            f"Expected {rank}-dimensional input for {rank}-dimensional weight{list(weight._size)}, but got "
            f"{len(input._size)}-dimensional input of size {list(input._size)} instead"
        )
    for name, given in (("stride", stride), ("dilation", dilation)):
        if len(given) not in (1, rank - 2):
            raise RuntimeError(f"{name} cannot broadcast to {rank - 2} dimensions")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")


# -- transposed convolutions -------------------------------------------------------------------------------------------


def conv_transpose1d_symint(
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: Size,
    output_padding: Size,
    groups: int,
    dilation: Size,
) -> Tensor:
    """A transposed convolution of one example or a batch."""
    settings = (stride, padding, dilation, True, output_padding, groups)
    return _transposed("conv_transpose1d", 1, input, weight, bias, settings)


def conv_transpose2d_symint(
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: Size,
    output_padding: Size,
    groups: int,
    dilation: Size,
) -> Tensor:
    """A transposed convolution of one example or a batch."""
    settings = (stride, padding, dilation, True, output_padding, groups)
    return _transposed("conv_transpose2d", 2, input, weight, bias, settings)


def conv_transpose3d_symint(
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: Size,
    output_padding: Size,
    groups: int,
    dilation: Size,
) -> Tensor:
    """A transposed convolution of one example or a batch."""
    settings = (stride, padding, dilation, True, output_padding, groups)
    return _transposed("conv_transpose3d", 3, input, weight, bias, settings)


def _transposed(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    settings: tuple[Size, Size, Size, bool, Size, int],
) -> Tensor:
    several, was_batched = _batchified(input, dims, name)
    call = _complex_convolution if input._dtype.is_complex else _convolved
    output = call(several, weight, bias, *settings)
    return output if was_batched else ops.squeeze_dim.call(output, 0)


# -- complex convolutions ----------------------------------------------------------------------------------------------


def _parts(tensor: Tensor) -> tuple[Tensor, Tensor]:
    """The real and imaginary parts of a tensor."""
    pairs = ops.view_as_real.call(ops.resolve_conj.call(tensor))
    last = len(pairs._size) - 1
    return ops.select_int.call(pairs, last, 0), ops.select_int.call(pairs, last, 1)


def _complex_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
) -> Tensor:
    settings = (stride, padding, dilation, transposed, output_padding, groups)
    return _complex_by_real_convolutions(input, weight, bias, lambda x, w, b: _convolved(x, w, b, *settings))


def _complex_convolution_mode(
    input: Tensor, weight: Tensor, bias: Bias, stride: Size, padding: str, dilation: Size, groups: int
) -> Tensor:
    settings = (stride, padding, dilation, groups)
    return _complex_by_real_convolutions(
        input, weight, bias, lambda x, w, b: call_maybe_undefined(ops._convolution_mode, b, x, w, b, *settings)
    )


def _complex_by_real_convolutions(
    input: Tensor, weight: Tensor, bias: Bias, convolved: Callable[..., Tensor]
) -> Tensor:
    """A complex convolution computed as three real ones (Gauss)."""
    check_same_type(input, weight, bias, mkldnn=False)
    x_real, x_imag = _parts(input)
    w_real, w_imag = _parts(weight)
    b_real, b_imag = (None, None) if bias is None else _parts(bias)
    a = convolved(x_real, w_real, b_real)
    b = convolved(x_imag, w_imag, None)
    # C++ evaluates the arguments of the third call from right to left
    b_sum = None if b_real is None or b_imag is None else ops.add_Tensor.call(b_real, b_imag, 1)
    w_sum = ops.add_Tensor.call(w_real, w_imag, 1)
    c = convolved(ops.add_Tensor.call(x_real, x_imag, 1), w_sum, b_sum)
    imaginary = ops.mul_Scalar.call(ops.sub_Tensor.call(ops.sub_Tensor.call(c, a, 1), b, 1), 1j)
    return ops.add_Tensor.call(ops.sub_Tensor.call(a, b, 1), imaginary, 1)


# -- convolution -------------------------------------------------------------------------------------------------------


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
) -> Tensor:
    """Call ``_convolution`` with the global cuDNN settings."""
    settings = (stride, padding, dilation, transposed, output_padding, groups, False, False, True, True)
    found: Tensor = call_maybe_undefined(ops._convolution, bias, input, weight, bias, *settings)
    return found


def _convolved(input: Tensor, weight: Tensor, bias: Bias, *settings: Any) -> Tensor:
    """Call ``convolution``; the bias may be an undefined tensor."""
    found: Tensor = call_maybe_undefined(ops.convolution, bias, input, weight, bias, *settings)
    return found


def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Bias,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
    allow_tf32: bool,
) -> Tensor:
    """Compute the convolution by the chosen backend. A 1D convolution is computed as a 2D one."""
    params = params_of(weight, stride, padding, dilation, transposed, output_padding, groups)
    check_shape(input, weight, bias, params)
    flat = len(weight._size) == 3
    if flat:
        input, params = ops.unsqueeze.call(in_format(input), 2), params.as_2d()
        weight = ops.unsqueeze.call(weight, 2)
    output = _convolve(input, weight, bias, params)
    return ops.squeeze_dim.call(output, 2) if flat else output


def _convolve(input: Tensor, weight: Tensor, bias: Bias, params: Params) -> Tensor:
    backend = select_backend(input, weight, params)
    memory_format = backend_format(input, weight, backend)
    match backend:
        case Backend.EMPTY:
            return _empty_convolution(input, weight, bias, params)
        case Backend.CUDA_DEPTHWISE:
            return _cuda_depthwise(input, weight, bias, params)
        case Backend.CUDNN | Backend.CUDNN_TRANSPOSE:
            return _cudnn(in_format(input, memory_format), weight, bias, params)
        case Backend.MKLDNN | Backend.MKLDNN_TRANSPOSE:
            check_same_type(input, weight, bias, mkldnn=True)
            input, weight = in_format(input, memory_format), in_format(weight, memory_format)
            bias = None if bias is None else in_format(bias)
            if backend is Backend.MKLDNN_TRANSPOSE:
                return conv_mkldnn_cudnn.mkldnn_convolution_transpose(input, weight, bias, params)
            return ops.mkldnn_convolution.call(
                input, weight, bias, params.padding, params.stride, params.dilation, params.groups
            )
    if backend is Backend.SLOW3D:  # its kernel makes the copies itself
        return _convolve_ungrouped(input, weight, bias, backend, params)
    input, weight = in_format(input, memory_format), in_format(weight, memory_format)
    if params.groups == 1:
        return _convolve_ungrouped(input, weight, bias, backend, params)
    return _group_by_group(input, weight, bias, backend, params)


def _group_by_group(input: Tensor, weight: Tensor, bias: Bias, backend: Backend, params: Params) -> Tensor:
    alone, outputs = params._replace(groups=1), []
    for group in range(params.groups):
        x = of_group(input, 1, params.groups, group)
        w = of_group(weight, 0, params.groups, group)
        b = None if bias is None else of_group(bias, 0, params.groups, group)
        outputs.append(_convolve_ungrouped(x, w, b, backend, alone))
    return ops.cat.call(outputs, 1)


def of_group(tensor: Tensor, dim: int, groups: int, group: int) -> Tensor:
    """The part of a dimension that belongs to one group (``subtensor``)."""
    memory_format, length = suggested(tensor), tensor._size[dim] // groups
    return in_format(ops.narrow.call(tensor, dim, length * group, length), memory_format)


def _convolve_ungrouped(input: Tensor, weight: Tensor, bias: Bias, backend: Backend, params: Params) -> Tensor:
    kernel, stride, padding, dilation = weight._size[2:], params.stride, params.padding, params.dilation
    wide = len(kernel) == 3
    if backend is Backend.SLOW3D:
        return ops.slow_conv3d.call(input, weight, kernel, bias, stride, padding)
    if backend is Backend.SLOW2D:
        return ops.thnn_conv2d.call(input, weight, kernel, bias, stride, padding)
    if backend is Backend.SLOW_DILATED:
        dilated: Any = ops.slow_conv_dilated3d if wide else ops.slow_conv_dilated2d
        found: Tensor = dilated.call(input, weight, kernel, bias, stride, padding, dilation)
        return found
    if wide:
        return ops.slow_conv_transpose3d.call(
            input, weight, kernel, bias, stride, padding, params.output_padding, dilation
        )
    return ops.slow_conv_transpose2d.call(input, weight, kernel, bias, stride, padding, params.output_padding, dilation)


def _empty_convolution(input: Tensor, weight: Tensor, bias: Bias, params: Params) -> Tensor:
    """The result for an input without examples or channels: the right shape, connected to the autograd graph."""
    flat = ops._unsafe_view.call(weight, (-1,))
    if input._size[1] == 0:
        result = ops.mul_Tensor.call(ops.view.call(input, (-1,)), flat)
    else:
        result = ops.mul_Tensor.call(input, ops.select_int.call(flat, 0, 0))
    if bias is not None:
        result = ops.add__Tensor.call(result, ops.select_int.call(bias, 0, 0), 1)
    return ops.view.call(result, convolved_size(input, weight, params))


def convolved_size(input: Tensor, weight: Tensor, params: Params) -> Size:
    space, kernel = input._size[2:], weight._size[2:]
    if params.transposed:
        found = input_space(space, kernel, params.steps, params.output_padding)
        return (input._size[0], weight._size[1] * params.groups, *found)
    return (input._size[0], weight._size[0], *output_space(space, kernel, params.steps))


def _cuda_depthwise(input: Tensor, weight: Tensor, bias: Bias, params: Params) -> Tensor:
    call = ops._conv_depthwise2d.call if len(input._size) == 4 else ops.conv_depthwise3d.call
    kernel = weight._size[2:]
    return call(in_format(input), weight, kernel, bias, params.stride, params.padding, params.dilation)


def _cudnn(input: Tensor, weight: Tensor, bias: Bias, params: Params) -> Tensor:
    check_same_type(input, weight, bias, mkldnn=False)
    settings = (params.stride, params.dilation, params.groups, False, False, True)
    if params.transposed:
        output = ops.cudnn_convolution_transpose.call(input, weight, params.padding, params.output_padding, *settings)
    else:
        output = ops.cudnn_convolution.call(input, weight, params.padding, *settings)
    if bias is None:
        return output
    shape = (1, -1, *(1 for _ in input._size[2:]))
    return ops.add__Tensor.call(output, ops.reshape.call(bias, shape), 1)


def _nnpack_available() -> bool:
    """Return True: NNPACK is available, although it is never chosen."""
    return True
