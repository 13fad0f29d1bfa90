"""Backward functions of losses and layers (``torch/csrc/autograd/FunctionsManual.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.losses import MEAN
from dispatchviz.core.tensor import Tensor, numel
from dispatchviz.core.thread_state import thread

# -- mse_loss ----------------------------------------------------------------------------------------------------------


def mse_loss_backward_grad_output(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """As mse_loss_backward, in the shape of the gradient"""
    return ops.mse_loss_backward.call(grad, self, target, reduction)


def mse_loss_double_backward(grad: Tensor, input: Tensor, reduction: int) -> Tensor:
    """2 * grad, divided by the count for a mean"""
    doubled = ops.mul_Scalar.call(grad, 2)
    return ops.div_Scalar.call(doubled, numel(input._size)) if reduction == MEAN else doubled


def mse_loss_double_backward_target(grad: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The same with the other sign"""
    return ops.neg.call(mse_loss_double_backward(grad, target, reduction))


# -- softmax -----------------------------------------------------------------------------------------------------------


def softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Tensor:
    """grad_output * grad, less what the sums give"""
    second = _weighted_sum(output, grad_output, dim)
    first = _weighted_sum(output, grad, dim)
    of_output = ops.mul_Tensor.call(grad, grad_output)
    return ops.sub_Tensor.call(
        ops.sub_Tensor.call(of_output, ops.mul_Tensor.call(first, grad_output), 1), ops.mul_Tensor.call(second, grad), 1
    )


def _weighted_sum(output: Tensor, grad: Tensor, dim: int) -> Tensor:
    return ops.sum_dim_IntList.call(ops.mul_Tensor.call(output, grad), (dim,), True, None)


def log_softmax_double_backward_grad(grad: Tensor, output: Tensor, dim: int) -> Tensor:
    """grad less the sum of grad * e ** output"""
    product = ops.mul_Tensor.call(grad, ops.exp.call(output))
    return ops.sub_Tensor.call(grad, ops.sum_dim_IntList.call(product, (dim,), True, None), 1)


def log_softmax_double_backward(grad: Tensor, grad_output: Tensor, output: Tensor, dim: int) -> Tensor:
    """-(sum of grad_output) * e ** output * grad"""
    powers = ops.exp.call(output)
    total = ops.sum_dim_IntList.call(ops.neg.call(grad_output), (dim,), True, None)
    return ops.mul_Tensor.call(ops.mul_Tensor.call(total, powers), grad)


# -- dropout -----------------------------------------------------------------------------------------------------------


def native_dropout_gradient(grad: Tensor, mask: Tensor, p: float, train: bool | None) -> Tensor:
    """grad where the element was kept, times what it was multiplied by"""
    scale = 1.0 if not train else 0.0 if p == 1 else 1.0 / (1.0 - p)
    if not thread.state.grad_mode:
        return ops.native_dropout_backward.call(grad, mask, scale)
    return ops.mul_Tensor.call(grad, ops.mul_Scalar.call(mask, scale))
