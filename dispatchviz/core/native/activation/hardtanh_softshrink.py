"""``hardtanh``, ``relu6``, ``hardswish``, ``hardsigmoid``, ``softshrink``, ``hardshrink`` and their gradients
(``aten/src/ATen/native/Activation.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.activation.selu_mish_prelu import put_floating
from dispatchviz.core.native.iterator.cpu_loops import scalar_elements
from dispatchviz.core.native.iterator.scalar import MAXIMUM, Scalar, convert, element
from dispatchviz.core.native.iterator.tensor_iterator import (
    elementwise,
    elementwise_same,
    new_output,
    not_implemented,
    out_elementwise,
    result_type,
)
from dispatchviz.core.tensor.dtype import Category, DType, bool_, float64, int64, uint8
from dispatchviz.core.tensor.tensor import Tensor

# -- hardtanh ----------------------------------------------------------------------------------------------------------


def hardtanh(self: Tensor, min_val: Scalar, max_val: Scalar) -> Tensor:
    """Clamp to [min_val, max_val]."""
    return ops.hardtanh_out.call(self, min_val, max_val, ops.empty_like.call(self, None, None, None, None, None))


def hardtanh_(self: Tensor, min_val: Scalar, max_val: Scalar) -> Tensor:
    """The in-place version of ``hardtanh``."""
    return ops.hardtanh_out.call(self, min_val, max_val, self)


def hardtanh_out(self: Tensor, min_val: Scalar, max_val: Scalar, out: Tensor) -> Tensor:
    """Write ``clamp`` of self into out; for integers the bounds are whole numbers.

    Raise NotImplementedError for bool, RuntimeError for an unsigned dtype with a negative bound.
    """
    if self._dtype is bool_:
        raise NotImplementedError("Bool inputs not supported for hardtanh")
    if self._dtype.category is Category.INTEGRAL:
        min_val, max_val = convert(min_val, int64), convert(max_val, int64)
        if self._dtype is uint8 and (min_val < 0 or max_val < 0):  # type: ignore[operator]
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return ops.clamp_out.call(self, min_val, max_val, out)


def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar) -> Tensor:
    """grad where self is between the bounds, else 0"""
    grad_input = new_output(grad_output, self)
    _put_hardtanh_backward(grad_output, self, min_val, max_val, grad_input)
    return grad_input


def hardtanh_backward_out(
    grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar, grad_input: Tensor
) -> Tensor:
    """Write the result of ``hardtanh_backward`` into ``grad_input``."""
    out_elementwise(grad_input, grad_output, self)
    _put_hardtanh_backward(grad_output, self, min_val, max_val, grad_input)
    return grad_input


def _put_hardtanh_backward(grad: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar, out: Tensor) -> None:
    xp: Any = array_module(self._device.type)
    dtype = result_type(grad, self)
    low, high = element(min_val, dtype), element(max_val, dtype)
    put_floating("hardshrink_backward_cpu", out, lambda g, x: xp.where((x <= low) | (x >= high), 0, g), grad, self)


def relu6(self: Tensor) -> Tensor:
    """Clamp to [0, 6]."""
    return ops.hardtanh.call(self, 0, 6)


def relu6_(self: Tensor) -> Tensor:
    """Clamp to [0, 6], in place."""
    return ops.hardtanh_.call(self, 0, 6)


# -- hardswish, hardsigmoid --------------------------------------------------------------------------------------------


def hardswish(self: Tensor) -> Tensor:
    """self * hardsigmoid(self)"""
    result = new_output(self)
    _put_hardswish(self, result)
    return result


def hardswish_(self: Tensor) -> Tensor:
    """The in-place version of ``hardswish``."""
    _put_hardswish(self, self)
    return self


def _put_hardswish(self: Tensor, out: Tensor) -> None:
    xp: Any = array_module(self._device.type)
    put_floating("hardswish_cpu", out, lambda x: x * xp.minimum(xp.maximum(x + 3, 0), 6) / 6, self)


def hardswish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """0 below -3, grad above 3, between them grad * (self / 3 + 0.5)"""
    grad_input = new_output(grad_output, self)
    xp: Any = array_module(self._device.type)

    def gradient(grad: Any, x: Any) -> Any:
        return xp.where(x <= -3, 0, xp.where(x < 3, grad * (x / 3 + 0.5), grad))

    put_floating("hardswish_backward_cpu", grad_input, gradient, grad_output, self)
    return grad_input


def hardsigmoid_meta(op: Structured, self: Tensor) -> None:
    """The shape and dtype of self."""
    elementwise_same(op, self)


def hardsigmoid_out(self: Tensor, out: Tensor) -> None:
    """(self + 3) / 6 between 0 and 1"""
    xp: Any = array_module(self._device.type)
    put_floating("hardsigmoid_cpu", out, lambda x: xp.minimum(xp.maximum(x + 3, 0), 6) / 6, self)


def hardsigmoid_backward_meta(op: Structured, grad_output: Tensor, self: Tensor) -> None:
    """The common shape and dtype of the operands."""
    elementwise(op, grad_output, self)


def hardsigmoid_backward_out(grad_output: Tensor, self: Tensor, grad_input: Tensor) -> None:
    """grad / 6 between -3 and 3, else 0"""
    xp: Any = array_module(self._device.type)
    function = lambda g, x: xp.where((x > -3) & (x < 3), g * xp.float32(1 / 6), 0)  # noqa: E731
    put_floating("hardsigmoid_backward", grad_input, function, grad_output, self)


# -- softshrink, hardshrink --------------------------------------------------------------------------------------------


def softshrink_meta(op: Structured, self: Tensor, lambd: Scalar) -> None:
    """The shape and dtype of self. Raise RuntimeError if ``lambd`` is negative or too large."""
    _check_lambda(self, convert(lambd, float64))
    elementwise_same(op, self)


def _check_lambda(self: Tensor, lambd: Any) -> None:
    dtype = self._dtype
    if not dtype.is_floating_point:
        raise not_implemented("softshrink_check", dtype)
    maximum = MAXIMUM[dtype.name]
    if not 0 <= lambd <= maximum:
        python = self._device.type == "meta"  # PyTorch's meta kernel is written in Python
        bound, name = (f"{maximum}", f"{dtype}") if python else (f"{maximum:g}", dtype.legacy)
        raise RuntimeError(f"lambda must be in range [0, {bound}] for input dtype {name}, but found {lambd:g}")


def hardshrink_meta(op: Structured, self: Tensor, lambd: Scalar) -> None:
    """The shape and dtype of self."""
    elementwise_same(op, self)


def softshrink_out(self: Tensor, lambd: Any, out: Tensor) -> None:
    """Soft shrinkage by ``lambd``. A 0 within that range keeps its sign, except in the CPU's vectorized loop"""
    xp: Any = array_module(self._device.type)
    limit = _limit(lambd, self._dtype)
    is_vector = ~scalar_elements(out, self._dtype, (self,)) if self._device.type == "cpu" else None

    def shrunk(x: Any) -> Any:
        zero = x * 0 if is_vector is None else xp.where(is_vector, xp.abs(x * 0), x * 0)
        return xp.where(x > limit, x - limit, xp.where(x < -limit, x + limit, zero))

    put_floating("softshrink_cpu", out, shrunk, self)


def hardshrink_out(self: Tensor, lambd: Any, out: Tensor) -> None:
    """self, or 0 where abs(self) is at most ``lambd``"""
    xp: Any = array_module(self._device.type)
    limit = _limit(lambd, self._dtype)
    put_floating("hardshrink_cpu", out, lambda x: xp.where((x >= -limit) & (x <= limit), 0, x), self)


def _limit(lambd: Scalar, dtype: DType) -> Any:
    """``lambd`` as an element of a floating dtype. An integer dtype has no loop, so the number is not converted."""
    return element(lambd, dtype) if dtype.is_floating_point else lambd


def softshrink_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, lambd: Scalar) -> None:
    """The common shape and dtype of the operands."""
    elementwise(op, grad_output, self)


def hardshrink_backward_meta(op: Structured, grad_out: Tensor, self: Tensor, lambd: Scalar) -> None:
    """The common shape and dtype of the operands."""
    elementwise(op, grad_out, self)


def softshrink_backward_out(grad_output: Tensor, self: Tensor, lambd: Any, grad_input: Tensor) -> None:
    """grad, or 0 where abs(self) was at most ``lambd``"""
    _shrink_backward(grad_output, self, lambd, grad_input)


def hardshrink_backward_out(grad_out: Tensor, self: Tensor, lambd: Any, grad_input: Tensor) -> None:
    """grad, or 0 where abs(self) was at most ``lambd``"""
    _shrink_backward(grad_out, self, lambd, grad_input)


def _shrink_backward(grad: Tensor, self: Tensor, lambd: Any, out: Tensor) -> None:
    xp: Any = array_module(self._device.type)
    limit = _limit(lambd, result_type(grad, self))
    put_floating("shrink_backward_cpu", out, lambda g, x: xp.where((x >= -limit) & (x <= limit), 0, g), grad, self)
