"""``randint``, ``randint_like``, ``randperm`` (``TensorFactories.cpp``)."""

from __future__ import annotations

import math

import numpy

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.uniform_normal import generator_of
from dispatchviz.core.tensor.dtype import DType, int32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor

# -- randint -----------------------------------------------------------------------------------------------------------


def randint(
    high: int, size: Size, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None
) -> Tensor:
    """Integers from [0, high)."""
    return randint_low_generator(0, high, size, None, dtype, layout, device, pin_memory)


def randint_generator(
    high: int,
    size: Size,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Integers from [0, high), drawn from a generator."""
    return randint_low_generator(0, high, size, generator, dtype, layout, device, pin_memory)


def randint_low(
    low: int,
    high: int,
    size: Size,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Integers from [low, high)."""
    return randint_low_generator(low, high, size, None, dtype, layout, device, pin_memory)


def randint_low_generator(
    low: int,
    high: int,
    size: Size,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Integers from [low, high), drawn from a generator."""
    result = ops.empty_memory_format.call(size, dtype, layout, device, pin_memory, None)
    return ops.random__from.call(result, low, high, generator)


def randint_out(high: int, size: Size, out: Tensor) -> Tensor:
    """Write integers from [0, high) into ``out``."""
    return randint_out_low_generator_out(0, high, size, None, out)


def randint_out_generator_out(high: int, size: Size, generator: Generator | None, out: Tensor) -> Tensor:
    """Write integers from [0, high), drawn from a generator, into ``out``."""
    return randint_out_low_generator_out(0, high, size, generator, out)


def randint_out_low_out(low: int, high: int, size: Size, out: Tensor) -> Tensor:
    """Write integers from [low, high) into ``out``."""
    return randint_out_low_generator_out(low, high, size, None, out)


def randint_out_low_generator_out(low: int, high: int, size: Size, generator: Generator | None, out: Tensor) -> Tensor:
    """Write integers from [low, high), drawn from a generator, into ``out``."""
    return ops.random__from.call(ops.resize_.call(out, size, None), low, high, generator)


# -- randint_like ------------------------------------------------------------------------------------------------------


def randint_like(
    self: Tensor,
    high: int,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Integers from [0, high), in the shape of self."""
    options = (dtype, layout, device, pin_memory, memory_format)
    return randint_like_low_generator_dtype(self, 0, high, None, *options)


def randint_like_generator(
    self: Tensor,
    high: int,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Integers from [0, high), drawn from a generator, in the shape of self."""
    options = (dtype, layout, device, pin_memory, memory_format)
    return randint_like_low_generator_dtype(self, 0, high, generator, *options)


def randint_like_low_dtype(
    self: Tensor,
    low: int,
    high: int,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Integers from [low, high), in the shape of self."""
    options = (dtype, layout, device, pin_memory, memory_format)
    return randint_like_low_generator_dtype(self, low, high, None, *options)


def randint_like_low_generator_dtype(
    self: Tensor,
    low: int,
    high: int,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Integers from [low, high), drawn from a generator, in the shape of self."""
    result = ops.empty_like.call(self, dtype, layout, device, pin_memory, memory_format)
    return ops.random__from.call(result, low, high, generator)


def randint_like_Tensor(
    self: Tensor,
    high: Tensor,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Integers from [0, high), in the shape of self; ``high`` is a tensor."""
    return randint_like_Tensor_generator(self, high, None, dtype, layout, device, pin_memory, memory_format)


def randint_like_Tensor_generator(
    self: Tensor,
    high: Tensor,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
    memory_format: str | None,
) -> Tensor:
    """Integers from [0, high), drawn from a generator, in the shape of self. Raise RuntimeError unless ``high`` is
    0-dim and on the CPU.
    """
    if high._size or high._device.type != "cpu":
        raise RuntimeError("high must be a scalar tensor and on CPU")
    options = (dtype, layout, device, pin_memory, memory_format)
    return randint_like_low_generator_dtype(self, 0, int(ops.item.call(high).real), generator, *options)


# -- randperm ----------------------------------------------------------------------------------------------------------


def randperm(n: int, dtype: DType | None, layout: str | None, device: Device | None, pin_memory: bool | None) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    return randperm_generator(n, None, dtype, layout, device, pin_memory)


def randperm_generator(
    n: int,
    generator: Generator | None,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """The integers from 0 to n - 1 in random order, drawn from a generator."""
    result = ops.empty_memory_format.call((n,), dtype, layout, device, pin_memory, None)
    return ops.randperm_generator_out.call(n, generator, result)


def randperm_out(n: int, out: Tensor) -> Tensor:
    """Write the integers from 0 to n - 1 in random order into ``out``."""
    return ops.randperm_generator_out.call(n, None, out)


def randperm_out_generator_out(n: int, generator: Generator | None, out: Tensor) -> Tensor:
    """Write a random permutation into ``out``: each position gets one of the numbers that are left.

    Raise RuntimeError if the dtype cannot hold n.
    """
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got{n}")
    ops.scalar_tensor.call(n, out._dtype, "strided", out._device, None)  # PyTorch checks that n fits the dtype
    ops.resize_.call(out, (n,), None)
    if out._device.type == "cpu":
        ops.resize_.call(out, (n,), None)
    if out._dtype.is_complex or out._dtype.name == "bool":
        raise not_implemented("randperm", out._dtype)
    if n and out._device.type == "cuda":
        _make_keys(n, generator, out)
    order = list(range(n))
    left = numpy.arange(n, 1, -1, dtype=numpy.uint64)
    steps = (generator_of(out, generator).engine.random32(max(n - 1, 0)) % left).tolist()
    for i, step in enumerate(steps):
        order[i], order[i + step] = order[i + step], order[i]
    store(out, array_module(out._device.type).asarray(numpy.array(order, numpy.int64)))
    return out


def _make_keys(n: int, generator: Generator | None, out: Tensor) -> None:
    """Create the random keys by which CUDA sorts 0 to n - 1, with enough bits to make equal keys unlikely
    (``cuda/Randperm.cu``).

    NB: here the order is computed as on the CPU, so the keys do not advance the generator.
    """
    ops.arange.call(n, out._dtype, "strided", out._device, None)
    bits = math.ceil(math.log2(n - (6 * n * n + 1) / (math.log(0.9) * 12)))
    dtype, most = (int32, (1 << 31) - 1) if bits <= 32 else (int64, (1 << 63) - 1)
    keys = ops.empty_memory_format.call(out._size, dtype, None, out._device, None, None)
    source = generator_of(out, generator)
    state = source.state_bytes()
    ops.random__from.call(keys, -most - 1, most, generator)
    source.restore(state)
    ops.empty_like.call(keys, None, None, None, None, None)
