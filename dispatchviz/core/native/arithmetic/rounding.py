"""``floor``, ``ceil``, ``trunc``, ``frac``, ``round`` (``aten/src/ATen/native/UnaryOps.cpp``). Integers are copied."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, compute, elementwise_same, no_instance
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Tensor


def floor_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self. Raise NotImplementedError for complex."""
    if self._dtype.is_complex:
        raise NotImplementedError("floor is not supported for complex inputs")
    elementwise_same(op, self)


def ceil_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self. Raise NotImplementedError for complex."""
    if self._dtype.is_complex:
        raise NotImplementedError("ceil is not supported for complex inputs")
    elementwise_same(op, self)


def trunc_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self. Raise NotImplementedError for complex."""
    if self._dtype.is_complex:
        raise NotImplementedError("trunc is not supported for complex inputs")
    elementwise_same(op, self)


def frac_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self."""
    elementwise_same(op, self)


def round_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self."""
    elementwise_same(op, self)


def floor_out(self: Tensor, out: Tensor) -> None:
    """The largest integer that is not above self"""
    _rounded("floor", "floor_vml_cpu", self, out)


def ceil_out(self: Tensor, out: Tensor) -> None:
    """The smallest integer that is not below self"""
    _rounded("ceil", "ceil_vml_cpu", self, out)


def trunc_out(self: Tensor, out: Tensor) -> None:
    """self rounded towards zero"""
    _rounded("trunc", "trunc_vml_cpu", self, out)


def frac_out(self: Tensor, out: Tensor) -> None:
    """The part of self that ``trunc`` removes, with the sign of self"""
    dtype, trunc = self._dtype, array_module(out._device.type).trunc
    known = dtype.is_floating_point
    compute(out, dtype, (lambda values: values - trunc(values)) if known else no_instance("frac_cpu", dtype), self)


def round_out(self: Tensor, out: Tensor) -> None:
    """The nearest integer; halves are rounded to the even one"""
    _rounded("rint", "round_vml_cpu", self, out)


def round_decimals_meta(op: Structured, self: Tensor, decimals: int) -> None:
    """The dtype of self."""
    elementwise_same(op, self)


def round_decimals_out(self: Tensor, decimals: int, out: Tensor) -> None:
    """self rounded to ``decimals`` digits after the decimal point, or before it if negative"""
    if not self._dtype.is_floating_point:
        kernel = "round_cpu" if decimals else "round_vml_cpu"
        return compute(out, self._dtype, no_instance(kernel, self._dtype), self)
    if decimals == 0:
        return round_out(self, out)
    rint = array_module(out._device.type).rint
    within = accumulated(self._dtype).numpy
    ten = self._dtype.numpy.type(10 ** (decimals if decimals > 0 else -decimals))

    def rounded(values: Any) -> Any:
        scaled = (values / ten if decimals < 0 else values * ten).astype(within)
        return rint(scaled) * ten.astype(within) if decimals < 0 else rint(scaled) / ten.astype(within)

    return compute(out, self._dtype, rounded, self, narrow=True)


def _rounded(function: str, kernel: str, self: Tensor, out: Tensor) -> None:
    """Round an array; integers are copied."""
    dtype = self._dtype
    if not dtype.can_require_grad and dtype is not bool_:
        ops.copy_.call(out, self, False)
    elif dtype.is_floating_point:
        compute(out, dtype, getattr(array_module(out._device.type), function), self)
    else:
        compute(out, dtype, no_instance(kernel, dtype), self)
