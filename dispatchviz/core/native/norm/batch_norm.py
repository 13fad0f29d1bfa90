"""``batch_norm``, ``_batch_norm_impl_index``, ``instance_norm``, composed of other operators
(``aten/src/ATen/native/Normalization.cpp``).

NB: in PyTorch, a GPU passes most calls to cuDNN's operators. Here the native ones run there too.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import call_of_node
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.tensor_iterator import accumulated
from dispatchviz.core.tensor.dtype import float32, float64, uint8
from dispatchviz.core.tensor.tensor import Tensor, numel

Optional = Tensor | None


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
    """Normalize by the native kernel, whose index is 0. An input without elements is copied, scaled and shifted."""
    if not numel(input._size):
        return _empty_batch_norm(input, weight, bias)
    features = input._size[1]
    given = (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias))
    for name, tensor in given:
        if tensor is not None and numel(tensor._size) != features:
            raise RuntimeError(f"{name} should contain {features} elements not {numel(tensor._size)}")
        if tensor is None and name.startswith("running") and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    reserve = ops.empty_memory_format.call((0,), uint8, "strided", input._device, None, None)
    found = call_of_node(ops.native_batch_norm, input, weight, bias, running_mean, running_var, training, momentum, eps)
    return (*found, reserve, 0)


def _empty_batch_norm(input: Tensor, weight: Optional, bias: Optional) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    device = input._device
    reserve = ops.empty_memory_format.call((0,), uint8, "strided", device, None, None)
    kept = float64 if input._dtype is float32 and device.type == "cpu" else accumulated(input._dtype)
    features = (*input._size, 0, 0)[1]  # PyTorch reads past the sizes of a vector
    saved = [ops.empty_memory_format.call((features,), kept, "strided", device, None, None) for _ in range(2)]
    out = ops.clone.call(input, None)
    if weight is not None:
        out = ops.mul_Tensor.call(out, ops.select_int.call(weight, 0, 0))
    if bias is not None:
        out = ops.add_Tensor.call(out, ops.select_int.call(bias, 0, 0), 1)
    return out, saved[0], saved[1], reserve, 0


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
    """Batch normalization of one example with the channels of all examples."""
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
