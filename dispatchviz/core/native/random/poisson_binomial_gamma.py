"""``poisson``, ``binomial``, ``_standard_gamma`` (``aten/src/ATen/native/Distributions.cpp``): each element is sampled
with its own parameters, in the order of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.call.structured import broadcast_sizes, resize_in_order
from dispatchviz.core.device.array_library import array_module, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import common_device, not_implemented, store
from dispatchviz.core.native.random import rejection_sampling
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.rejection_sampling import Rounding
from dispatchviz.core.native.random.uniform_normal import generator_of, in_memory_order
from dispatchviz.core.tensor.dtype import float32, float64
from dispatchviz.core.tensor.tensor import Tensor, numel


def _s_poisson(self: Tensor, generator: Generator | None) -> Tensor:
    """Poisson samples; self holds the rates. Raise RuntimeError for a negative rate."""
    source, result = generator_of(self, generator), _zeros_like(self)
    return _checked_samples("poisson_cpu", result, lambda rate: rejection_sampling.poisson(rate, source), self)


def _s_binomial(count: Tensor, prob: Tensor, generator: Generator | None) -> Tensor:
    """Binomial samples: the number of successes in ``count`` trials."""
    source, result, rounded = generator_of(count, generator), _zeros_like(count), _rounding(count)
    common_device((count, prob))
    return _checked_samples(
        "binomial_cpu", result, lambda tries, p: rejection_sampling.binomial(tries, p, source, rounded), count, prob
    )


def _s_gamma(self: Tensor, generator: Generator | None) -> Tensor:
    """Gamma samples; self holds the concentrations. No result is 0."""
    source, result, rounded = generator_of(self, generator), _zeros_like(self), _rounding(self)
    least = float(numpy.finfo(rounded_type(self)).tiny)
    return _checked_samples(
        "gamma_cpu", result, lambda alpha: max(least, rounded(rejection_sampling.gamma(alpha, source, rounded))), self
    )


def rounded_type(self: Tensor) -> Any:
    """NumPy's dtype of a float32 or float64 tensor."""
    return numpy.float64 if self._dtype is float64 else numpy.float32


def _rounding(self: Tensor) -> Rounding:
    return float if self._dtype is float64 else rejection_sampling.single


def _zeros_like(self: Tensor) -> Tensor:
    return ops.zeros.call(self._size, self._dtype, "strided", self._device, None)


def _checked_samples(kernel: str, result: Tensor, sampler: Callable[..., float], *parameters: Tensor) -> Tensor:
    """The filled result.

    Raise NotImplementedError for dtypes other than float32 and float64, RuntimeError for two dtypes.
    """
    for parameter in parameters:
        if parameter._dtype is not result._dtype:
            raise RuntimeError(f"Found dtype {parameter._dtype.legacy} but expected {result._dtype.legacy}")
    if result._dtype not in (float32, float64):
        raise not_implemented(kernel, result._dtype)
    return fill_samples(result, sampler, *parameters)


def fill_samples(result: Tensor, sampler: Callable[..., float], *parameters: Tensor) -> Tensor:
    """Resize ``result`` to the common size and fill it with one sample for each element of the parameters."""
    if result._array is None:
        return result
    size = result._size
    for parameter in parameters:
        size = broadcast_sizes(size, parameter._size)
    resize_in_order(result, size)
    expanded = [numpy.broadcast_to(on_host(parameter._array), size) for parameter in parameters]
    strides = [result._stride, *(_strides(parameter, result) for parameter in parameters)]
    indices = numpy.argsort(in_memory_order(numpy.arange(numel(size)), size, strides).reshape(-1))
    found = numpy.array([sampler(*(float(array.reshape(-1)[at]) for array in expanded)) for at in indices])
    store(result, array_module(result._device.type).asarray(in_memory_order(found, size, strides)))
    return result


def _strides(tensor: Tensor, wide: Tensor) -> tuple[int, ...]:
    """The strides of a tensor expanded to another one."""
    missing = len(wide._size) - len(tensor._size)
    own = (0 if length == 1 else stride for length, stride in zip(tensor._size, tensor._stride, strict=True))
    return (*(0 for _ in range(missing)), *own)
