"""``normal`` with a separate mean and standard deviation for each element (``DistributionTemplates.h``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import broadcast_sizes, resize_output
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.uniform_normal import check_std, normal_
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel


def normal_float_float(
    mean: float,
    std: float,
    size: Size,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """A new tensor of normal numbers with one mean and standard deviation."""
    result = ops.empty_memory_format.call(size, dtype, layout, device, pin_memory, None)
    return ops.normal_.call(result, mean, std, generator)


def normal_out_float_float_out(mean: float, std: float, size: Size, generator: Generator | None, out: Tensor) -> Tensor:
    """Write normal numbers with one mean and standard deviation into ``out``."""
    return ops.normal_.call(ops.resize_.call(out, size, None), mean, std, generator)


def normal_Tensor_float(mean: Tensor, std: float, generator: Generator | None) -> Tensor:
    """Normal numbers with a separate mean for each element."""
    check_std(std)
    return normal_out_Tensor_float_out(mean, std, generator, _like(mean))


def normal_float_Tensor(mean: float, std: Tensor, generator: Generator | None) -> Tensor:
    """Normal numbers with a separate standard deviation for each element."""
    _check_stds(std)
    return normal_out_float_Tensor_out(mean, std, generator, _like(std))


def normal_Tensor_Tensor(mean: Tensor, std: Tensor, generator: Generator | None) -> Tensor:
    """Normal numbers with a separate mean and standard deviation for each element; both are broadcast."""
    _check_stds(std)
    size = broadcast_sizes(mean._size, std._size)
    options = (mean._dtype, "strided", mean._device, None)
    result = ops.empty_memory_format.call(size, *options, "contiguous_format")
    return normal_out_Tensor_Tensor_out(mean, std, generator, result)


def normal_out_Tensor_float_out(mean: Tensor, std: float, generator: Generator | None, out: Tensor) -> Tensor:
    """Write normal numbers with a separate mean for each element into ``out``."""
    check_std(std)
    size = broadcast_sizes(mean._size, _like(out)._size)
    _resize_and_fill(out, size, std, generator)
    return ops.add__Tensor.call(out, mean, 1)


def normal_out_float_Tensor_out(mean: float, std: Tensor, generator: Generator | None, out: Tensor) -> Tensor:
    """Write normal numbers with a separate standard deviation for each element into ``out``."""
    _check_stds(std)
    means = ops.full.call((), mean, out._dtype, "strided", out._device, None)
    _resize_and_fill(out, std._size, 1, generator)
    return ops.add__Tensor.call(ops.mul__Tensor.call(out, std), means, 1)


def normal_out_Tensor_Tensor_out(mean: Tensor, std: Tensor, generator: Generator | None, out: Tensor) -> Tensor:
    """Write normal numbers with a separate mean and standard deviation for each element into ``out``."""
    _check_stds(std)
    size = broadcast_sizes(mean._size, std._size)
    _resize_and_fill(out, size, 1, generator)
    return ops.add__Tensor.call(ops.mul__Tensor.call(out, std), mean, 1)


def _like(tensor: Tensor) -> Tensor:
    return ops.empty_like.call(tensor, None, None, None, None, "contiguous_format")


def _resize_and_fill(out: Tensor, size: Size, std: float, generator: Generator | None) -> None:
    if out._size != size:
        resize_output(out, size, contiguous_strides(size))
    if out._device.type != "meta":
        normal_(out, 0, std, generator)


def _check_stds(std: Tensor) -> None:
    """Raise RuntimeError if a standard deviation is negative or they are complex."""
    if std._dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if not numel(std._size) or std._device.type == "meta":
        return
    if not ops.item.call(ops.ge_Scalar.call(ops.min.call(std), 0)):
        raise RuntimeError("normal expects all elements of std >= 0.0")
