"""Double backward of ``mse_loss``, ``softmax``, ``embedding``, ``max_pool``, ``elu``, ``softplus``
(``torch/csrc/autograd/FunctionsManual.cpp``)."""

from __future__ import annotations

import math

from dispatchviz.core.autograd.formulas.functions_manual import number_sub
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format, suggested
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.losses.mse_nll_loss import MEAN
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.thread_state import thread

# -- mse_loss ----------------------------------------------------------------------------------------------------------


def mse_loss_backward_grad_output(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """mse_loss_backward, in the shape of the gradient"""
    return ops.mse_loss_backward.call(grad, self, target, reduction)


def mse_loss_double_backward(grad: Tensor, input: Tensor, reduction: int) -> Tensor:
    """2 * grad, divided by the count for a mean"""
    doubled = ops.mul_Scalar.call(grad, 2)
    return ops.div__Scalar.call(doubled, numel(input._size)) if reduction == MEAN else doubled


def mse_loss_double_backward_target(grad: Tensor, target: Tensor, reduction: int) -> Tensor:
    """-2 * grad, divided by the count for a mean"""
    return ops.neg.call(mse_loss_double_backward(grad, target, reduction))


# -- softmax -----------------------------------------------------------------------------------------------------------


def softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Tensor:
    """grad_output * grad, minus the contribution of the sums"""
    third = ops.mul_Tensor.call(grad_output, _weighted_sum(output, grad, dim))
    second = ops.mul_Tensor.call(_weighted_sum(output, grad_output, dim), grad)
    first = ops.mul_Tensor.call(grad_output, grad)
    return ops.sub_Tensor.call(ops.sub_Tensor.call(first, second, 1), third, 1)


def _weighted_sum(output: Tensor, grad: Tensor, dim: int) -> Tensor:
    return ops.sum_dim_IntList.call(ops.mul_Tensor.call(output, grad), (dim,), True, None)


def log_softmax_double_backward_grad(grad: Tensor, output: Tensor, dim: int) -> Tensor:
    """grad minus the sum of grad * e ** output"""
    powers = ops.exp.call(output)
    product = ops.mul_Tensor.call(_as(grad, output), powers)
    total = ops.sum_dim_IntList.call(product, (dim,), True, None)
    return ops.sub_Tensor.call(_as(grad, output), total, 1)


def _as(grad: Tensor, output: Tensor) -> Tensor:
    return ops.to_dtype.call(grad, output._dtype, False, False, None)


def log_softmax_double_backward(grad: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """-(sum of grad_output) * e ** output * grad"""
    grad = _as(grad, output)
    powers = ops.exp.call(output)
    total = ops.neg.call(ops.sum_dim_IntList.call(grad_output, (dim,), True, None))
    return ops.mul_Tensor.call(ops.mul_Tensor.call(total, powers), grad)


# -- dropout -----------------------------------------------------------------------------------------------------------


def native_dropout_gradient(grad: Tensor, mask: Tensor, p: float, train: bool | None) -> Tensor:
    """grad, masked and scaled"""
    scale = 1.0 if not train else 0.0 if p == 1 else 1.0 / (1.0 - p)
    if not thread.state.grad_mode:
        return ops.native_dropout_backward.call(grad, mask, scale)
    return ops.mul_Tensor.call(grad, ops.mul_Scalar.call(mask, scale))


def native_dropout_double_backward(grad: Tensor, grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient of grad: the same mask and scale"""
    factor = ops.mul_Scalar.call(ops.type_as.call(mask, grad_output), scale)
    return ops.mul_Tensor.call(ops.type_as.call(grad, grad_output), factor)


# -- embedding ---------------------------------------------------------------------------------------------------------


def embedding_dense_double_backward(grad: Tensor, indices: Tensor, padding_idx: int) -> Tensor:
    """The row of grad for each index, 0 for the padding"""
    rows = ops.index_select.call(grad, 0, ops.reshape.call(indices, (-1,)))
    if padding_idx >= 0:
        padding = ops.reshape.call(ops.eq_Scalar.call(indices, padding_idx), (-1, 1))
        ops.masked_fill__Scalar.call(rows, padding, 0)
    return ops.view.call(rows, (*indices._size, -1))


# -- pooling -----------------------------------------------------------------------------------------------------------


def max_pool_double_backward(grad: Tensor, indices: Tensor, dim: int) -> Tensor:
    """The gradient at the maxima's indices"""
    rows, space = indices._size[:-dim], indices._size[-dim:]
    shape = (*rows, math.prod(space))
    if not math.prod(grad._size):
        return ops.empty_like.call(indices, grad._dtype, "strided", grad._device, None, None)
    memory_format = suggested(indices) if dim == 2 else "contiguous_format"
    positions = ops.view.call(in_format(indices, memory_format), shape)
    flat = ops.reshape.call(grad, (*grad._size[:-dim], math.prod(grad._size[-dim:])))
    return ops.view.call(ops.gather.call(flat, -1, positions, False), indices._size)


# -- activations -------------------------------------------------------------------------------------------------------


def mish_gradient(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient, by one operator, or by several that can be differentiated again if the graph is built."""
    if not thread.state.grad_mode:
        return ops.mish_backward.call(grad, self)
    sigmoid = ops.sigmoid.call(self)
    tanh = ops.tanh.call(ops.log1p.call(ops.exp.call(self)))
    curve = number_sub(1.0, ops.mul_Tensor.call(tanh, tanh))
    derivative = ops.mul_Tensor.call(ops.mul_Tensor.call(self, sigmoid), curve)
    return ops.mul_Tensor.call(grad, ops.add_Tensor.call(tanh, derivative, 1))


def hardswish_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    """grad * grad_output / 3 between -3 and 3"""
    zero = ops.zeros.call((), self._dtype, "strided", self._device, None)
    third = ops.div_Scalar.call(ops.mul_Tensor.call(grad, grad_output), 3.0)
    below = ops.lt_Scalar.call(self, 3.0)
    inside = ops.logical_and.call(ops.gt_Scalar.call(self, -3.0), below)
    return ops.where_self.call(inside, third, zero)


def elu_double_backward(
    grad: Tensor,
    grad_output: Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    self_or_result: Tensor,
) -> Tensor:
    """The derivative of elu_backward where the input is negative"""
    negative = ops.type_as.call(ops.lt_Scalar.call(self_or_result, 0), grad)
    product = ops.mul_Scalar.call(ops.mul_Tensor.call(grad, grad_output), input_scale)
    if not is_result:
        product = ops.elu_backward.call(product, alpha, scale, input_scale, is_result, self_or_result)
    return ops.mul_Tensor.call(product, negative)


def softplus_double_backward(grad: Tensor, input: Tensor, beta: Scalar, threshold: Scalar) -> Tensor:
    """grad * beta times the derivative of the sigmoid, below the threshold"""
    scaled = ops.mul_Scalar.call(input, beta)
    below = ops.type_as.call(ops.lt_Scalar.call(scaled, threshold), grad)
    derivative = ops.sigmoid_backward.call(grad, ops.sigmoid.call(scaled))
    return ops.mul_Scalar.call(ops.mul_Tensor.call(derivative, below), beta)
