"""``uniform_``, ``normal_``, ``exponential_``, ``cauchy_``, ``log_normal_``
(``aten/src/ATen/native/Distributions.cpp``, ``DistributionTemplates.h``).

Numbers are drawn one after the other and written in the order of memory. Integers are in ``random_from_to.py``.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import check_no_internal_overlap
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import element
from dispatchviz.core.native.iterator.strides import memory_order
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.native.random import distributions_helper
from dispatchviz.core.native.random.generator import Generator, default_generators
from dispatchviz.core.tensor.dtype import REDUCED, DType, c_name, type_meta_name
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

MAXIMUM = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def generator_of(self: Tensor, generator: Generator | None) -> Generator:
    """The given generator, or the default one of the device.

    Raise RuntimeError if it belongs to another type of device.
    """
    if generator is None:
        return default_generators[self._device.type]
    if generator.device.type != self._device.type:
        raise RuntimeError(
            f"Expected a '{self._device.type}' device type for generator but found '{generator.device.type}'"
        )
    return generator


def fill(self: Tensor, numbers: Any) -> Tensor:
    """Write a flat NumPy array into a tensor in the order of its memory (``cpu_serial_kernel``)."""
    store(self, array_module(self._device.type).asarray(in_memory_order(numbers, self._size, [self._stride])))
    return self


def in_memory_order(numbers: Any, size: Size, strides: list[Size]) -> Any:
    """Flat numbers as an array of a shape, in the order in which TensorIterator visits memory with the given
    strides.
    """
    slowest_first = memory_order(size, strides)[::-1]
    there = numbers.reshape([size[dim] for dim in slowest_first])
    return there.transpose(sorted(range(len(size)), key=slowest_first.__getitem__))


# -- uniform -----------------------------------------------------------------------------------------------------------


def uniform_(self: Tensor, from_: float = 0, to: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from [from, to); complex tensors are filled through ``view_as_real``."""
    if self._dtype.is_complex:
        if numel(self._size):
            uniform_(ops.view_as_real.call(self), from_, to, generator)
        return self
    if not self._dtype.can_require_grad:
        raise not_implemented("check_uniform_bounds", self._dtype)
    _check_bounds(self, from_, to)
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    wide = self._dtype.name == "float64"
    numbers = distributions_helper.uniform_between(generator_of(self, generator), numel(self._size), wide, from_, to)
    if not wide:  # half and bfloat16 may round up to the upper bound
        low, high = element(from_, self._dtype), element(to, self._dtype)
        numbers = numbers.astype(self._dtype.numpy)
        numbers[numbers == high] = low
    return fill(self, numbers)


def uniform_meta_(self: Tensor, from_: float = 0, to: float = 1, generator: Generator | None = None) -> Tensor:
    """No-op: meta tensors have no data."""
    return self


def _check_bounds(self: Tensor, low: float, high: float) -> None:
    maximum = MAXIMUM.get(self._dtype.name, math.inf)
    for name, bound in (("from", low), ("to", high)):
        if not abs(bound) <= maximum:
            raise RuntimeError(f"{name} is out of bounds for {c_name(self._dtype)}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > maximum:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{self._dtype.legacy}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


# -- normal ------------------------------------------------------------------------------------------------------------


def normal_(self: Tensor, mean: float = 0, std: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers.

    Complex tensors are filled through ``view_as_real``, with half the variance in each part.
    """
    check_std(std)
    if not numel(self._size):
        return self
    if self._dtype.is_complex:
        _fill_normal(ops.view_as_real.call(self), mean, std / math.sqrt(2), generator)
    else:
        _fill_normal(self, mean, std, generator)
    return self


def _fill_normal(self: Tensor, mean: float, std: float, generator: Generator | None) -> None:
    """Fill with normal numbers.

    Fewer than 16 numbers, or elements that are not contiguous, are sampled one at a time in float64.
    """
    if not self._dtype.can_require_grad:
        raise not_implemented("normal_kernel_cpu", self._dtype)
    source, count = generator_of(self, generator), numel(self._size)
    if count >= 16 and self._is_contiguous:
        wide, rest = self._dtype.name == "float64", self._dtype not in REDUCED
        fill(self, distributions_helper.many_normal(source, count, wide, mean, std, rest))
    else:
        check_no_internal_overlap(self)
        fill(self, distributions_helper.normal(source, count, mean, std))


def normal_meta_(self: Tensor, mean: float = 0, std: float = 1, generator: Generator | None = None) -> Tensor:
    """No-op: meta tensors have no data."""
    check_std(std)
    return self


def check_std(std: float) -> None:
    """Raise RuntimeError if the standard deviation is negative or nan."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


# -- exponential, Cauchy, log-normal -----------------------------------------------------------------------------------


def exponential_(self: Tensor, lambd: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed numbers; the rate must be positive."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    if not self._dtype.is_floating_point:
        raise _not_continuous("Exponential", self._dtype.legacy)
    return fill(self, distributions_helper.exponential(generator_of(self, generator), numel(self._size), lambd))


def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of the Cauchy distribution."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if not self._dtype.is_floating_point:
        raise _not_continuous("Cauchy", type_meta_name(self._dtype))
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    return fill(self, distributions_helper.cauchy(generator_of(self, generator), numel(self._size), median, sigma))


def log_normal_(self: Tensor, mean: float = 1, std: float = 2, generator: Generator | None = None) -> Tensor:
    """Fill with numbers whose logarithms are normally distributed."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if not numel(self._size):
        return self
    check_no_internal_overlap(self)
    if not self._dtype.is_floating_point:
        raise not_implemented("log_normal_cpu", self._dtype)
    return fill(self, distributions_helper.log_normal(generator_of(self, generator), numel(self._size), mean, std))


def _not_continuous(name: str, dtype: str | DType) -> RuntimeError:
    return RuntimeError(
        f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
        f"specified {dtype}"
    )
