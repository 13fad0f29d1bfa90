"""``lgamma``, ``digamma``, ``polygamma``, ``mvlgamma``, ``igamma``, ``igammac`` (``aten/src/ATen/native/UnaryOps.cpp``,
``BinaryOps.cpp``), on the arrays of ``special_arrays.py``."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise,
    elementwise_float,
    float_type,
    no_instance,
    result_type,
)
from dispatchviz.core.native.special import special_arrays
from dispatchviz.core.native.special.special_functions import copied_to, in_doubles
from dispatchviz.core.tensor.dtype import DType, bool_, can_cast, default_dtype
from dispatchviz.core.tensor.tensor import Tensor


def lgamma_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def lgamma_out(self: Tensor, out: Tensor) -> None:
    """The logarithm of the absolute value of the gamma function; infinite at 0 and negative integers"""
    in_doubles(special_arrays.lgamma, "lgamma_vml_cpu", out, float_type(self._dtype), self)


def digamma_meta(op: Structured, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self)


def digamma_out(self: Tensor, out: Tensor) -> None:
    """The derivative of lgamma; infinite at 0, nan at negative integers"""
    dtype, xp = float_type(self._dtype), array_module(out._device.type)
    function = no_instance("digamma", dtype) if dtype.is_complex else partial(special_arrays.digamma, xp)
    compute(out, dtype, function, self)


# -- polygamma ---------------------------------------------------------------------------------------------------------


def polygamma_meta(op: Structured, n: int, self: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype. Raise RuntimeError for a negative n."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    elementwise_float(op, self)


def polygamma_out(n: int, self: Tensor, out: Tensor) -> None:
    """The n-th derivative of digamma, which is number 0"""
    if n == 0:
        return digamma_out(self, out)
    dtype = float_type(self._dtype)
    if n == 1 and not dtype.is_complex:
        return compute(out, dtype, partial(special_arrays.trigamma, array_module(out._device.type)), self)

    def derivative(xp: Any, values: Any) -> Any:
        return special_arrays.polygamma(xp, n, values)

    return in_doubles(derivative, "polygamma", out, dtype, self)


def polygamma_(self: Tensor, n: int) -> Tensor:
    """The in-place version of ``polygamma``."""
    return ops.polygamma_out.call(n, self, self)


# -- mvlgamma ----------------------------------------------------------------------------------------------------------


def mvlgamma(self: Tensor, p: int) -> Tensor:
    """The multivariate log-gamma function of dimension p: a sum of lgamma at self, self - 1/2, ...

    Raise RuntimeError for bool and for p below 1.
    """
    if self._dtype is bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    args = lowered(self, p, default_dtype() if not self._dtype.can_require_grad else self._dtype)
    total = ops.sum_dim_IntList.call(ops.lgamma_.call(args), (-1,), False, None)
    return ops.add__Scalar.call(total, p * (p - 1) * math.log(math.pi) / 4, 1)


def lowered(self: Tensor, p: int, dtype: DType) -> Tensor:
    """self - (p - 1) / 2, ..., self - 1/2, self along a new last dimension."""
    steps = ops.empty_memory_format.call((0,), dtype, "strided", self._device, False, None)
    steps = ops.arange_start_out.call(-p * 0.5 + 0.5, 0.5, 0.5, steps)
    return ops.add_Tensor.call(steps, ops.unsqueeze.call(self, -1), 1)


def mvlgamma_(self: Tensor, p: int) -> Tensor:
    """The in-place version of ``mvlgamma``."""
    return ops.mvlgamma_out.call(self, p, self)


def mvlgamma_out(self: Tensor, p: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``mvlgamma``."""
    result = ops.mvlgamma.call(self, p)
    if not can_cast(result._dtype, out._dtype):
        made, wanted = self._dtype.legacy, result._dtype.legacy  # PyTorch's message names the wrong two dtypes
        raise RuntimeError(f"mvlgamma: result type {made} can't be cast to the desired output type {wanted}")
    return copied_to(out, result)


# -- incomplete gamma functions ----------------------------------------------------------------------------------------


def igamma_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def igamma_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The regularized lower incomplete gamma function"""
    _incomplete(special_arrays.igamma, "igamma_cpu", self, other, out)


def igammac_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, self, other)


def igammac_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """The regularized upper incomplete gamma function"""
    _incomplete(special_arrays.igammac, "igammac_cpu", self, other, out)


def _incomplete(function: Any, kernel: str, self: Tensor, other: Tensor, out: Tensor) -> None:
    dtype = result_type(self, other)
    if not dtype.can_require_grad:
        no_instance(kernel, dtype)()
    in_doubles(function, kernel, out, dtype, self, other)
