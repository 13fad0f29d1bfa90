"""``multinomial``: sampling categories by weight, with or without replacement (``Distributions.cpp``,
``cpu/MultinomialKernel.cpp``)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.device.array_library import array_module, on_host
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, store
from dispatchviz.core.native.random import distributions_helper
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.native.random.uniform_normal import generator_of
from dispatchviz.core.tensor.dtype import DType, int64
from dispatchviz.core.tensor.tensor import Tensor, numel

_MANY = 1 << 24
"""The largest number of categories that float32 can count."""
_INVALID = "probability tensor contains either `inf`, `nan` or element < 0"
_NO_WEIGHT = "invalid multinomial distribution (sum of probabilities <= 0)"
_WRONG_ENTRY = "invalid multinomial distribution (encountering probability entry {})"


def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Generator | None) -> Tensor:
    """Column indices, sampled for each row by weight."""
    result = ops.empty_memory_format.call((0,), int64, "strided", self._device, None, None)
    return multinomial_out(self, num_samples, replacement, generator, result)


def multinomial_out(
    self: Tensor, num_samples: int, replacement: bool, generator: Generator | None, out: Tensor
) -> Tensor:
    """Write column indices, sampled for each row by weight, into ``out``."""
    _check(self, num_samples, replacement, out)
    ops.resize_.call(out, (*self._size[:-1], num_samples), None)
    if not numel(out._size):
        return out
    if replacement and num_samples > 1:
        return _with_replacement(self, num_samples, generator, out)
    _check_weights(self)
    return _without_replacement(self, num_samples, generator, out)


def _check(self: Tensor, num_samples: int, replacement: bool, out: Tensor) -> None:
    if out._device != self._device:
        raise RuntimeError("multinomial arguments must have the same device")
    if not 0 < len(self._size) <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not self._dtype.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {self._dtype.legacy}")
    if out._dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out._dtype.legacy}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > self._size[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if self._size[-1] > _MANY:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _check_weights(self: Tensor) -> None:
    least, most = ops.aminmax.call(self, None, False)
    not_negative = ops.ge_Scalar.call(least, 0)  # PyTorch's compiler evaluates the last argument first
    valid = ops.bitwise_and_Tensor.call(ops.lt_Scalar.call(most, math.inf), not_negative)
    ops._assert_async_msg.call(valid, _INVALID)
    if len(self._size) == 1:
        no_weight = ops.eq_Scalar.call(ops.sum.call(self, None), 0)
    else:
        no_weight = ops.any.call(ops.eq_Scalar.call(ops.sum_dim_IntList.call(self, (1,), False, None), 0))
    ops._assert_async_msg.call(ops.bitwise_not.call(no_weight), _NO_WEIGHT)


def _rows(self: Tensor) -> Any:
    """The weights as a NumPy array of two dimensions."""
    weights = on_host(self._array)
    return weights.reshape(-1, weights.shape[-1])


def _without_replacement(self: Tensor, num_samples: int, generator: Generator | None, out: Tensor) -> Tensor:
    """Sample without replacement: the largest of p / q, with exponentially distributed q, is a draw by weight."""
    q = ops.empty_like.call(self, None, None, None, None, None)
    ops.exponential_.call(q, 1, generator)
    ops.div_out.call(self, q, q)
    if num_samples == 1:
        return ops.argmax_out.call(q, -1, True, out)
    values = ops.empty_memory_format.call(out._size, self._dtype, "strided", self._device, None, None)
    ops.topk_values.call(q, num_samples, -1, True, True, values, out)
    return out


def _with_replacement(self: Tensor, num_samples: int, generator: Generator | None, out: Tensor) -> Tensor:
    """Sample with replacement: search each uniform sample in the cumulative sums of its row."""
    sums = accumulated(self._dtype)
    ops.empty_memory_format.call(self._size[-1:], sums, "strided", self._device, None, None)
    source = generator_of(self, generator)
    samples = [
        numpy.searchsorted(_cumulative_sums(row, sums), distributions_helper.uniform(source, num_samples, True))
        for row in _rows(self)
    ]
    store(out, array_module(out._device.type).asarray(numpy.stack(samples).reshape(out._size)))
    return out


def _cumulative_sums(row: Any, dtype: DType) -> Any:
    """The normalized cumulative sums, which end at 1; added up in the weights' dtype, compared in float64."""
    row = row.astype(dtype.numpy)
    _check_row(row)
    sums = numpy.add.accumulate(row)
    if not sums[-1] > 0:
        raise RuntimeError(_NO_WEIGHT)
    sums = sums / sums[-1]
    sums[-1] = 1
    return sums.astype(numpy.float64)


def _check_row(row: Any) -> None:
    """Raise RuntimeError for the first invalid weight."""
    wrong = row[~(numpy.isfinite(row) & (row >= 0))]
    if len(wrong):
        raise RuntimeError(_WRONG_ENTRY.format("= infinity or NaN" if wrong[0] >= 0 else "< 0"))
