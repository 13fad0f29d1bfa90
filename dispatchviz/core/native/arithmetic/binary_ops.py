"""Binary arithmetic: ``add``, ``sub``, ``mul``, ``div``, ``floor_divide``, ``xlogy``: meta functions and kernels
(``aten/src/ATen/native/BinaryOps.cpp``).

One kernel body serves every device: the output's device decides the array library. ``NAME_meta`` belongs to the
structured family NAME. All other functions have the kernel names of native_functions.yaml. Functions of one tensor are
in ``unary_ops.py``, powers in ``power.py``, comparisons in ``comparison.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.fma import multiply_add
from dispatchviz.core.native.iterator.alike import AlikeLoop
from dispatchviz.core.native.iterator.cpu_loops import compute_vectorized
from dispatchviz.core.native.iterator.scalar import Scalar, element
from dispatchviz.core.native.iterator.scalar import wrapped_scalar_tensor as wrapped_scalar_tensor
from dispatchviz.core.native.iterator.tensor_iterator import (
    binary_loop,
    cast_operands,
    check_can_cast,
    compute,
    elementwise,
    elementwise_binary,
    elementwise_float,
    float_type,
    keep_number,
    loop,
    loop_with_number,
    new_output,
    no_instance,
    out_elementwise,
    result_type,
)
from dispatchviz.core.tensor.dtype import REDUCED, DType, bool_
from dispatchviz.core.tensor.tensor import Tensor

# -- add, sub ----------------------------------------------------------------------------------------------------------


def add_Tensor_meta(op: Structured, self: Tensor, other: Tensor, alpha: Scalar) -> None:
    """The broadcast shape and common dtype, which ``alpha`` must fit."""
    elementwise_binary(op, self, other)
    if type(alpha) is not int:
        _check_alpha(result_type(self, other), alpha)


def sub_Tensor_meta(op: Structured, self: Tensor, other: Tensor, alpha: Scalar) -> None:
    """The broadcast shape and common dtype. Raise RuntimeError for bool."""
    _check_sub(self, other)
    elementwise_binary(op, self, other)
    _check_alpha(result_type(self, other), alpha)


def ufunc_add(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> None:
    """self + alpha * other"""
    if alpha == 1:
        binary_loop(numpy.add, out, self, other)
    else:
        _add_scaled(self, other, alpha, out)


def sub_out(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> None:
    """self - alpha * other"""
    if alpha == 1:
        binary_loop(numpy.subtract, out, self, other)
    else:
        _add_scaled(self, other, -alpha, out)


add_alike = AlikeLoop("add_Tensor", "ufunc_add_CPU", ufunc_add, numpy.add)
sub_alike = AlikeLoop("sub_Tensor", "sub_out", sub_out, numpy.subtract)
"""The loops of ``add`` and ``sub`` with ``alpha=1`` of two operands that are alike."""


def _add_scaled(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> None:
    dtype = result_type(self, other)
    factor = element(alpha, dtype)
    compute_vectorized(out, dtype, lambda a, b: multiply_add(b, b.dtype.type(factor), a), self, other)


def add(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """Wrap the number and call the Tensor overload."""
    return ops.add_Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def add_(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """The in-place version of ``add``."""
    return ops.add__Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def sub(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """Wrap the number and call the Tensor overload."""
    return ops.sub_Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def sub_(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """The in-place version of ``sub``."""
    return ops.sub__Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def rsub_Tensor(self: Tensor, other: Tensor, alpha: Scalar = 1) -> Tensor:
    """other - alpha * self"""
    return ops.sub_Tensor.call(other, self, alpha)


def rsub_Scalar(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """number - alpha * self. It calls ``sub.Tensor`` directly, not ``rsub.Tensor``."""
    return ops.sub_Tensor.call(wrapped_scalar_tensor(other), self, alpha)


def _check_alpha(dtype: DType, alpha: Scalar) -> None:
    """Raise RuntimeError if ``alpha`` does not fit the result: True requires bool, a float requires a floating dtype
    (``alpha_check``).
    """
    if isinstance(alpha, bool) and dtype is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not dtype.can_require_grad:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _check_sub(self: Tensor, other: Tensor) -> None:
    if self._dtype is bool_ and other._dtype is bool_:
        raise NotImplementedError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if self._dtype is bool_ or other._dtype is bool_:
        raise NotImplementedError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


# -- mul, div ----------------------------------------------------------------------------------------------------------


def mul_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """The broadcast shape and common dtype of the operands."""
    elementwise_binary(op, self, other)
    keep_number(op, other)


def div_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """True division: the result of integers has the default dtype."""
    elementwise_float(op, self, other)
    keep_number(op, other)


def div_Tensor_mode_meta(op: Structured, self: Tensor, other: Tensor, rounding_mode: str | None) -> None:
    """The broadcast shape and common dtype; true division (no mode) of integers gives the default dtype."""
    if rounding_mode is None:
        div_Tensor_meta(op, self, other)
    elif rounding_mode in ("trunc", "floor"):
        elementwise(op, self, other)
        keep_number(op, other)
    else:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )


def mul_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self * other"""
    if self._dtype not in REDUCED or not _with_number(operator.mul, self, other, out):
        binary_loop(numpy.multiply, out, self, other)


def div_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self / other"""
    if self._dtype not in REDUCED or not _with_number(operator.truediv, self, other, out):
        loop(numpy.true_divide, out, float_type(result_type(self, other)), self, other)


mul_alike = AlikeLoop("mul_Tensor", "mul_out", mul_out, numpy.multiply)
"""The loop of ``mul`` of two operands that are alike."""


def _with_number(function: Callable[[Any, Any], Any], self: Tensor, other: Tensor, out: Tensor) -> bool:
    """Run the loop with a 0-dim CPU operand that is not rounded to the half-precision result dtype.

    Return whether it applies.
    """
    applies = _takes_number(self, other)
    if applies:
        loop_with_number(function, out, result_type(self, other), self, other)
    return applies


def _takes_number(self: Tensor, other: Tensor) -> bool:
    if other._size or self._dtype not in REDUCED or other._device.type != "cpu":
        return False
    dtype = result_type(self, other)
    return dtype in REDUCED and other._dtype is not dtype


def div_out_mode(self: Tensor, other: Tensor, rounding_mode: str | None, out: Tensor) -> None:
    """self / other, rounded towards zero (trunc) or down (floor)"""
    dtype = result_type(self, other)
    if rounding_mode is None:
        return div_out(self, other, out)
    if dtype is bool_ or dtype.is_complex:
        return compute(out, dtype, no_instance(f"div_{rounding_mode}_cpu", dtype), self, other)
    if dtype.can_require_grad:
        xp = array_module(out._device.type)
        floor = partial(_floor_divide, xp) if dtype in REDUCED else xp.floor_divide
        function = floor if rounding_mode == "floor" else lambda a, b: xp.trunc(a / b)
        if not _with_number(function, self, other, out):
            compute(out, dtype, function, self, other, narrow=True)
        return None
    _check_divisor(other)
    return compute(out, dtype, _FLOOR_OR_TRUNC[rounding_mode], self, other)


def _check_divisor(other: Tensor) -> None:
    """Raise RuntimeError for an integer division by zero on the CPU. On CUDA its result is undefined."""
    if other._device.type == "cpu" and not other._array.all():
        raise RuntimeError("ZeroDivisionError")


def _floor_divide(xp: Any, a: Any, b: Any) -> Any:
    """``div_floor_floating``: each step is rounded, which the floor division of the array libraries does not do."""
    remainder = xp.fmod(a, b)
    quotient = (a - remainder) / b
    quotient = xp.where((remainder != 0) & ((b < 0) != (remainder < 0)), quotient - quotient.dtype.type(1), quotient)
    floor = xp.floor(quotient)
    floor = xp.where(quotient - floor > quotient.dtype.type(0.5), floor + floor.dtype.type(1), floor)
    return xp.where(b == 0, a / b, xp.where(quotient == 0, xp.copysign(quotient, a / b), floor))


def _trunc_divide(a: Any, b: Any) -> Any:
    """Integer division rounded towards zero: one more than the floor if the signs differ and there is a remainder."""
    return a // b + ((a % b != 0) & ((a < 0) != (b < 0))).astype(a.dtype)


_FLOOR_OR_TRUNC: dict[str, Callable[[Any, Any], Any]] = {"floor": operator.floordiv, "trunc": _trunc_divide}


def mul(self: Tensor, other: Scalar) -> Tensor:
    """Wrap the number and call the Tensor overload."""
    return ops.mul_Tensor.call(self, wrapped_scalar_tensor(other))


def mul_(self: Tensor, other: Scalar) -> Tensor:
    """Multiply in place by calling the ``out=`` overload, with the number as the first operand."""
    return ops.mul_out.call(wrapped_scalar_tensor(other), self, self)


def div_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """Wrap the number and call the Tensor overload."""
    return ops.div_Tensor.call(self, wrapped_scalar_tensor(other))


def div__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """The in-place version of ``div``."""
    return ops.div__Tensor.call(self, wrapped_scalar_tensor(other))


def div_Scalar_mode(self: Tensor, other: Scalar, rounding_mode: str | None) -> Tensor:
    """Wrap the number and call the Tensor overload."""
    return ops.div_Tensor_mode.call(self, wrapped_scalar_tensor(other), rounding_mode)


def div__Scalar_mode(self: Tensor, other: Scalar, rounding_mode: str | None) -> Tensor:
    """The in-place version of ``div``."""
    return ops.div__Tensor_mode.call(self, wrapped_scalar_tensor(other), rounding_mode)


# -- xlogy -------------------------------------------------------------------------------------------------------------


def xlogy_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """A result of floating dtype; integers give the default dtype."""
    elementwise_float(op, self, other)


def xlogy_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self * log(other); 0 where self is 0, nan where other is"""
    xp = array_module(out._device.type)

    def product(x: Any, y: Any) -> Any:
        return xp.where(xp.isnan(y), y, xp.where(x == 0, 0, x * xp.log(y)))

    dtype = float_type(result_type(self, other))
    compute(out, dtype, no_instance("xlogy_cpu", dtype) if dtype.is_complex else product, self, other, narrow=True)


def xlogy_Scalar_Self(self: Scalar, other: Tensor) -> Tensor:
    """``xlogy`` of a number and a tensor; the number is wrapped."""
    return ops.xlogy_Tensor.call(wrapped_scalar_tensor(self), other)


def xlogy_Scalar_Other(self: Tensor, other: Scalar) -> Tensor:
    """``xlogy`` of a tensor and a number; the number is wrapped."""
    return ops.xlogy_Tensor.call(self, wrapped_scalar_tensor(other))


def xlogy__Scalar_Other(self: Tensor, other: Scalar) -> Tensor:
    """The in-place version of ``xlogy``."""
    return ops.xlogy__Tensor.call(self, wrapped_scalar_tensor(other))


# -- floor_divide ------------------------------------------------------------------------------------------------------


def floor_divide(self: Tensor, other: Tensor) -> Tensor:
    """self / other, rounded down."""
    dividend, divisor = cast_operands(result_type(self, other), self, other)
    out = new_output(dividend, divisor)
    if out._array is not None:
        div_out_mode(dividend, other if _takes_number(self, other) else divisor, "floor", out)
    return out


def floor_divide_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``floor_divide``."""
    out_elementwise(out, self, other)
    check_can_cast(result_type(self, other), out)
    if out._array is not None:
        div_out_mode(self, other, "floor", out)
    return out


def floor_divide__Tensor(self: Tensor, other: Tensor) -> Tensor:
    """The in-place version of ``floor_divide``."""
    return floor_divide_out(self, other, self)


def floor_divide_Scalar(self: Tensor, other: Scalar) -> Tensor:
    """self / number, rounded down."""
    return ops.floor_divide.call(self, wrapped_scalar_tensor(other))


def floor_divide__Scalar(self: Tensor, other: Scalar) -> Tensor:
    """The in-place version of ``floor_divide``."""
    return ops.floor_divide_out.call(self, wrapped_scalar_tensor(other), self)


def xlogy_out_OutScalar_Self(self: Scalar, other: Tensor, out: Tensor) -> Tensor:
    """Write ``xlogy`` of a number and a tensor into ``out``."""
    return ops.xlogy_OutTensor.call(wrapped_scalar_tensor(self), other, out)


def xlogy_out_OutScalar_Other(self: Tensor, other: Scalar, out: Tensor) -> Tensor:
    """Write ``xlogy`` of a tensor and a number into ``out``."""
    return ops.xlogy_OutTensor.call(self, wrapped_scalar_tensor(other), out)
