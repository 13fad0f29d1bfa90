"""``selu``, ``celu``, ``mish``, ``prelu`` and their gradients (``aten/src/ATen/native/Activation.cpp``).

Activations with flat ends are in ``hardtanh_softshrink.py``; elu, leaky_relu and softplus are in ``leaky_relu_elu.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import (
    compute,
    elementwise_same,
    no_instance,
    out_elementwise,
    result_type,
)
from dispatchviz.core.tensor.tensor import Tensor, numel


def put_floating(name: str, out: Tensor, function: Any, *operands: Tensor) -> None:
    """``compute`` for floating dtypes. Raise NotImplementedError for other dtypes."""
    dtype = result_type(*operands)
    compute(out, dtype, function if dtype.is_floating_point else no_instance(name, dtype), *operands)


# -- elu ---------------------------------------------------------------------------------------------------------------

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def selu(self: Tensor) -> Tensor:
    """elu scaled by the constants that preserve mean and variance."""
    return ops.elu.call(self, SELU_ALPHA, SELU_SCALE, 1)


def selu_(self: Tensor) -> Tensor:
    """The in-place version of ``selu``."""
    return ops.elu_.call(self, SELU_ALPHA, SELU_SCALE, 1)


def celu(self: Tensor, alpha: Any) -> Tensor:
    """elu with the derivative 1 at 0. Raise RuntimeError if alpha is 0."""
    return ops.elu.call(self, alpha, 1.0, _inverse(alpha))


def celu_(self: Tensor, alpha: Any) -> Tensor:
    """The in-place version of ``celu``."""
    return ops.elu_.call(self, alpha, 1.0, _inverse(alpha))


def _inverse(alpha: float) -> float:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return 1.0 / alpha


# -- mish --------------------------------------------------------------------------------------------------------------


def mish_meta(op: Structured, self: Tensor) -> None:
    """The shape and dtype of self."""
    elementwise_same(op, self)


def mish_out(self: Tensor, out: Tensor) -> None:
    """self * tanh(softplus(self))"""
    xp: Any = array_module(out._device.type)
    put_floating("mish_cpu", out, lambda x: x * xp.tanh(xp.log1p(xp.exp(x))), self)


def mish_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """grad times the derivative"""
    grad_input = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    out_elementwise(grad_input, grad_output, self)
    xp: Any = array_module(self._device.type)

    def gradient(grad: Any, x: Any) -> Any:
        sigmoid = 1 / (1 + xp.exp(-x))
        tanh_of_softplus = xp.tanh(xp.log1p(xp.exp(x)))
        return grad * (tanh_of_softplus + x * sigmoid * (1 - tanh_of_softplus * tanh_of_softplus))

    put_floating("mish_backward_cpu", grad_input, gradient, grad_output, self)
    return grad_input


# -- prelu -------------------------------------------------------------------------------------------------------------


def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """leaky_relu with one slope for all elements or one for each channel.

    Raise RuntimeError for another number of slopes.
    """
    if self._dtype is not weight._dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {self._dtype.legacy} and {weight._dtype.legacy}")
    rank, count = len(self._size), numel(weight._size)
    if count != 1:
        if not rank:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self._size[1] if rank > 1 else 1
        if channels != count:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
    if len(weight._size) > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = " + str(len(weight._size))
        )
    if len(weight._size) != rank:
        shape = tuple(count if dim == 1 else 1 for dim in range(rank))
        weight = ops.reshape.call(weight, shape)
    return ops._prelu_kernel.call(self, weight)


def _prelu_kernel(self: Tensor, weight: Tensor) -> Tensor:
    """self, multiplied by the weight where self is not positive"""
    result = ops.empty_like.call(self, None, None, None, None, None)
    xp: Any = array_module(self._device.type)
    put_floating("prelu_cpu", result, lambda x, w: xp.where(x > 0, x, w * x), self, weight)
    return result


def _prelu_kernel_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of self and of the weight; the latter has one element for each element of self."""
    xp: Any = array_module(self._device.type)
    of_self, of_weight = (
        ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None) for _ in range(2)
    )
    for out in (of_self, of_weight):
        out_elementwise(out, self, weight, grad_output)
    put_floating("prelu_backward_cpu", of_self, lambda x, w, g: xp.where(x > 0, g, w * g), self, weight, grad_output)
    put_floating("prelu_backward_cpu", of_weight, lambda x, g: xp.where(x > 0, 0, x * g), self, grad_output)
    return of_self, of_weight
