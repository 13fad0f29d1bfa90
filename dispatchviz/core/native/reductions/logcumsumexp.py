"""``logcumsumexp``: logarithm of the cumulative sum of exponentials (``aten/src/ATen/native/ReduceOps.cpp``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.linalg.lapack import module_of
from dispatchviz.core.tensor.dtype import bfloat16, float16, float32, float64
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel


def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """The logarithm of the cumulative sum of exponentials."""
    return ops._logcumsumexp.call(self, dim)


def logcumsumexp_out(self: Tensor, dim: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``logcumsumexp``. Raise RuntimeError if ``out`` has another dtype."""
    if out._dtype is not self._dtype:
        raise RuntimeError(f"expected scalar_type {self._dtype.legacy} but found {out._dtype.legacy}")
    return ops._logcumsumexp_out.call(self, dim, out)


def _logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """The logarithm of the cumulative sum of exponentials, in a new tensor."""
    result = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    return _logcumsumexp_out(self, dim, result)


def _logcumsumexp_out(self: Tensor, dim: int, out: Tensor) -> Tensor:
    """Add up term by term in a wider dtype, with the larger term factored out of each sum."""
    dim = wrap_dim(dim, len(self._size))
    if out._size != self._size:
        resize_output(out, self._size, contiguous_strides(self._size))
    if not self._size:
        return ops.fill__Tensor.call(out, self)
    if not numel(self._size):
        return ops.zero_.call(out)
    if not self._dtype.can_require_grad:
        raise not_implemented("logcumsumexp_out_cpu", self._dtype)
    xp: Any = array_module(self._device.type)
    add = _log_add_exp if self._dtype.is_complex else xp.logaddexp
    rows = xp.moveaxis(self._array.astype(_WIDER.get(self._dtype, self._dtype).numpy), dim, 0)
    sums = [xp.full_like(rows[0], -math.inf)]
    for row in rows:
        sums.append(quiet.run(add, row, sums[-1]))
    store(out, xp.moveaxis(xp.stack(sums[1:]), 0, dim))
    return out


_WIDER = {float16: float32, bfloat16: float32, float32: float64}
"""The dtype in which a CPU loop adds up (``acc_type``)."""


def _log_add_exp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) of complex numbers, with the larger real part factored out; nan propagates."""
    xp: Any = module_of(x)
    unknown = xp.isnan(x) | xp.isnan(y)
    swapped = x.real < y.real
    maximum, minimum = xp.where(swapped, y, x), xp.where(swapped, x, y)
    apart = maximum + xp.log1p(xp.exp(minimum - maximum))
    equal = xp.where(maximum.real < 0, minimum, xp.log(xp.exp(minimum) + xp.exp(maximum)))
    result = xp.where(xp.isinf(minimum.real) & (minimum.real == maximum.real), equal, apart)
    return xp.where(unknown, complex(math.nan, math.nan), result)
