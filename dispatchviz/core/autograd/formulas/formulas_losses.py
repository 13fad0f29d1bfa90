"""Backward and double backward of ``binary_cross_entropy``, ``smooth_l1_loss``, ``huber_loss`` and other losses
(``torch/csrc/autograd/FunctionsManual.cpp``).

Results that may be differentiated again are not written in place.
"""

from __future__ import annotations

from dispatchviz.core.autograd.formulas.functions_manual import number_sub
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.losses.mse_nll_loss import MEAN
from dispatchviz.core.tensor.conj_neg_bits import is_zerotensor
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.guards import AutoGradMode
from dispatchviz.core.thread.thread_state import thread

Optional = Tensor | None


def _times(tensor: Tensor, factor: Tensor) -> Tensor:
    elsewhere = thread.state.grad_mode or is_tensor_subclass_like(factor)
    return (ops.mul_Tensor if elsewhere else ops.mul__Tensor).call(tensor, factor)


# -- binary_cross_entropy ----------------------------------------------------------------------------------------------


def binary_cross_entropy_target_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Optional, reduction: int
) -> Tensor:
    """-grad * logit(self)"""
    found = ops.neg_.call(ops.logit.call(self, None))
    for factor in (grad,) if weight is None else (grad, weight):
        found = (ops.mul_Tensor if is_tensor_subclass_like(factor) else ops.mul__Tensor).call(found, factor)
    return ops.div__Scalar.call(found, numel(target._size)) if reduction == MEAN else found


def binary_cross_entropy_with_logits_backward(
    grad: Tensor, input: Tensor, target: Tensor, weight: Optional, pos_weight: Optional, reduction: int
) -> Tensor:
    """grad * (sigmoid(input) - target), the target's part weighted"""
    if is_zerotensor(grad):
        return ops._efficientzerotensor.call(input._size, input._dtype, "strided", input._device, None)
    elsewhere = thread.state.grad_mode or is_tensor_subclass_like(input) or is_tensor_subclass_like(target)
    if pos_weight is not None:
        found = _with_positive_weight(input, target, pos_weight, elsewhere)
    else:
        sub = ops.sub_Tensor.call if elsewhere else ops.sub__Tensor.call
        found = sub(ops.sigmoid.call(input), target, 1)
    for factor in (grad,) if weight is None else (grad, weight):
        found = _times(found, factor)
    return ops.div__Scalar.call(found, numel(input._size)) if reduction == MEAN else found


def _with_positive_weight(input: Tensor, target: Tensor, pos_weight: Tensor, elsewhere: bool) -> Tensor:
    t = ops.mul_Tensor.call(pos_weight, target)
    total = ops.add_Scalar.call(t, 1, 1)
    if elsewhere:
        scaled = ops.mul_Tensor.call(ops.sub_Tensor.call(total, target, 1), ops.sigmoid.call(input))
        return ops.sub_Tensor.call(scaled, t, 1)
    scaled = ops.mul__Tensor.call(ops.sub__Tensor.call(total, target, 1), ops.sigmoid.call(input))
    return ops.sub__Tensor.call(scaled, t, 1)


def binary_cross_entropy_with_logits_target_backward(
    grad: Tensor, input: Tensor, target: Tensor, weight: Optional, pos_weight: Optional, reduction: int
) -> Tensor:
    """-input * grad, or the difference of two log-sigmoids, the second weighted"""
    if is_zerotensor(grad):
        return ops._efficientzerotensor.call(target._size, target._dtype, "strided", target._device, None)
    if pos_weight is None:
        found = ops.mul_Tensor.call(ops.neg.call(input), grad)
    else:
        found = _weighted_log_sigmoids(grad, input, pos_weight)
    if weight is not None:
        found = (ops.mul_Tensor if is_tensor_subclass_like(weight) else ops.mul__Tensor).call(found, weight)
    return ops.div__Scalar.call(found, numel(target._size)) if reduction == MEAN else found


def _weighted_log_sigmoids(grad: Tensor, input: Tensor, pos_weight: Tensor) -> Tensor:
    negative = ops.log_sigmoid.call(ops.neg.call(input))
    positive = ops.log_sigmoid.call(input)
    if is_tensor_subclass_like(pos_weight) or is_tensor_subclass_like(grad):
        difference = ops.sub_Tensor.call(negative, ops.mul_Tensor.call(positive, pos_weight), 1)
        return ops.mul_Tensor.call(difference, grad)
    difference = ops.sub__Tensor.call(negative, ops.mul__Tensor.call(positive, pos_weight), 1)
    return ops.mul__Tensor.call(difference, grad)


# -- binary_cross_entropy twice ----------------------------------------------------------------------------------------

_EPSILON = 1e-12


def _plus_epsilon(tensor: Tensor) -> Tensor:
    return ops.add_Scalar.call(tensor, _EPSILON, 1)


def binary_cross_entropy_double_backward(
    grad_output: Tensor, grad: Tensor, input: Tensor, target: Tensor, weight: Optional, reduction: int
) -> Tensor:
    """grad * grad_output times the derivative of (input - target) / (input * (1 - input))"""
    raised = _plus_epsilon(input)
    complement = _plus_epsilon(number_sub(1, input))
    complement_square = ops.pow_Tensor_Scalar.call(complement, 2)
    divisor = ops.mul_Tensor.call(ops.pow_Tensor_Scalar.call(raised, 2), complement_square)
    double = ops.mul_Tensor.call(ops.mul_Scalar.call(input, 2), target)
    square = ops.mul_Tensor.call(input, input)
    derivative = ops.div_Tensor.call(ops.add_Tensor.call(ops.sub_Tensor.call(square, double, 1), target, 1), divisor)
    return _weighted_mean(ops.mul__Tensor.call(derivative, ops.mul_Tensor.call(grad, grad_output)), weight, reduction)


def _weighted_mean(found: Tensor, weight: Optional, reduction: int) -> Tensor:
    if weight is not None:
        ops.mul__Tensor.call(found, weight)
    return ops.div_Scalar.call(found, numel(found._size)) if reduction == MEAN else found


def binary_cross_entropy_double_backward_target(
    grad: Tensor, grad_output: Tensor, self: Tensor, target: Tensor, weight: Optional, reduction: int
) -> Tensor:
    """-grad * grad_output / (self * (1 - self))"""
    found = ops.mul_Tensor.call(ops.neg.call(grad), grad_output)
    if weight is not None:
        ops.mul__Tensor.call(found, weight)
    divisor = ops.mul__Tensor.call(number_sub(1, self), self)
    with AutoGradMode(False, "binary_cross_entropy_double_backward_target"):
        ops.clamp_min_.call(divisor, _EPSILON)
    ops.div__Tensor.call(found, divisor)
    return ops.div__Scalar.call(found, numel(target._size)) if reduction == MEAN else found


def binary_cross_entropy_double_backward_grad_output(
    grad: Tensor, input: Tensor, target: Tensor, weight: Optional, reduction: int
) -> Tensor:
    """grad * (input - target) / (input * (1 - input)), which the engine then sums to the shape of the gradient"""
    complement = _plus_epsilon(number_sub(1, input))
    divisor = ops.mul_Tensor.call(_plus_epsilon(input), complement)
    derivative = ops.div_Tensor.call(ops.sub_Tensor.call(input, target, 1), divisor)
    return _weighted_mean(ops.mul__Tensor.call(derivative, grad), weight, reduction)


# -- twice -------------------------------------------------------------------------------------------------------------


def log_sigmoid_double_backward(grad: Tensor, input: Tensor) -> Tensor:
    """grad * sigmoid(input) * (sigmoid(input) - 1)"""
    z = ops.sigmoid.call(input)
    return ops.mul_Tensor.call(ops.mul_Tensor.call(grad, ops.sub_Scalar.call(z, 1, 1)), z)


def smooth_l1_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """grad / beta where the difference is smaller than beta, else 0"""
    if beta == 0:
        return ops.zeros.call(grad._size, grad._dtype, "strided", grad._device, None)
    near = ops.lt_Scalar.call(ops.abs.call(ops.sub_Tensor.call(input, target, 1)), beta)
    found = ops.mul_Tensor.call(grad, ops.type_as.call(near, grad))
    return _mean(ops.div_Scalar.call(found, beta), input, reduction)


def huber_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """grad where the difference is smaller than delta, else 0"""
    near = ops.lt_Scalar.call(ops.abs.call(ops.sub_Tensor.call(input, target, 1)), delta)
    return _mean(ops.mul_Tensor.call(grad, near), input, reduction)


def huber_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float
) -> Tensor:
    """huber_loss_backward, summed to the shape of the gradient"""
    if not reduction:
        return ops.huber_loss_backward.call(grad, input, target, reduction, delta)
    derivative = ops.huber_loss_backward.call(_ones_like(grad_output), input, target, reduction, delta)
    return ops.sum.call(ops.mul_Tensor.call(derivative, grad), None)


def soft_margin_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    """grad * target ** 2 * z / (1 + z) ** 2, where z = exp(-input * target)"""
    z = ops.exp.call(ops.mul_Tensor.call(input, ops.neg.call(target)))
    zplus1 = ops.add_Scalar.call(z, 1, 1)
    square = ops.mul_Tensor.call(zplus1, zplus1)
    product = ops.mul_Tensor.call(grad, ops.mul_Tensor.call(target, target))
    return _mean(ops.div_Tensor.call(ops.mul_Tensor.call(product, z), square), input, reduction)


def soft_margin_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int
) -> Tensor:
    """soft_margin_loss_backward, summed to the shape of the gradient"""
    if not reduction:
        return ops.soft_margin_loss_backward.call(grad, input, target, reduction)
    derivative = ops.soft_margin_loss_backward.call(_ones_like(grad_output), input, target, reduction)
    return ops.sum.call(ops.mul_Tensor.call(derivative, grad), None)


def _mean(found: Tensor, input: Tensor, reduction: int) -> Tensor:
    return ops.div__Scalar.call(found, numel(input._size)) if reduction == MEAN else found


def _ones_like(tensor: Tensor) -> Tensor:
    return ops.ones_like.call(tensor, None, None, None, None, None)
