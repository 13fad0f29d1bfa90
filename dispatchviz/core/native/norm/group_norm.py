"""``group_norm``, ``native_group_norm``, ``rms_norm`` (``aten/src/ATen/native/group_norm.cpp``, ``layer_norm.cpp``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import IMPROVABLE
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.embedding.linear_embedding import check_last_dimensions, check_layer_norm_inputs
from dispatchviz.core.native.iterator.argument_checks import call_of_node
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, in_format, suggested
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, quiet
from dispatchviz.core.native.norm.batch_norm_kernels import empty_on_device_of
from dispatchviz.core.native.norm.mixed_data_type import check_accessible, param_scalar_type
from dispatchviz.core.tensor.dtype import REDUCED, DType, float32
from dispatchviz.core.tensor.tensor import Size, Tensor

Optional = Tensor | None

# -- group_norm --------------------------------------------------------------------------------------------------------


def group_norm(
    input: Tensor, num_groups: int, weight: Optional, bias: Optional, eps: float, cudnn_enabled: bool
) -> Tensor:
    """The first result of ``native_group_norm``."""
    if len(input._size) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    count, channels = input._size[:2]
    space = math.prod(input._size[2:])
    _check_groups(input, channels, space, num_groups, weight, bias)
    found = call_of_node(ops.native_group_norm, input, weight, bias, count, channels, space, num_groups, eps)
    output: Tensor = found[0]
    return output


def _check_groups(input: Tensor, channels: int, space: int, num_groups: int, weight: Optional, bias: Optional) -> None:
    for what, number in (("number of channels", channels), ("HxW", space), ("num groups", num_groups)):
        if number <= 0:
            raise RuntimeError(f"Expected {what} to be greater than 0, got {number}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input._size)} and num_groups={num_groups}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._size != (channels,):
            shown = weight if weight is not None else tensor
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(shown._size)} and input of shape {list(input._size)}"
            )


def _format(input: Tensor) -> str:
    return suggested(input) if input._device.type == "cpu" else CONTIGUOUS


def native_group_norm(
    input: Tensor, weight: Optional, bias: Optional, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Each group of channels minus its mean, divided by its standard deviation; also the mean and 1 / std."""
    _check_groups(input, C, HxW, group, weight, bias)
    if math.prod(input._size) != N * C * HxW:
        raise RuntimeError(f"Expected X.numel() == N * C * HxW to be true, but got false.  {IMPROVABLE}")
    dtype = param_scalar_type(input, weight, bias)
    out = ops.empty_like.call(input, None, None, None, None, _format(input))
    mean, rstd = (empty_on_device_of(input, (N, group), dtype) for _ in range(2))
    if not input._dtype.is_floating_point:
        raise not_implemented("GroupNormKernelImpl", input._dtype)
    check_accessible((weight, bias), dtype)
    input = in_format(input, _format(input))
    weight, bias = (None if tensor is None else in_format(tensor) for tensor in (weight, bias))
    within = accumulated(input._dtype)
    if input._device.type == "cpu" and not input._is_contiguous:
        empty_on_device_of(input, (N * group, 2 * C // group), within)
    if not math.prod(input._size):
        mean._array[...], rstd._array[...] = 0, math.nan
    else:
        quiet.run(_normalized, input, weight, bias, (N, C, group), eps, (out, mean, rstd))
    return out, mean, rstd


def _normalized(
    x: Tensor,
    weight: Optional,
    bias: Optional,
    sizes: tuple[int, int, int],
    eps: float,
    outputs: tuple[Tensor, Tensor, Tensor],
) -> None:
    """Write input * scale + shift, with one scale and shift per example and channel."""
    count, channels, group = sizes
    xp: Any = array_module(x._device.type)
    within = accumulated(x._dtype).numpy
    values = x._array.astype(within).reshape(count, group, -1)
    center = values.mean(2)
    variance = xp.maximum(((values - center[..., None]) ** 2).mean(2), 0)
    rstd = (1 / xp.sqrt(variance + within.type(eps)))[..., None]
    gamma = xp.ones(channels, within) if weight is None else weight._array.astype(within)
    beta = xp.zeros(channels, within) if bias is None else bias._array.astype(within)
    scale = rstd * gamma.reshape(1, group, -1)
    shift = beta.reshape(1, group, -1) - scale * center[..., None]
    if within != x._array.dtype:  # one multiplication with an addition, rounded once
        values, scale, shift = (one.astype(xp.float64) for one in (values, scale, shift))
    flat = values.reshape(count, channels, -1)
    result = flat * scale.reshape(count, channels, 1) + shift.reshape(count, channels, 1)
    for target, numbers in zip(outputs, (result.astype(within).reshape(x._size), center, rstd[..., 0]), strict=True):
        target._array[...] = numbers.astype(target._array.dtype)


def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Optional,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: tuple[bool, ...],
) -> tuple[Any, Any, Any]:
    """The requested gradients of input, weight and bias."""
    if input._dtype is not grad_out._dtype:
        raise RuntimeError("Expected scalar types of X and dY are same.")
    kept = param_scalar_type(input, mean, rstd)
    dtype = input._dtype if weight is None else weight._dtype
    if not math.prod(input._size):
        return _zeros(input, C, dtype, output_mask)
    grad_out, input = (in_format(tensor, _format(input)) for tensor in (grad_out, input))
    of_input = ops.empty_like.call(input, None, None, None, None, None) if output_mask[0] else None
    of_weight, of_bias = (empty_on_device_of(input, (C,), dtype) if wanted else None for wanted in output_mask[1:])
    check_accessible((mean, rstd, weight), kept)
    if input._device.type == "cpu":
        _allocate_intermediates(input, (N, C, group))
    outputs = (of_input, of_weight, of_bias)
    quiet.run(_put_gradients, grad_out, input, mean, rstd, weight, (N, C, group), outputs)
    return outputs


def _zeros(input: Tensor, channels: int, dtype: DType, output_mask: tuple[bool, ...]) -> tuple[Any, Any, Any]:
    """The gradients of an input without elements."""
    of_bias, of_weight = (
        ops.zeros.call((channels,), dtype, "strided", input._device, None) if wanted else None
        for wanted in output_mask[:0:-1]
    )
    of_input = ops.zeros_like.call(input, None, None, None, None, CONTIGUOUS) if output_mask[0] else None
    return of_input, of_weight, of_bias


def _allocate_intermediates(x: Tensor, sizes: tuple[int, int, int]) -> None:
    """Allocate the intermediate tensors of PyTorch's kernels: the sums of each channel."""
    count, channels, _ = sizes
    within = accumulated(x._dtype)
    for _ in range(2):
        empty_on_device_of(x, (count, channels), within)


def _put_gradients(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Optional,
    sizes: tuple[int, int, int],
    outputs: tuple[Optional, ...],
) -> None:
    count, channels, group = sizes
    within = accumulated(input._dtype).numpy
    grad, values, center, scale = (t._array.astype(within) for t in (grad_out, input, mean, rstd))
    normal = ((values.reshape(count, group, -1) - center[..., None]) * scale[..., None]).reshape(count, channels, -1)
    grad = grad.reshape(count, channels, -1)
    of_input, of_weight, of_bias = outputs
    if of_input is not None:
        scaled = grad if weight is None else grad * weight._array.astype(within).reshape(1, channels, 1)
        scaled, flat = scaled.reshape(count, group, -1), normal.reshape(count, group, -1)
        centered = scaled - scaled.mean(2, keepdims=True) - flat * (scaled * flat).mean(2, keepdims=True)
        _put(of_input, (centered * scale[..., None]).reshape(input._size))
    if of_weight is not None:
        _put(of_weight, (grad * normal).sum((0, 2)))
    if of_bias is not None:
        _put(of_bias, grad.sum((0, 2)))


def _put(out: Tensor, values: Any) -> None:
    out._array[...] = values.astype(out._array.dtype)


# -- rms_norm ----------------------------------------------------------------------------------------------------------


def rms_norm_symint(input: Tensor, normalized_shape: Size, weight: Optional, eps: float | None) -> Tensor:
    """The first result of ``_fused_rms_norm``. Raise RuntimeError unless the input ends in ``normalized_shape``."""
    shape = tuple(normalized_shape)
    check_layer_norm_inputs(shape, weight=weight)
    check_last_dimensions(input, shape, "*")
    return ops._fused_rms_norm.call(input, shape, weight, eps)[0]


def rms_norm_composite(
    input: Tensor, normalized_shape: Size, weight: Optional, eps: float | None
) -> tuple[Tensor, Tensor]:
    """self / sqrt(mean of squares), times the weight; computed in float32 for half and bfloat16."""
    if not input._dtype.can_require_grad:
        raise not_implemented("rms_norm", input._dtype)
    rank = len(input._size)
    dims = tuple(range(rank - len(normalized_shape), rank))
    within = float32 if input._dtype in REDUCED else input._dtype
    xp: Any = array_module(input._device.type)
    least = float(xp.finfo(within.numpy).eps) if eps is None else eps
    wide = ops.to_dtype.call(input, within, False, False, None)
    mean = ops.mean_dim.call(ops.pow_Tensor_Scalar.call(wide, 2), dims, True, None)
    scale = ops.rsqrt.call(ops.add__Scalar.call(mean, least, 1))
    result = ops.mul_Tensor.call(wide, scale)
    if weight is not None:
        result = ops.mul_Tensor.call(result, weight)
    return ops.type_as.call(result, input), scale
