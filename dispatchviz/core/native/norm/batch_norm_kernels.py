"""``native_batch_norm``, ``_native_batch_norm_legit``, ``_batch_norm_with_update``: forward kernels
(``Normalization.cpp``, ``cpu/batch_norm_kernel.cpp``).

Rounding: statistics are float64 for float32 inputs and float32 for half-precision inputs. Those of bfloat16 are rounded
between the steps; those of half are not, nor those of either next to float32 parameters ("mixed"). Strided inputs are
normalized by a plain loop in the parameters' dtype, which rounds each step.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import resize_in_order
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import CHANNELS_LAST, CONTIGUOUS, suggested
from dispatchviz.core.native.iterator.strides import is_channels_last
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, not_implemented, quiet, store
from dispatchviz.core.native.norm.mixed_data_type import check_accessible, is_mixed_type, param_scalar_type
from dispatchviz.core.tensor.dtype import REDUCED, DType, float16, float32, float64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

Optional = Tensor | None
Three = tuple[Tensor, Tensor, Tensor]

# -- native_batch_norm -------------------------------------------------------------------------------------------------


def batch_norm_cpu(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
) -> Three:
    """Each channel minus its mean, divided by its standard deviation; in training also the batch's mean and 1 / std."""
    parameters = (weight, bias, running_mean, running_var)
    dense = is_dense(input) and all(one is None or one._is_contiguous for one in parameters)
    memory_format = (CONTIGUOUS if input._is_contiguous else CHANNELS_LAST) if dense else suggested(input)
    if input._device.type == "cuda":  # cuda/Normalization.cu
        memory_format = "preserve_format"
    output = ops.empty_like.call(input, None, None, None, None, memory_format)
    dtype = float32 if is_mixed_type(input, *parameters) else input._dtype
    features = (input._size[1],) if training else (0,)
    if is_dense(input) or not training:
        save_mean = empty_on_device_of(input, features, dtype)
    else:
        save_mean = ops.mean_dim.call(input, axes_of(input), False, None if dtype is input._dtype else dtype)
    save_invstd = empty_on_device_of(input, features, dtype)
    return batch_norm_out(input, *parameters, training, momentum, eps, output, save_mean, save_invstd)


def batch_norm_out(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Three:
    """Write ``native_batch_norm`` into ``out``. The mean of a strided input is read from ``save_mean``."""
    resize_in_order(out, input._size)
    if not input._dtype.is_floating_point:
        raise not_implemented("batch_norm", input._dtype)
    dtype = param_scalar_type(input, weight, bias, running_mean, running_var)
    saved, running = (save_mean, save_invstd), (running_mean, running_var)
    if training:
        for tensor in saved:
            resize_in_order(tensor, (input._size[1],))
        _update_statistics(input, dtype, eps, saved, running, momentum)
    transform = _transform_dense if _all_dense(input, out, weight, bias, *running) else _transform_strided
    if numel(input._size) or transform is _transform_strided:
        transform(input, dtype, (weight, bias), saved if training else running, saved, eps, training, out)
    return out, save_mean, save_invstd


def _batch_norm_legit(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Three:
    """``native_batch_norm`` with a schema that marks the running statistics as written."""
    return batch_norm_cpu(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _batch_norm_legit_out(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Three:
    """The ``out=`` version of ``_batch_norm_legit``."""
    parameters = (weight, bias, running_mean, running_var)
    return batch_norm_out(input, *parameters, training, momentum, eps, out, save_mean, save_invstd)


def _batch_norm_legit_no_stats(
    input: Tensor, weight: Optional, bias: Optional, training: bool, momentum: float, eps: float
) -> Three:
    """Normalize by the statistics of the batch alone."""
    return batch_norm_cpu(input, weight, bias, None, None, training, momentum, eps)


def _batch_norm_legit_no_stats_out(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
) -> Three:
    """The ``out=`` version of ``_batch_norm_legit_no_stats``."""
    return batch_norm_out(input, weight, bias, None, None, training, momentum, eps, out, save_mean, save_invstd)


def _batch_norm_legit_no_training(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Three:
    """Normalize by the running statistics."""
    found: Three = ops._native_batch_norm_legit.call(
        input, weight, bias, running_mean, running_var, False, momentum, eps
    )
    return found


def _batch_norm_with_update(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Normalize in training; also return the reserved memory of other backends."""
    found = batch_norm_cpu(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*found, empty_on_device_of(input, (0,), uint8))


def _batch_norm_with_update_out(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    out: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
    reserve: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The ``out=`` version of ``_batch_norm_with_update``."""
    parameters = (weight, bias, running_mean, running_var)
    return (*batch_norm_out(input, *parameters, True, momentum, eps, out, save_mean, save_invstd), reserve)


def _batch_norm_no_update(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Normalize by the running statistics; also return the reserved memory of other backends."""
    found = batch_norm_cpu(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return (*found, empty_on_device_of(input, (0,), uint8))


# -- shapes ------------------------------------------------------------------------------------------------------------


def is_dense(tensor: Tensor) -> bool:
    """Return whether a tensor is contiguous or channels-last."""
    return tensor._is_contiguous or is_channels_last(tensor._size, tensor._stride)


def _all_dense(input: Tensor, out: Tensor, *parameters: Optional) -> bool:
    return is_dense(input) and is_dense(out) and all(one is None or one._is_contiguous for one in parameters)


def is_flat(input: Tensor) -> bool:
    """Return whether a dense tensor has one element per channel or is channels-last, for which PyTorch has a separate
    kernel.
    """
    return not input._is_contiguous or math.prod(input._size[2:]) == 1


def axes_of(input: Tensor) -> Size:
    """All dimensions except the channels."""
    return (0, *range(2, len(input._size)))


def across(input: Tensor, array: Any) -> Any:
    """One number per channel, in a shape that broadcasts over the input."""
    return array.reshape(1, -1, *(1 for _ in input._size[2:]))


def empty_on_device_of(input: Tensor, size: Size, dtype: DType | None = None) -> Tensor:
    """A new tensor on the device of the input."""
    return ops.empty_memory_format.call(size, dtype or input._dtype, "strided", input._device, None, None)


# -- statistics --------------------------------------------------------------------------------------------------------


def _update_statistics(
    input: Tensor,
    dtype: DType,
    eps: float,
    saved: tuple[Tensor, Tensor],
    running: tuple[Optional, Optional],
    momentum: float,
) -> None:
    """Update mean and 1 / std of the batch, and the running statistics. Raise RuntimeError if there are no elements."""
    if not numel(input._size):
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input._size)}")
    check_accessible((*saved, *running), dtype, 1)
    count = numel(input._size) // input._size[1]
    between = float32 if dtype is float16 else dtype
    update = quiet.run(_update_of_dense if is_dense(input) else _update_of_strided, input, between, saved[0], momentum)
    mean, total, weight = update
    xp: Any = array_module(input._device.type)
    summed = _summed(input)
    var = total / total.dtype.type(count)
    store(saved[0], mean)
    store(saved[1], quiet.run(_inverse_std, xp, converted(var, summed), eps))
    unbiased = converted(quiet.run(lambda: total / total.dtype.type(count - 1)), summed)
    for tensor, value in zip(running, (mean, unbiased), strict=True):
        if tensor is not None:
            store(tensor, weight * value + (1 - weight) * tensor._array)


def _summed(input: Tensor) -> DType:
    """The dtype of sums (``acc_type``): double for float, float for half and bfloat16."""
    return float32 if input._dtype in REDUCED else float64


def _inverse_std(xp: Any, var: Any, eps: float) -> Any:
    """1 / sqrt(var + eps) in double; 0 if both are 0."""
    wide = var.astype(xp.float64)
    return xp.where((wide != 0) | (eps != 0), 1 / xp.sqrt(wide + eps), 0.0)


def _update_of_dense(input: Tensor, dtype: DType, save_mean: Tensor, momentum: float) -> tuple[Any, Any, Any]:
    """The mean, the sum of squares and the momentum, in the dtype of the parameters."""
    if input._device.type == "cpu":
        _allocate_intermediates(input, dtype)
    within, summed, axes = accumulated(input._dtype), _summed(input), axes_of(input)
    values = input._array.astype(within.numpy)
    count = numel(input._size) // input._size[1]
    mean = (values.sum(axes, dtype=summed.numpy) / count).astype(within.numpy)
    kept = mean.astype(dtype.numpy)
    center = kept.astype(within.numpy) if is_flat(input) else mean
    distance = values - across(input, center)
    total = (distance * distance).sum(axes, dtype=summed.numpy)
    return kept, total.astype(within.numpy).astype(dtype.numpy), kept.dtype.type(momentum)


def _update_of_strided(input: Tensor, dtype: DType, save_mean: Tensor, momentum: float) -> tuple[Any, Any, Any]:
    summed = _summed(input).numpy
    mean = save_mean._array.astype(summed)
    distance = input._array.astype(summed) - across(input, mean)
    total = (distance * distance).sum(axes_of(input))
    return mean.astype(float64.numpy), total, float64.numpy.type(momentum)


def _allocate_intermediates(input: Tensor, dtype: DType) -> None:
    """Allocate the intermediate tensors of PyTorch's kernel."""
    features = input._size[1]
    for _ in range(2):  # mean and sum of squares
        empty_on_device_of(input, (features,), dtype)
    if is_flat(input) and numel(input._size) > features:
        within = accumulated(input._dtype)
        buffer = ops.zeros.call((1, features), within, "strided", input._device, None)
        ops.zero_.call(buffer)


# -- the input, normalized ---------------------------------------------------------------------------------------------


def _transform_dense(
    input: Tensor,
    dtype: DType,
    affine: tuple[Optional, Optional],
    statistics: tuple[Optional, Optional],
    saved: tuple[Tensor, Tensor],
    eps: float,
    training: bool,
    out: Tensor,
) -> None:
    """Write input * alpha + beta, with one alpha and beta per channel."""
    check_accessible(affine, dtype)
    check_accessible((*saved, *(() if training else statistics)), dtype, 1)
    within = accumulated(input._dtype)
    if input._device.type == "cpu":
        for _ in range(2):  # alpha and beta
            empty_on_device_of(input, (input._size[1],), within)
    store(out, quiet.run(_scaled, input, within, affine, statistics, eps, training))


def _scaled(input: Tensor, within: DType, affine: Any, statistics: Any, eps: float, training: bool) -> Any:
    xp: Any = array_module(input._device.type)
    mean, invstd_or_var = (one._array.astype(within.numpy) for one in statistics)
    alpha = invstd_or_var if training else 1 / xp.sqrt(invstd_or_var + within.numpy.type(eps))
    if affine[0] is not None:
        alpha = alpha * affine[0]._array.astype(within.numpy)
    beta = (0 if affine[1] is None else affine[1]._array.astype(within.numpy)) - mean * alpha
    values = input._array.astype(within.numpy)
    if within is not input._dtype:  # one multiplication with an addition, rounded once
        values, alpha, beta = (one.astype(xp.float64) for one in (values, alpha, beta))
    return (values * across(input, alpha) + across(input, beta)).astype(within.numpy)


def _transform_strided(
    input: Tensor,
    dtype: DType,
    affine: tuple[Optional, Optional],
    statistics: tuple[Optional, Optional],
    saved: tuple[Tensor, Tensor],
    eps: float,
    training: bool,
    out: Tensor,
) -> None:
    """Write (input - mean) * invstd * weight + bias, rounding each step."""
    mean, invstd_or_var = statistics
    assert mean is not None
    assert invstd_or_var is not None
    parts: list[Optional] = [as_nd(input, mean)]
    parts.append(as_nd(input, invstd_or_var if training else _inverse_of(invstd_or_var, eps)))
    parts.extend(None if one is None else as_nd(input, one) for one in affine)
    store(out, quiet.run(_stepwise, input, dtype, parts))


def _stepwise(input: Tensor, dtype: DType, parts: list[Any]) -> Any:
    center, scale, weight, bias = (None if part is None else part._array for part in parts)
    result = (input._array.astype(dtype.numpy) - center) * scale
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def as_nd(input: Tensor, tensor: Tensor) -> Tensor:
    """One number per channel, as a view with the input's number of dimensions."""
    shape = tuple(tensor._size[0] if dim == 1 else 1 for dim in range(len(input._size)))
    strides = tuple(tensor._stride[0] if dim == 1 else 0 for dim in range(len(shape)))
    return ops.as_strided.call(tensor, shape, strides, None)


def _inverse_of(running_var: Tensor, eps: float) -> Tensor:
    root = ops.sqrt.call(ops.add_Scalar.call(running_var, eps, 1))
    ones = ops.fill__Scalar.call(ops.empty_like.call(root, None, None, None, None, "preserve_format"), 1)
    return ops.div__Tensor.call(ones, root)


# -- CUDA --------------------------------------------------------------------------------------------------------------


def batch_norm_cuda(*args: Any) -> Three:
    """``native_batch_norm`` on CUDA, computed as on the CPU."""
    return batch_norm_cpu(*args)
