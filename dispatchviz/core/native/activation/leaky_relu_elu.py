"""``leaky_relu``, ``elu``, ``softplus`` and their gradients (``aten/src/ATen/native/Activation.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.iterator.scalar import Scalar, opmath
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise,
    elementwise_same,
    not_implemented,
    result_type,
)
from dispatchviz.core.tensor.tensor import Tensor


def _check_floating(kernel: str, self: Tensor) -> None:
    if not self._dtype.is_floating_point:
        raise not_implemented(kernel, self._dtype)


# -- leaky_relu --------------------------------------------------------------------------------------------------------


def leaky_relu_meta(op: Structured, self: Tensor, negative_slope: Scalar) -> None:
    """A result with the dtype of self, which ``out`` must have too."""
    elementwise_same(op, self)


def leaky_relu_out(self: Tensor, negative_slope: Scalar, out: Tensor) -> None:
    """self, or negative_slope * self where it is not positive"""
    _check_floating("leaky_relu_cpu", self)
    where, slope = array_module(out._device.type).where, opmath(negative_slope, self._dtype)
    compute(out, self._dtype, lambda x: where(x > 0, x, x * slope), self)


def leaky_relu_backward_meta(
    op: Structured, grad_output: Tensor, self: Tensor, negative_slope: Scalar, self_is_result: bool
) -> None:
    """The common dtype. Raise RuntimeError if the sign of the input cannot be derived from its result."""
    if self_is_result and negative_slope < 0.0:  # type: ignore[operator]
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This "
            "is caused by calling in-place forward function with a negative slope, please call out-of-place version "
            "instead. File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
            "leakRelu backward calculation with negative slope"
        )
    elementwise(op, self, grad_output)


def leaky_relu_backward_out(
    grad_output: Tensor, self: Tensor, negative_slope: Scalar, self_is_result: bool, out: Tensor
) -> None:
    """grad, or negative_slope * grad where self is not positive"""
    where, slope = array_module(out._device.type).where, opmath(negative_slope, self._dtype)
    dtype = result_type(grad_output, self)
    compute(out, dtype, lambda x, grad: where(x > 0, grad, grad * slope), self, grad_output)


# -- elu ---------------------------------------------------------------------------------------------------------------


def elu_meta(op: Structured, self: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar) -> None:
    """A result with the dtype of self, which ``out`` must have too."""
    elementwise_same(op, self)


def elu_out(self: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, out: Tensor) -> None:
    """scale * self, or scale * alpha * (exp(input_scale * self) - 1) where it is negative"""
    _check_floating("elu_cpu", self)
    xp = array_module(out._device.type)
    low, high, inner = (
        opmath(alpha, self._dtype) * opmath(scale, self._dtype),
        opmath(scale, self._dtype),
        opmath(input_scale, self._dtype),
    )
    compute(out, self._dtype, lambda x: xp.where(x < 0, xp.expm1(x * inner) * low, x * high), self)


def elu_backward_meta(
    op: Structured,
    grad_output: Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    self_or_result: Tensor,
) -> None:
    """The common dtype. Raise RuntimeError if the sign of the input cannot be derived from its result."""
    if is_result and alpha < 0.0:  # type: ignore[operator]
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version "
            "instead."
        )
    elementwise(op, grad_output, self_or_result)


def elu_backward_out(
    grad_output: Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    self_or_result: Tensor,
    out: Tensor,
) -> None:
    """scale * grad, or the derivative of the exponential part times grad where self is not positive"""
    xp, like = array_module(out._device.type), self_or_result
    low, high, inner = (
        opmath(alpha, like._dtype) * opmath(scale, like._dtype),
        opmath(scale, like._dtype),
        opmath(input_scale, like._dtype),
    )

    def gradient(grad: Any, x: Any) -> Any:
        slope = (x + low) * inner if is_result else inner * low * xp.exp(x * inner)
        return xp.where(x <= 0, grad * slope, grad * high)

    compute(out, result_type(grad_output, like), gradient, grad_output, like)


# -- softplus ----------------------------------------------------------------------------------------------------------


def softplus_meta(op: Structured, self: Tensor, beta: Scalar, threshold: Scalar) -> None:
    """A result with the dtype of self, which ``out`` must have too."""
    elementwise_same(op, self)


def softplus_out(self: Tensor, beta: Scalar, threshold: Scalar, out: Tensor) -> None:
    """log(1 + exp(beta * self)) / beta, or self where beta * self is above the threshold"""
    _check_floating("softplus_cpu", self)
    xp, times, limit = array_module(out._device.type), opmath(beta, self._dtype), opmath(threshold, self._dtype)
    compute(out, self._dtype, lambda x: xp.where(x * times > limit, x, xp.log1p(xp.exp(x * times)) / times), self)


def softplus_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar) -> None:
    """The common dtype of the operands."""
    elementwise(op, grad_output, self)


def softplus_backward_out(
    grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar, grad_input: Tensor
) -> None:
    """grad * sigmoid(beta * self), or grad where beta * self is above the threshold"""
    xp, times, limit = (
        array_module(grad_input._device.type),
        opmath(beta, self._dtype),
        opmath(threshold, self._dtype),
    )

    def gradient(grad: Any, x: Any) -> Any:
        power = xp.exp(x * times)
        return xp.where(x * times > limit, grad, grad * power / (power + 1))

    compute(grad_input, result_type(grad_output, self), gradient, grad_output, self)
