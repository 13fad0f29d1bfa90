"""Batch and instance normalisation (``aten/src/ATen/native/Normalization.cpp``, ``cpu/batch_norm_kernel.cpp``).

NB: in PyTorch, a GPU leaves most of these to cuDNN's operators; here the native ones run there too.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import uint8
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import accumulated, converted, not_implemented, quiet, store
from dispatchviz.core.native.memory_formats import CHANNELS_LAST, in_format, is_channels_last, suggested
from dispatchviz.core.native.undefined import call_of_node
from dispatchviz.core.tensor import Size, Tensor, numel

Optional = Tensor | None
Three = tuple[Any, Any, Any]

# -- by other operators ------------------------------------------------------------------------------------------------


def batch_norm(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """The first result of ``_batch_norm_impl_index``."""
    found = call_of_node(
        ops._batch_norm_impl_index,
        *(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled),
    )
    output: Tensor = found[0]
    return output


def _batch_norm_impl_index(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """By the native kernel, which is number 0."""
    features = input._size[1]
    if not training:
        for name, tensor in (("running_mean", running_mean), ("running_var", running_var)):
            if tensor is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
    given = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for name, tensor in given:
        if tensor is not None and numel(tensor._size) != features:
            raise RuntimeError(f"{name} should contain {features} elements not {numel(tensor._size)}")
    reserve = ops.empty_memory_format.call((0,), uint8, "strided", input._device, None, None)
    found = call_of_node(ops.native_batch_norm, input, weight, bias, running_mean, running_var, training, momentum, eps)
    return (*found, reserve, 0)


def instance_norm(
    input: Tensor,
    weight: Optional,
    bias: Optional,
    running_mean: Optional,
    running_var: Optional,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Batch normalisation of one example whose channels are those of all."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    count, channels = input._size[:2]
    repeated = [
        None if tensor is None else ops.repeat.call(tensor, (count,))
        for tensor in (weight, bias, running_mean, running_var)
    ]
    shape = (1, count * channels, *input._size[2:])
    flat = ops.view.call(in_format(input), shape)
    out = call_of_node(ops.batch_norm, flat, *repeated, use_input_stats, momentum, eps, cudnn_enabled)
    for running, each in zip((running_mean, running_var), repeated[2:], strict=True):
        if running is not None and each is not None:
            target = ops.alias.call(running)
            mean = ops.mean_dim.call(ops.view.call(each, (count, channels)), (0,), False, None)
            ops.copy_.call(target, mean, False)
    return ops.view.call(out, input._size)


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
) -> tuple[Tensor, Tensor, Tensor]:
    """Each channel less its mean, over its spread; with the mean and 1 / spread of a batch in training."""
    memory_format = None if suggested(input) != CHANNELS_LAST else CHANNELS_LAST
    output = ops.empty_like.call(input, None, None, None, None, memory_format or "contiguous_format")
    _check_dtype(input)
    mean, var = _statistics(input)
    features = input._size[1]
    if _dense(input):
        save_mean, save_invstd = _saved(input, features if training else 0)
        _made_by_kernel(input, training)
    else:
        save_mean, save_invstd = _saved_of_strided(input, running_mean, running_var, weight, bias, training, eps)
    if training:
        _put_statistics(input, mean, var, eps, (save_mean, save_invstd), (running_mean, running_var), momentum)
    else:
        assert running_mean is not None
        assert running_var is not None
        mean, var = (converted(t._array, accumulated(t._dtype)) for t in (running_mean, running_var))
    store(output, quiet.run(_normalised, input, weight, bias, mean, var, eps))
    return output, save_mean, save_invstd


def batch_norm_cuda(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The same."""
    return batch_norm_cpu(*args)


def _check_dtype(input: Tensor) -> None:
    if not input._dtype.is_floating_point:
        raise not_implemented("batch_norm", input._dtype)


def _dense(input: Tensor) -> bool:
    """Contiguous, or channels_last."""
    return input._is_contiguous or is_channels_last(input._size, input._stride)


def _axes(input: Tensor) -> Size:
    return (0, *range(2, len(input._size)))


def _across(input: Tensor, array: Any) -> Any:
    """One number per channel, in a shape that broadcasts."""
    return array.reshape(1, -1, *(1 for _ in input._size[2:]))


def _statistics(input: Tensor) -> tuple[Any, Any]:
    values = converted(input._array, accumulated(input._dtype))
    mean = quiet.run(values.mean, _axes(input))
    centred = values - _across(input, mean)
    return mean, quiet.run((centred * centred).mean, _axes(input))


def _put_statistics(
    input: Tensor,
    mean: Any,
    var: Any,
    eps: float,
    saved: tuple[Tensor, Tensor],
    running: tuple[Optional, Optional],
    momentum: float,
) -> None:
    xp: Any = array_module(input._device.type)
    store(saved[0], mean)
    store(saved[1], 1 / xp.sqrt(var + eps))
    count = numel(input._size) // max(input._size[1], 1)
    unbiased = quiet.run(lambda: var * count / xp.float64(count - 1))
    for tensor, value in zip(running, (mean, unbiased), strict=True):
        if tensor is not None:
            tensor._array[...] = momentum * value + (1 - momentum) * tensor._array


def _normalised(input: Tensor, weight: Optional, bias: Optional, mean: Any, var: Any, eps: float) -> Any:
    xp: Any = array_module(input._device.type)
    within = accumulated(input._dtype)
    values = converted(input._array, within)
    scale = 1 / xp.sqrt(var + eps)
    if weight is not None:
        scale = scale * converted(weight._array, within)
    shift = -mean * scale
    if bias is not None:
        shift = shift + converted(bias._array, within)
    return (values * _across(input, scale) + _across(input, shift)).astype(within.numpy)


# -- tensors that PyTorch's kernels make on the way --------------------------------------------------------------------


def _empty(input: Tensor, size: Size) -> Tensor:
    return ops.empty_memory_format.call(size, input._dtype, "strided", input._device, None, None)


def _saved(input: Tensor, features: int) -> tuple[Tensor, Tensor]:
    return _empty(input, (features,)), _empty(input, (features,))


def _flat(input: Tensor) -> bool:
    """One element per channel, or channels last: a kernel of its own."""
    return math.prod(input._size[2:]) == 1 or suggested(input) == CHANNELS_LAST


def _made_by_kernel(input: Tensor, training: bool) -> None:
    features = input._size[1]
    if input._device.type != "cpu":
        return
    if training:
        _saved(input, features)
        if _flat(input):
            buffer = ops.zeros.call((1, features), input._dtype, "strided", input._device, None)
            ops.zero_.call(buffer)
    _saved(input, features)


def _saved_of_strided(
    input: Tensor,
    running_mean: Optional,
    running_var: Optional,
    weight: Optional,
    bias: Optional,
    training: bool,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Strides of another order are walked by an iterator over views with all dimensions."""
    features = input._size[1]
    if training:
        saved = ops.mean_dim.call(input, _axes(input), False, None), _empty(input, (features,))
        shown = [*saved, weight, bias]
    else:
        saved = _saved(input, 0)
        shown = [running_mean, None, weight, bias]
    for place, tensor in enumerate(shown):
        if place == 1 and not training and running_var is not None:
            tensor = _inverse_spread(running_var, eps)
        if tensor is not None:
            step = tensor._stride[0]
            shape = tuple(length if dim == 1 else 1 for dim, length in enumerate(input._size))
            ops.as_strided.call(tensor, shape, tuple(step if dim == 1 else 0 for dim in range(len(shape))), None)
    return saved


def _inverse_spread(running_var: Tensor, eps: float) -> Tensor:
    root = ops.sqrt.call(ops.add_Scalar.call(running_var, eps, 1))
    ones = ops.fill__Scalar.call(ops.empty_like.call(root, None, None, None, None, "preserve_format"), 1)
    return ops.div__Tensor.call(ones, root)


# -- backward ----------------------------------------------------------------------------------------------------------


def batch_norm_backward(
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
    """The gradients of input, weight and bias that are asked for."""
    memory_format = "contiguous_format" if suggested(input) != CHANNELS_LAST else CHANNELS_LAST
    of_input = ops.empty_like.call(input, None, None, None, None, memory_format) if output_mask[0] else None
    of_weight = _empty(input, (input._size[1],)) if output_mask[1] else None
    of_bias = _empty(input, (input._size[1],)) if output_mask[2] else None
    if not (_dense(input) and _dense(grad_out) and suggested(input) == suggested(grad_out)):
        ops.sum_dim_IntList.call(grad_out, _axes(input), False, None)
    else:
        if of_input is not None:
            of_input = ops.empty_like.call(input, None, None, None, None, memory_format)
        _made_by_backward(input, train)
    if train:
        assert save_mean is not None
        assert save_invstd is not None
        mean, invstd = save_mean._array, save_invstd._array
    else:
        assert running_mean is not None
        assert running_var is not None
        mean, invstd = running_mean._array, 1 / array_module(input._device.type).sqrt(running_var._array + eps)
    quiet.run(_put_gradients, grad_out, input, weight, mean, invstd, train, (of_input, of_weight, of_bias))
    return of_input, of_weight, of_bias


def _made_by_backward(input: Tensor, train: bool) -> None:
    if not _flat(input) or input._device.type != "cpu":
        return
    features = input._size[1]
    invstd = _empty(input, (0,))
    if not train:
        ops.resize_.call(invstd, (features,), None)
    ops.zeros.call((2, 1, features), input._dtype, "strided", input._device, None)


def _put_gradients(
    grad_out: Tensor,
    input: Tensor,
    weight: Optional,
    mean: Any,
    invstd: Any,
    train: bool,
    outputs: tuple[Optional, ...],
) -> None:
    within, axes = accumulated(input._dtype), _axes(input)
    grad, values = converted(grad_out._array, within), converted(input._array, within)
    normal = (values - _across(input, mean)) * _across(input, invstd)
    total, dot = grad.sum(axes), (grad * normal).sum(axes)
    of_input, of_weight, of_bias = outputs
    if of_input is not None:
        count = numel(input._size) // input._size[1]
        scale = invstd if weight is None else invstd * converted(weight._array, within)
        centred = grad - _across(input, total / count) - normal * _across(input, dot / count) if train else grad
        store(of_input, centred * _across(input, scale))
    if of_weight is not None:
        store(of_weight, dot)
    if of_bias is not None:
        store(of_bias, total)
