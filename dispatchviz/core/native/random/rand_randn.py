"""``rand``, ``randn``, ``rand_like``, ``randn_like``: an empty tensor, then ``uniform_`` or ``normal_``
(``TensorFactories.cpp``)."""

from __future__ import annotations

from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor


def rand(size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None) -> Tensor:
    """Uniform samples from [0, 1)."""
    return rand_generator(size, None, dtype, layout, device, pin_memory)


def rand_generator(
    size: Size,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Uniform samples from [0, 1), drawn from a generator."""
    result = ops.empty_memory_format.call(size, dtype, layout, device, pin_memory, None)
    return ops.uniform_.call(result, 0, 1, generator)


def rand_out(size: Size, out: Tensor) -> Tensor:
    """Write uniform samples from [0, 1) into ``out``."""
    return rand_generator_out(size, None, out)


def rand_generator_out(size: Size, generator: Generator | None, out: Tensor) -> Tensor:
    """Write uniform samples from [0, 1), drawn from a generator, into ``out``."""
    return ops.uniform_.call(ops.resize_.call(out, size, None), 0, 1, generator)


def rand_like(
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Uniform samples from [0, 1), in the shape of self."""
    return rand_like_generator(self, None, dtype, layout, device, pin_memory, memory_format)


def rand_like_generator(
    self: Tensor,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Uniform samples from [0, 1), drawn from a generator, in the shape of self."""
    result = ops.empty_like.call(self, dtype, layout, device, pin_memory, memory_format)
    return ops.uniform_.call(result, 0, 1, generator)


def randn(
    size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """Standard normal samples."""
    return randn_generator(size, None, dtype, layout, device, pin_memory)


def randn_generator(
    size: Size,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Standard normal samples, drawn from a generator."""
    result = ops.empty_memory_format.call(size, dtype, layout, device, pin_memory, None)
    return ops.normal_.call(result, 0, 1, generator)


def randn_out(size: Size, out: Tensor) -> Tensor:
    """Write standard normal samples into ``out``."""
    return randn_generator_out(size, None, out)


def randn_generator_out(size: Size, generator: Generator | None, out: Tensor) -> Tensor:
    """Write standard normal samples, drawn from a generator, into ``out``."""
    return ops.normal_.call(ops.resize_.call(out, size, None), 0, 1, generator)


def randn_like(
    self: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Standard normal samples, in the shape of self."""
    return randn_like_generator(self, None, dtype, layout, device, pin_memory, memory_format)


def randn_like_generator(
    self: Tensor,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Standard normal samples, drawn from a generator, in the shape of self."""
    result = ops.empty_like.call(self, dtype, layout, device, pin_memory, memory_format)
    return ops.normal_.call(result, 0, 1, generator)
