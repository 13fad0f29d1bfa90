"""Group and root-mean-square normalisation (``aten/src/ATen/native/group_norm.cpp``, ``layer_norm.cpp``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import REDUCED, float32
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import accumulated, converted, quiet, store
from dispatchviz.core.native.memory_formats import CHANNELS_LAST, in_format, suggested
from dispatchviz.core.native.undefined import call_of_node
from dispatchviz.core.tensor import Size, Tensor

Optional = Tensor | None

# -- group_norm --------------------------------------------------------------------------------------------------------


def group_norm(
    input: Tensor, num_groups: int, weight: Optional, bias: Optional, eps: float, cudnn_enabled: bool
) -> Tensor:
    """The first result of ``native_group_norm``."""
    if len(input._size) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    count, channels = input._size[:2]
    _check_groups(input, channels, num_groups, weight, bias)
    space = math.prod(input._size[2:])
    x = in_format(input, suggested(input) if input._device.type == "cpu" else "contiguous_format")
    gamma, beta = (None if tensor is None else in_format(tensor) for tensor in (weight, bias))
    found = call_of_node(ops.native_group_norm, x, gamma, beta, count, channels, space, num_groups, eps)
    output: Tensor = found[0]
    return output


def _check_groups(input: Tensor, channels: int, num_groups: int, weight: Optional, bias: Optional) -> None:
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input._size)} and num_groups={num_groups}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._size != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(tensor._size)} and input of shape {list(input._size)}"
            )


def native_group_norm(
    input: Tensor, weight: Optional, bias: Optional, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Each group of channels less its mean, over its spread; with the mean and 1 / spread."""
    memory_format = CHANNELS_LAST if suggested(input) == CHANNELS_LAST else None
    out = ops.empty_memory_format.call(input._size, input._dtype, "strided", input._device, None, memory_format)
    mean, rstd = _empty(input, (N, group)), _empty(input, (N, group))
    xp: Any = array_module(input._device.type)
    within = accumulated(input._dtype)
    values = converted(input._array, within).reshape(N, group, -1)
    centre = quiet.run(values.mean, 2)
    spread = quiet.run(((values - centre[..., None]) ** 2).mean, 2)
    scale = 1 / xp.sqrt(spread + eps)
    result = ((values - centre[..., None]) * scale[..., None]).reshape(N, C, -1)
    if weight is not None:
        result = result * converted(weight._array, within).reshape(1, C, 1)
    if bias is not None:
        result = result + converted(bias._array, within).reshape(1, C, 1)
    store(out, result.reshape(input._size).astype(within.numpy))
    store(mean, centre)
    store(rstd, scale.astype(within.numpy))
    return out, mean, rstd


def _empty(input: Tensor, size: Size) -> Tensor:
    return ops.empty_memory_format.call(size, input._dtype, "strided", input._device, None, None)


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
    """The gradients of input, weight and bias that are asked for."""
    of_input = _empty(input, input._size) if output_mask[0] else None
    of_weight = _empty(input, (C,)) if output_mask[1] else None
    of_bias = _empty(input, (C,)) if output_mask[2] else None
    for _ in range(2):  # the sums of each channel
        _empty(input, (N, C))
    quiet.run(_put_gradients, grad_out, input, mean, rstd, weight, (N, C, group), (of_input, of_weight, of_bias))
    return of_input, of_weight, of_bias


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
    within = accumulated(input._dtype)
    grad, values, centre, scale = (converted(t._array, within) for t in (grad_out, input, mean, rstd))
    normal = ((values.reshape(count, group, -1) - centre[..., None]) * scale[..., None]).reshape(count, channels, -1)
    grad = grad.reshape(count, channels, -1)
    of_input, of_weight, of_bias = outputs
    if of_input is not None:
        scaled = grad if weight is None else grad * converted(weight._array, within).reshape(1, channels, 1)
        scaled, flat = scaled.reshape(count, group, -1), normal.reshape(count, group, -1)
        centred = scaled - scaled.mean(2, keepdims=True) - flat * (scaled * flat).mean(2, keepdims=True)
        store(of_input, (centred * scale[..., None]).reshape(input._size))
    if of_weight is not None:
        store(of_weight, (grad * normal).sum((0, 2)))
    if of_bias is not None:
        store(of_bias, grad.sum((0, 2)))


# -- rms_norm ----------------------------------------------------------------------------------------------------------


def rms_norm_symint(input: Tensor, normalized_shape: Size, weight: Optional, eps: float | None) -> Tensor:
    """The first result of ``_fused_rms_norm``. RuntimeError for a shape that is not that of the last dimensions."""
    shape = tuple(normalized_shape)
    if not shape or input._size[-len(shape) :] != shape:
        wanted = "[*" + ", ".join(map(str, shape)) + "]"
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape {wanted}, but got input of size"
            f"{list(input._size)}"
        )
    return ops._fused_rms_norm.call(input, shape, weight, eps)[0]


def rms_norm_composite(
    input: Tensor, normalized_shape: Size, weight: Optional, eps: float | None
) -> tuple[Tensor, Tensor]:
    """self / root of the mean of squares, times weight; computed in float32 for half and bfloat16."""
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
