"""``native_batch_norm_backward`` (``Normalization.cpp``, ``cpu/batch_norm_kernel.cpp``)."""

from __future__ import annotations

from typing import Any, NamedTuple

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import CHANNELS_LAST, CONTIGUOUS, suggested
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, quiet
from dispatchviz.core.native.norm.batch_norm_kernels import (
    across,
    as_nd,
    axes_of,
    empty_on_device_of,
    is_dense,
    is_flat,
)
from dispatchviz.core.native.norm.mixed_data_type import param_scalar_type
from dispatchviz.core.tensor.dtype import DType, float16, float32
from dispatchviz.core.tensor.tensor import Tensor, numel

Optional = Tensor | None
Three = tuple[Any, Any, Any]


class _Channels(NamedTuple):
    """The parameters and statistics of each channel, as arrays."""

    weight: Any
    mean: Any
    invstd: Any


def batch_norm_backward_cpu(
    grad_out: Tensor,
    input: Tensor,
    weight: Optional,
    running_mean: Optional,
    running_var: Optional,
    save_mean: Optional,
    save_invstd: Optional,
    train: bool,
    eps: float,
    output_mask: tuple[bool, ...],
) -> Three:
    """The requested gradients of input, weight and bias."""
    if not input._dtype.is_floating_point:
        raise not_implemented("batch_norm_backward_cpu", input._dtype)
    dtype = param_scalar_type(input, weight, running_mean, running_var, save_mean, save_invstd)
    of_input = ops.empty_like.call(input, None, None, None, None, suggested(input)) if output_mask[0] else None
    of_weight, of_bias = (
        empty_on_device_of(input, (input._size[1],), dtype) if wanted else None for wanted in output_mask[1:]
    )
    statistics = (save_mean, save_invstd) if train else (running_mean, running_var)
    if is_dense(input) and is_dense(grad_out) and suggested(input) == suggested(grad_out):
        if output_mask[0]:
            memory_format = CONTIGUOUS if input._is_contiguous else CHANNELS_LAST
            of_input = ops.empty_like.call(input, None, None, None, None, memory_format)
        _allocate_intermediates(input, weight, train)
        total = None
        within = accumulated(input._dtype)
    else:
        given = grad_out
        if input._dtype is float16:
            given = ops.to_dtype.call(grad_out, float32, False, False, None)
        total = ops.sum_dim_IntList.call(given, axes_of(input), False, None)
        within = dtype
    channels = quiet.run(_channels, input, weight, statistics, within, train, eps)
    outputs = (of_input, of_weight, of_bias)
    quiet.run(_put_gradients, grad_out, input, channels, total, train, outputs)
    return outputs


def batch_norm_backward_cuda(
    grad_out: Tensor,
    input: Tensor,
    weight: Optional,
    running_mean: Optional,
    running_var: Optional,
    save_mean: Optional,
    save_invstd: Optional,
    train: bool,
    eps: float,
    output_mask: tuple[bool, ...],
) -> Three:
    """The requested gradients of input, weight and bias (``cuda/Normalization.cu``).

    In training, one kernel computes all three gradients, unless the input is channels-last. NB: in PyTorch, a special
    kernel sums if the gradient is channels-last too.
    """
    if not input._dtype.is_floating_point:
        raise not_implemented("batch_norm_backward_cuda", input._dtype)
    if not train:
        kept = (running_mean, running_var, save_mean, save_invstd)
        return batch_norm_backward_cpu(grad_out, input, weight, *kept, train, eps, output_mask)
    assert save_mean is not None
    assert save_invstd is not None
    flat = (input._size[0], input._size[1], -1)
    ops.reshape.call(grad_out, ops.reshape.call(input, flat)._size)
    at_once = output_mask[0] and not (is_dense(input) and is_flat(input))
    outputs = (_allocate_for_one_kernel if at_once else _allocate_for_separate_kernels)(
        grad_out, input, weight, (save_mean, save_invstd), output_mask
    )
    statistics = (save_mean, save_invstd)
    channels = quiet.run(_channels, input, weight, statistics, accumulated(input._dtype), train, eps)
    quiet.run(_put_gradients, grad_out, input, channels, None, train, outputs)
    return outputs


def _allocate_for_one_kernel(
    grad_out: Tensor, input: Tensor, weight: Optional, statistics: tuple[Tensor, Tensor], output_mask: tuple[bool, ...]
) -> Three:
    """Allocate the gradients of one kernel for all three (``batch_norm_backward_cuda_template``)."""
    of_input = ops.empty_like.call(input, None, None, None, None, CONTIGUOUS)
    ops.view.call(of_input, (input._size[0], input._size[1], -1))
    of_weight, of_bias = (_like_weight(input, weight, statistics[0], wanted) for wanted in output_mask[1:])
    return of_input, of_weight, of_bias


def _like_weight(input: Tensor, weight: Optional, mean: Tensor, wanted: bool) -> Optional:
    if not wanted:
        return None
    if weight is None:
        return empty_on_device_of(input, input._size[1:2], mean._dtype)
    return ops.empty_like.call(weight, None, None, None, None, CONTIGUOUS)


def _allocate_for_separate_kernels(
    grad_out: Tensor, input: Tensor, weight: Optional, statistics: tuple[Tensor, Tensor], output_mask: tuple[bool, ...]
) -> Three:
    """Allocate the gradients of separate kernels (``batch_norm_backward_reduce_cuda``,
    ``batch_norm_elementwise_backward_train``).
    """
    mean, invstd = statistics
    sums = []
    if output_mask[0]:
        sums = [ops.empty_like.call(mean, None, None, None, None, CONTIGUOUS) for _ in range(2)]
    like = mean if weight is None else weight
    of_weight, of_bias = (
        empty_on_device_of(input, input._size[1:2], like._dtype) if wanted else None for wanted in output_mask[1:]
    )
    if not sums:
        return None, of_weight, of_bias
    for one in (invstd, mean, *sums):
        as_nd(input, one)
    if weight is None:
        ops.scalar_tensor.call(1.0, mean._dtype, "strided", input._device, None)
    else:
        as_nd(input, weight)
    return empty_on_device_of(input, input._size, grad_out._dtype), of_weight, of_bias


def _new_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor,
    running_mean: Optional,
    running_var: Optional,
    save_mean: Optional,
    save_var: Optional,
    update: bool,
    eps: float,
    output_mask: tuple[bool, ...],
    reserve: Tensor,
) -> Three:
    """``native_batch_norm_backward`` with the reserved memory of other backends as an argument."""
    kept = (running_mean, running_var, save_mean, save_var)
    return batch_norm_backward_cpu(grad_out, input, weight, *kept, update, eps, output_mask)


def _allocate_intermediates(input: Tensor, weight: Optional, train: bool) -> None:
    """Allocate the intermediate tensors of PyTorch's kernel for flat inputs."""
    if not is_flat(input) or input._device.type != "cpu":
        return
    features = input._size[1]
    within = accumulated(input._dtype)
    if within is not input._dtype:
        for _ in range(3):  # weight, mean and invstd
            empty_on_device_of(input, (features,), float32)
    else:
        if weight is None:
            ops.ones.call((features,), input._dtype, "strided", input._device, None)
        invstd = empty_on_device_of(input, (0,))
        if not train:
            ops.resize_.call(invstd, (features,), None)
    ops.zeros.call((2, 1, features), within, "strided", input._device, None)


def _channels(
    input: Tensor, weight: Optional, statistics: tuple[Optional, Optional], within: DType, train: bool, eps: float
) -> _Channels:
    xp: Any = array_module(input._device.type)
    mean, invstd_or_var = statistics
    assert mean is not None
    assert invstd_or_var is not None
    invstd: Any = invstd_or_var._array if train else 1 / xp.sqrt(invstd_or_var._array.astype(xp.float64) + eps)
    factor = xp.ones(1, within.numpy) if weight is None else weight._array
    return _Channels(*(one.astype(within.numpy) for one in (factor, mean._array, invstd)))


def _put_gradients(
    grad_out: Tensor,
    input: Tensor,
    channels: _Channels,
    total: Optional,
    train: bool,
    outputs: tuple[Optional, ...],
) -> None:
    """Write the requested gradients.

    ``total``: the sum of grad_out over each channel, if a strided input computes it first.
    """
    weight, mean, invstd = (across(input, one) for one in channels)
    plain = accumulated(input._dtype).numpy
    grad, values = (t._array.astype(invstd.dtype) for t in (grad_out, input))
    dot = ((values - mean) * grad).sum(axes_of(input), dtype=plain, keepdims=True)
    sums = grad.sum(axes_of(input), dtype=plain, keepdims=True) if total is None else across(input, total._array)
    of_input, of_weight, of_bias = outputs
    if of_input is not None:
        count = numel(input._size) // input._size[1]
        step = plain if total is None else input._dtype.numpy
        if train:
            grad = _centred(grad, (values - mean), dot, sums, invstd, step, count)
        _put(of_input, grad * invstd * weight)
    if of_weight is not None:
        _put(of_weight, (dot * invstd.astype(plain)).reshape(-1))
    if of_bias is not None:
        _put(of_bias, sums.reshape(-1))


def _centred(grad: Any, distance: Any, dot: Any, sums: Any, invstd: Any, step: Any, count: int) -> Any:
    """The gradient without its mean and its component along the input; ``step``: the dtype of intermediate results."""
    slope = (dot.astype(step) * invstd * invstd / invstd.dtype.type(count)).astype(step)
    along = (distance * slope).astype(step)
    return grad.astype(step) - sums.astype(step) / step.type(count) - along


def _put(out: Tensor, values: Any) -> None:
    out._array[...] = values.astype(out._array.dtype)
