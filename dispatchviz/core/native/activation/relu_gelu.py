"""``relu``, ``threshold``, ``gelu``, ``silu`` and their gradients, and the gradients of ``tanh`` and ``sigmoid``
(``aten/src/ATen/native/Activation.cpp``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar, element
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise,
    elementwise_same,
    no_instance,
    result_type,
)
from dispatchviz.core.native.special.error_function import error_function
from dispatchviz.core.tensor.dtype import DType, bfloat16, bool_, float16, float32
from dispatchviz.core.tensor.tensor import Tensor


def relu(self: Tensor) -> Tensor:
    """max(self, 0)"""
    _check_relu(self)
    return ops.clamp_min.call(self, 0)


def relu_(self: Tensor) -> Tensor:
    """The in-place version of ``relu``."""
    _check_relu(self)
    return ops.clamp_min_.call(self, 0)


def _check_relu(self: Tensor) -> None:
    if self._dtype is bool_:
        raise NotImplementedError("Boolean inputs not supported for relu")


def threshold_meta(op: Structured, self: Tensor, threshold: Scalar, value: Scalar) -> None:
    """The dtype of self; ``out`` may overlap self."""
    elementwise(op, self)


def threshold_out(self: Tensor, threshold: Scalar, value: Scalar, out: Tensor) -> None:
    """value where self <= threshold, else self (also where self is nan)"""
    dtype = self._dtype
    if dtype is bool_ or dtype.is_complex:
        raise no_instance("threshold_cpu", dtype)()
    where = array_module(out._device.type).where
    limit, instead = element(threshold, dtype), element(value, dtype)
    compute(out, dtype, lambda x: where(x <= limit, instead, x), self)


def threshold_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, threshold: Scalar) -> None:
    """The common dtype of self and the gradient."""
    elementwise(op, self, grad_output)


def threshold_backward_out(grad_output: Tensor, self: Tensor, threshold: Scalar, out: Tensor) -> None:
    """0 where self <= threshold, else the gradient (also where self is nan)"""
    dtype = result_type(grad_output, self)
    where = array_module(out._device.type).where
    limit, zero = element(threshold, dtype), dtype.numpy.type(0)
    compute(out, dtype, lambda value, grad: where(value <= limit, zero, grad), self, grad_output)


# -- gradients of tanh and sigmoid -------------------------------------------------------------------------------------


def tanh_backward_meta(op: Structured, grad_output: Tensor, output: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, grad_output, output)


def sigmoid_backward_meta(op: Structured, grad_output: Tensor, output: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, grad_output, output)


def tanh_backward_out(grad_output: Tensor, output: Tensor, out: Tensor) -> None:
    """grad * (1 - output ** 2)"""
    dtype = result_type(grad_output, output)
    compute(out, dtype, _floating("tanh_backward_cpu", dtype, lambda g, y: g * (1 - y * y).conj()), grad_output, output)


def sigmoid_backward_out(grad_output: Tensor, output: Tensor, out: Tensor) -> None:
    """grad * (1 - output) * output"""
    dtype = result_type(grad_output, output)
    compute(out, dtype, _floating("sigmoid_backward_cpu", dtype, _sigmoid_backward), grad_output, output)


def _sigmoid_backward(g: Any, y: Any) -> Any:
    derivative = (1 - y) * y
    return g * derivative.conj() if derivative.dtype.kind == "c" else g * (1 - y) * y  # in PyTorch's order of rounding


def _floating(kernel: str, dtype: DType, function: Callable[..., Any]) -> Callable[..., Any]:
    """The loop for floating dtypes. There is none for integers, so one that raises is returned for them."""
    return function if dtype.can_require_grad else no_instance(kernel, dtype)


# -- gelu --------------------------------------------------------------------------------------------------------------


def gelu_meta(op: Structured, self: Tensor, approximate: str) -> None:
    """The dtype of self."""
    elementwise_same(op, self)


def gelu_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, approximate: str) -> None:
    """The common dtype of the operands."""
    elementwise(op, grad_output, self)


def gelu_out(self: Tensor, approximate: str, out: Tensor) -> None:
    """self times the normal distribution function at self"""
    is_tanh = _is_tanh(approximate)
    if not is_tanh and _left_unwritten(self, out):
        return
    kind, dtype = out._device.type, self._dtype
    xp, erf = array_module(kind), error_function(kind)
    function = (
        (lambda x: 0.5 * x * (1 + xp.tanh(_inner(x)))) if is_tanh else lambda x: x * 0.5 * (1 + erf(x * math.sqrt(0.5)))
    )
    compute(out, dtype, _floating("GeluKernelImpl", dtype, function), self)


def _left_unwritten(self: Tensor, out: Tensor) -> bool:
    """Return whether oneDNN leaves ``out`` unwritten: it computes into memory of its own if ``out`` has other strides
    than ``self``.

    NB: oneDNN supports the half types on some processors only. Here it always does.
    """
    if out._device.type != "cpu" or self._dtype not in (float32, float16, bfloat16) or not self._is_contiguous:
        return False
    steps = zip(self._size, self._stride, out._stride, strict=True)
    return any(length != 1 and old != new for length, old, new in steps)


def gelu_backward_out(grad_output: Tensor, self: Tensor, approximate: str, out: Tensor) -> None:
    """grad times the derivative of gelu"""
    is_tanh = _is_tanh(approximate)
    kind, dtype = out._device.type, result_type(grad_output, self)
    derivative = _gelu_tanh_derivative(kind) if is_tanh else _gelu_derivative(kind)
    function = _floating("GeluBackwardKernelImpl", dtype, lambda grad, x: grad * derivative(x))
    compute(out, dtype, function, grad_output, self)


def _is_tanh(approximate: str) -> bool:
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return approximate == "tanh"


_BETA, _KAPPA = math.sqrt(2 / math.pi), 0.044715


def _inner(x: Any) -> Any:
    return _BETA * (x + _KAPPA * x * x * x)


def _gelu_derivative(kind: str) -> Callable[[Any], Any]:
    xp, erf = array_module(kind), error_function(kind)
    return lambda x: 0.5 * (1 + erf(x * math.sqrt(0.5))) + x * xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _gelu_tanh_derivative(kind: str) -> Callable[[Any], Any]:
    tanh = array_module(kind).tanh

    def derivative(x: Any) -> Any:
        value = tanh(_inner(x))
        return 0.5 * (1 + value) + 0.5 * x * (1 - value * value) * _BETA * (1 + 3 * _KAPPA * x * x)

    return derivative


# -- silu --------------------------------------------------------------------------------------------------------------


def silu_meta(op: Structured, self: Tensor) -> None:
    """The dtype of self."""
    elementwise_same(op, self)


def silu_backward_meta(op: Structured, grad_output: Tensor, self: Tensor) -> None:
    """The common dtype of the operands."""
    elementwise(op, grad_output, self)


def silu_out(self: Tensor, out: Tensor) -> None:
    """self * sigmoid(self)"""
    exp, dtype = array_module(out._device.type).exp, self._dtype
    compute(out, dtype, _floating("silu_cpu", dtype, lambda x: x / (1 + exp(-x))), self)


def silu_backward_out(grad_output: Tensor, self: Tensor, out: Tensor) -> None:
    """grad * sigmoid(self) * (1 + self * (1 - sigmoid(self)))"""
    exp, dtype = array_module(out._device.type).exp, result_type(grad_output, self)

    def gradient(grad: Any, x: Any) -> Any:
        sigmoid = 1 / (1 + exp(-x))
        return grad * sigmoid * (1 + x * (1 - sigmoid))

    compute(out, dtype, _floating("silu_backward_cpu", dtype, gradient), grad_output, self)


def math_silu_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of ``silu``, composed of other operators."""
    sigmoid = ops.sigmoid.call(self)
    derivative = ops.add_Scalar.call(ops.mul_Tensor.call(self, ops.rsub_Scalar.call(sigmoid, 1)), 1)
    return ops.mul_Tensor.call(grad_output, ops.mul_Tensor.call(sigmoid, derivative))
