"""Backward and double backward of activations: ``prelu``, ``glu``, ``silu``, ``gelu``
(``torch/csrc/autograd/FunctionsManual.cpp``).

They call operators in the order of PyTorch's, where arguments of a C++ call are evaluated from right to left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.activation.glu_rrelu import halves
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

# -- a number and a tensor ---------------------------------------------------------------------------------------------


def _filled_like(tensor: Tensor, number: float) -> Tensor:
    """A tensor filled with the number, as C++ makes for a number on the left of ``-`` and ``/``
    (``aten/src/ATen/TensorOperators.h``).
    """
    return ops.fill__Scalar.call(ops.empty_like.call(tensor, None, None, None, None, "preserve_format"), number)


def number_minus(number: float, tensor: Tensor) -> Tensor:
    """number - tensor"""
    return ops.sub__Tensor.call(_filled_like(tensor, number), tensor, 1)


def number_over(number: float, tensor: Tensor) -> Tensor:
    """number / tensor"""
    return ops.div__Tensor.call(_filled_like(tensor, number), tensor)


# -- prelu -------------------------------------------------------------------------------------------------------------

Grads = Sequence[Tensor | None]
"""The gradients of the two results; None for an undefined one."""


def prelu_double_backward_grad_output(grads: Grads, grad_output: Tensor, self: Tensor, weight: Tensor) -> Tensor:
    """grads[0], times the weight and with grads[1] * self where self is negative"""
    of_self, of_weight = grads
    if of_self is None:
        assert of_weight is not None
        product = ops.mul_Tensor.call(of_weight, self)
        return _where_positive(self, ops.zeros.call((), *_options(grad_output)), product)
    if of_weight is None:
        return _where_positive(self, of_self, ops.mul_Tensor.call(of_self, weight))
    second = ops.mul_Tensor.call(of_weight, self)
    return _where_positive(self, of_self, ops.add_Tensor.call(ops.mul_Tensor.call(of_self, weight), second, 1))


def prelu_double_backward(grad: Tensor | None, grad_output: Tensor, self: Tensor, other: Tensor) -> Tensor:
    """grad_output * grad where self is negative: the gradient of ``other``, which is self or the weight"""
    if grad is None:
        return ops.zeros_like.call(self, None, None, None, None, None)
    product = ops.mul_Tensor.call(grad_output, grad)
    return _where_positive(self, ops.zeros.call((), *_options(other)), product)


def _where_positive(self: Tensor, then: Tensor, otherwise: Tensor) -> Tensor:
    return ops.where_self.call(ops.ge_Scalar.call(self, 0), then, otherwise)


def _options(like: Tensor) -> tuple[DType, str, Device, None]:
    return like._dtype, "strided", like._device, None


# -- glu ---------------------------------------------------------------------------------------------------------------


def glu_double_backward_grad_output(grad: Tensor, input: Tensor, dim: int) -> Tensor:
    """grad times glu's slopes, both halves added"""
    dim = wrap_dim(dim, len(input._size))
    half = input._size[dim] // 2
    size = (*input._size[:dim], half, *input._size[dim + 1 :])
    slopes = ops.glu_backward.call(ops.ones.call(size, *_options(input)), input, dim)
    product = ops.mul_Tensor.call(grad, slopes)
    second = ops.narrow.call(product, dim, half, half)
    return ops.add_Tensor.call(ops.narrow.call(product, dim, 0, half), second, 1)


def glu_double_backward(grad: Tensor, grad_output: Tensor, input: Tensor, dim: int) -> Tensor:
    """grad * grad_output times glu's second derivatives"""
    first, second = halves(input, wrap_dim(dim, len(input._size)))
    sigmoid = ops.sigmoid.call(second)
    complement = number_minus(1, sigmoid)
    derivative = ops.mul_Tensor.call(sigmoid, complement)
    grad_first, grad_second = halves(grad, wrap_dim(dim, len(input._size)))
    of_second = ops.mul_Tensor.call(grad_second, first)
    found_first = ops.mul_Tensor.call(ops.mul_Tensor.call(grad_second, grad_output), derivative)
    subtracted = ops.mul_Tensor.call(sigmoid, derivative)
    curvature = ops.sub_Tensor.call(ops.mul_Tensor.call(derivative, complement), subtracted, 1)
    mixed = ops.mul_Tensor.call(ops.mul_Tensor.call(grad_first, grad_output), derivative)
    bent = ops.mul_Tensor.call(ops.mul_Tensor.call(of_second, grad_output), curvature)
    return ops.cat.call([found_first, ops.add_Tensor.call(bent, mixed, 1)], dim)


# -- silu --------------------------------------------------------------------------------------------------------------


def silu_gradient(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient, by one operator, or by several that can be differentiated again if the graph is built."""
    if not thread.state.grad_mode:
        return ops.silu_backward.call(grad, self)
    sigmoid = ops.sigmoid.call(self)
    derivative = ops.add_Scalar.call(ops.mul_Tensor.call(self, number_minus(1.0, sigmoid)), 1.0)
    return ops.mul_Tensor.call(ops.mul_Tensor.call(grad, sigmoid), derivative)


# -- gelu --------------------------------------------------------------------------------------------------------------


def gelu_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    """grad * grad_output times the second derivative"""
    derivative = _gelu_tanh_curvature(self) if approximate == "tanh" else _gelu_curvature(self)
    return ops.mul_Tensor.call(ops.mul_Tensor.call(grad, grad_output), derivative)


_BETA = math.sqrt(2) * (2 / math.sqrt(math.pi)) * 0.5
_KAPPA = 0.044715


def _gelu_curvature(self: Tensor) -> Tensor:
    """2 * pdf - self ** 2 * pdf"""
    square = ops.mul_Tensor.call(self, self)
    beta = (2 / math.sqrt(math.pi)) * math.sqrt(0.5) * 0.5
    pdf = ops.mul_Scalar.call(ops.exp.call(ops.mul_Scalar.call(square, -0.5)), beta)
    curved = ops.mul_Tensor.call(square, pdf)
    return ops.sub_Tensor.call(ops.mul_Scalar.call(pdf, 2), curved, 1)


def _gelu_tanh_curvature(self: Tensor) -> Tensor:
    """(f * g * h)' twice, where f = self / 2, g = 1 - tanh(inner) ** 2, h = inner'."""
    cube = ops.mul_Scalar.call(ops.pow_Tensor_Scalar.call(self, 3), _KAPPA)
    inner = ops.mul_Scalar.call(ops.add_Tensor.call(self, cube, 1), _BETA)
    tanh_inner = ops.tanh.call(inner)
    sech_inner = number_over(1, ops.cosh.call(inner))
    f = ops.mul_Scalar.call(self, 0.5)
    g = number_minus(1, ops.mul_Tensor.call(tanh_inner, tanh_inner))
    square = ops.mul_Tensor.call(ops.mul_Scalar.call(self, 3 * _KAPPA), self)
    h = ops.mul_Scalar.call(ops.add_Scalar.call(square, 1), _BETA)
    f_prime_gh = ops.mul_Tensor.call(ops.mul_Scalar.call(g, 0.5), h)
    falling = ops.mul_Tensor.call(ops.neg.call(sech_inner), tanh_inner)
    g_prime = ops.mul_Tensor.call(ops.mul_Tensor.call(ops.mul_Scalar.call(sech_inner, 2), falling), h)
    g_prime_fh = ops.mul_Tensor.call(ops.mul_Tensor.call(f, h), g_prime)
    h_prime = ops.mul_Scalar.call(ops.mul_Scalar.call(self, 6 * _KAPPA), _BETA)
    h_prime_fg = ops.mul_Tensor.call(ops.mul_Tensor.call(f, g), h_prime)
    derivative = ops.add_Tensor.call(ops.mul_Scalar.call(f_prime_gh, 2), g_prime_fh, 1)
    return ops.add_Tensor.call(derivative, h_prime_fg, 1)
