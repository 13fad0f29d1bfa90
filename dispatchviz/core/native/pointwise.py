"""Elementwise arithmetic: meta functions and kernels (``aten/src/ATen/native/{BinaryOps,UnaryOps,Pow}.cpp``).

A kernel body serves every device: the output's device picks the array library. ``NAME_meta`` belongs to the structured
family NAME; the other functions carry the kernel names of native_functions.yaml.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.backend import array_module
from dispatchviz.core.device import CPU
from dispatchviz.core.dtype import DType, bool_, of_scalar
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import (
    elementwise,
    elementwise_float,
    float_type,
    loop,
    operand,
    result_type,
    write,
)
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Tensor, empty_strided

Scalar = bool | int | float | complex


def wrapped_scalar_tensor(value: Scalar) -> Tensor:
    """A Python number as a 0-dim CPU tensor that counts least in type promotion."""
    dtype = of_scalar(value)
    tensor = empty_strided((), (), dtype, CPU)
    tensor._array[...] = value
    tensor._wrapped_number = True
    return tensor


# -- add, sub, mul, div ------------------------------------------------------------------------------------------------


def add_Tensor_meta(op: Structured, self: Tensor, other: Tensor, alpha: Scalar) -> None:
    """Broadcast shape and common dtype; alpha must fit it."""
    elementwise(op, self, other)
    _check_alpha(result_type(self, other), alpha)


def sub_Tensor_meta(op: Structured, self: Tensor, other: Tensor, alpha: Scalar) -> None:
    """As add; bool is refused."""
    _check_sub(self, other)
    elementwise(op, self, other)
    _check_alpha(result_type(self, other), alpha)


def mul_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """Broadcast shape and common dtype."""
    elementwise(op, self, other)


def div_Tensor_meta(op: Structured, self: Tensor, other: Tensor) -> None:
    """True division: integers give the default dtype."""
    elementwise_float(op, self, other)


def div_Tensor_mode_meta(op: Structured, self: Tensor, other: Tensor, rounding_mode: str | None) -> None:
    """Only true division (no mode) leaves the integers."""
    if rounding_mode is None:
        elementwise_float(op, self, other)
    elif rounding_mode in ("trunc", "floor"):
        elementwise(op, self, other)
    else:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def ufunc_add(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> None:
    """self + alpha * other"""
    _add("add", self, other, alpha, out)


def sub_out(self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> None:
    """self - alpha * other"""
    _add("subtract", self, other, alpha, out)


def _add(function: str, self: Tensor, other: Tensor, alpha: Scalar, out: Tensor) -> None:
    dtype = result_type(self, other)
    if alpha == 1:
        return loop(function, out, dtype, self, other)
    xp = array_module(out._device.type)
    scaled = operand(xp, other, dtype) * dtype.numpy.type(alpha)
    write(getattr(xp, function), out, operand(xp, self, dtype), scaled)


def mul_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self * other"""
    loop("multiply", out, result_type(self, other), self, other)


def div_out(self: Tensor, other: Tensor, out: Tensor) -> None:
    """self / other"""
    loop("true_divide", out, float_type(result_type(self, other)), self, other)


def div_out_mode(self: Tensor, other: Tensor, rounding_mode: str | None, out: Tensor) -> None:
    """self / other, rounded towards zero (trunc) or down (floor)"""
    if rounding_mode is None:
        return div_out(self, other, out)
    dtype = result_type(self, other)
    xp = array_module(out._device.type)
    a, b = operand(xp, self, dtype), operand(xp, other, dtype)
    if rounding_mode == "floor":
        write(xp.floor_divide, out, a, b)
    elif dtype.can_require_grad:
        out._array[...] = xp.trunc(a / b)
    else:
        out._array[...] = xp.sign(a) * xp.sign(b) * (xp.abs(a) // xp.abs(b))


def rsub(self: Tensor, other: Tensor | Scalar, alpha: Scalar = 1) -> Tensor:
    """other - alpha * self"""
    if isinstance(other, Tensor):
        return ops.sub_Tensor.call(other, self, alpha)
    return ops.rsub_Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def add(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """The Scalar overload wraps the number and calls the Tensor one."""
    return ops.add_Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def add_(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """In place."""
    return ops.add__Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def sub(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """The Scalar overload wraps the number and calls the Tensor one."""
    return ops.sub_Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def sub_(self: Tensor, other: Scalar, alpha: Scalar = 1) -> Tensor:
    """In place."""
    return ops.sub__Tensor.call(self, wrapped_scalar_tensor(other), alpha)


def mul(self: Tensor, other: Scalar) -> Tensor:
    """The Scalar overload wraps the number and calls the Tensor one."""
    return ops.mul_Tensor.call(self, wrapped_scalar_tensor(other))


def mul_(self: Tensor, other: Scalar) -> Tensor:
    """In place."""
    return ops.mul__Tensor.call(self, wrapped_scalar_tensor(other))


def div(self: Tensor, other: Scalar) -> Tensor:
    """The Scalar overload wraps the number and calls the Tensor one."""
    return ops.div_Tensor.call(self, wrapped_scalar_tensor(other))


def div_(self: Tensor, other: Scalar) -> Tensor:
    """In place."""
    return ops.div__Tensor.call(self, wrapped_scalar_tensor(other))


def _check_alpha(dtype: DType, alpha: Scalar) -> None:
    if type(alpha) is int:
        return
    if isinstance(alpha, bool) and dtype is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not dtype.can_require_grad:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _check_sub(self: Tensor, other: Tensor) -> None:
    if self._dtype is bool_ and other._dtype is bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if self._dtype is bool_ or other._dtype is bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


# -- functions of one tensor -------------------------------------------------------------------------------------------


def neg_meta(op: Structured, self: Tensor) -> None:
    """Same dtype; bool is refused."""
    if self._dtype is bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    elementwise(op, self)


def exp_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def log_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def reciprocal_meta(op: Structured, self: Tensor) -> None:
    """Floating result."""
    elementwise_float(op, self)


def neg_out(self: Tensor, out: Tensor) -> None:
    """-self"""
    loop("negative", out, self._dtype, self)


def exp_out(self: Tensor, out: Tensor) -> None:
    """e to the self"""
    loop("exp", out, float_type(self._dtype), self)


def log_out(self: Tensor, out: Tensor) -> None:
    """Natural logarithm; nan below 0, -inf at 0, without a warning."""
    _quietly("log", out, float_type(self._dtype), self)


def reciprocal_out(self: Tensor, out: Tensor) -> None:
    """1 / self"""
    _quietly("reciprocal", out, float_type(self._dtype), self)


def _quietly(function: str, out: Tensor, dtype: DType, *operands: Tensor) -> None:
    loop(function, out, dtype, *operands)


def relu(self: Tensor) -> Tensor:
    """max(self, 0)

    NB: in PyTorch relu calls clamp_min; here it is computed at once.
    """
    out = empty_strided(self._size, self._stride, self._dtype, self._device)
    return _relu(self, out)


def relu_(self: Tensor) -> Tensor:
    """In place."""
    return _relu(self, self)


def _relu(self: Tensor, out: Tensor) -> Tensor:
    if out._array is not None:
        out._array[...] = array_module(out._device.type).maximum(self._array, self._dtype.numpy.type(0))
    return out


def threshold_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, threshold: Scalar) -> None:
    """Common dtype of gradient and self."""
    elementwise(op, grad_output, self)


def threshold_backward_out(grad_output: Tensor, self: Tensor, threshold: Scalar, out: Tensor) -> None:
    """grad where self > threshold, else 0"""
    xp = array_module(out._device.type)
    dtype = result_type(grad_output, self)
    grad, value = operand(xp, grad_output, dtype), operand(xp, self, dtype)
    out._array[...] = xp.where(value > threshold, grad, dtype.numpy.type(0))


# -- pow ---------------------------------------------------------------------------------------------------------------


def pow_Tensor_Tensor_meta(op: Structured, self: Tensor, exponent: Tensor) -> None:
    """Common dtype."""
    elementwise(op, self, exponent)


def pow_Tensor_Scalar_meta(op: Structured, self: Tensor, exponent: Scalar) -> None:
    """The exponent counts as a wrapped number; integers to a negative integer power are refused."""
    if not self._dtype.can_require_grad and type(exponent) is int and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    elementwise(op, self, dtype=_pow_type(self, exponent))


def pow_Scalar_meta(op: Structured, self: Scalar, exponent: Tensor) -> None:
    """The base counts as a wrapped number."""
    elementwise(op, exponent, dtype=_pow_type(exponent, self))


def _pow_type(tensor: Tensor, number: Scalar) -> DType:
    from dispatchviz.core.dtype import result_type_of

    return result_type_of(((tensor._dtype, 2 if tensor._size else 1), (of_scalar(number), 0)))


def pow_Tensor_Tensor_out(self: Tensor, exponent: Tensor, out: Tensor) -> None:
    """self ** exponent"""
    loop("power", out, result_type(self, exponent), self, exponent)


def pow_Tensor_Scalar_out(self: Tensor, exponent: Scalar, out: Tensor) -> None:
    """self ** number; 0 and 1 are written without computing"""
    dtype = _pow_type(self, exponent)
    base: Any = operand(array_module(out._device.type), self, dtype)
    out._array[...] = base if exponent == 1 else 1 if exponent == 0 else base ** dtype.numpy.type(exponent)


def pow_Scalar_out(self: Scalar, exponent: Tensor, out: Tensor) -> None:
    """number ** exponent"""
    dtype = _pow_type(exponent, self)
    power: Any = operand(array_module(out._device.type), exponent, dtype)
    out._array[...] = 1 if self == 1 else dtype.numpy.type(self) ** power


# -- comparison and choice ---------------------------------------------------------------------------------------------


def where(condition: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """self where condition, else other."""
    op = _WhereOutput("where")
    elementwise(op, condition, self, other, dtype=result_type(self, other))
    return where_self_out(condition, self, other, op.output)


def where_self_out(condition: Tensor, self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """self where condition, else other, into out."""
    if out._array is not None:
        xp = array_module(out._device.type)
        dtype = result_type(self, other)
        out._array[...] = xp.where(condition._array, operand(xp, self, dtype), operand(xp, other, dtype))
    return out
