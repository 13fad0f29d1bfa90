"""Backward functions of losses (``torch/csrc/autograd/FunctionsManual.cpp``).

What may be differentiated again is not written in place.
"""

from __future__ import annotations

from dispatchviz.core.autograd.functions_manual import number_sub
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.losses import MEAN
from dispatchviz.core.tensor import Tensor, numel
from dispatchviz.core.thread_state import thread

Optional = Tensor | None


def _times(tensor: Tensor, factor: Tensor) -> Tensor:
    call = ops.mul_Tensor.call if thread.state.grad_mode else ops.mul__Tensor.call
    return call(tensor, factor)


# -- binary_cross_entropy ----------------------------------------------------------------------------------------------


def binary_cross_entropy_target_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Optional, reduction: int
) -> Tensor:
    """grad * (log(1 - self) - log(self))"""
    complement = ops.log_.call(number_sub(1.0, self))
    grad_target = ops.mul__Tensor.call(ops.sub__Tensor.call(complement, ops.log.call(self), 1), grad)
    if weight is not None:
        ops.mul__Tensor.call(grad_target, weight)
    if reduction == MEAN:
        ops.div__Scalar.call(grad_target, numel(target._size))
    return grad_target


def binary_cross_entropy_with_logits_backward(
    grad: Tensor, input: Tensor, target: Tensor, weight: Optional, pos_weight: Optional, reduction: int
) -> Tensor:
    """grad * (sigmoid(input) - target), the target's part weighted"""
    if pos_weight is not None:
        found = _with_positive_weight(input, target, pos_weight)
    else:
        sub = ops.sub_Tensor.call if thread.state.grad_mode else ops.sub__Tensor.call
        found = sub(ops.sigmoid.call(input), target, 1)
    found = _times(found, grad)
    if weight is not None:
        found = _times(found, weight)
    if reduction != MEAN:
        return found
    return (ops.div_Scalar.call if thread.state.grad_mode else ops.div__Scalar.call)(found, numel(input._size))


def _with_positive_weight(input: Tensor, target: Tensor, pos_weight: Tensor) -> Tensor:
    t = ops.mul_Tensor.call(pos_weight, target)
    total = ops.add_Scalar.call(t, 1, 1)
    if thread.state.grad_mode:
        scaled = ops.mul_Tensor.call(ops.sub_Tensor.call(total, target, 1), ops.sigmoid.call(input))
        return ops.sub_Tensor.call(scaled, t, 1)
    scaled = ops.mul__Tensor.call(ops.sub__Tensor.call(total, target, 1), ops.sigmoid.call(input))
    return ops.sub__Tensor.call(scaled, t, 1)


def binary_cross_entropy_with_logits_target_backward(
    grad: Tensor, input: Tensor, target: Tensor, weight: Optional, pos_weight: Optional, reduction: int
) -> Tensor:
    """-input * grad. NotImplementedError with weights of positives."""
    if pos_weight is not None:
        raise NotImplementedError("gradients of targets with pos_weight are not part of the model")
    found = ops.mul_Tensor.call(ops.neg.call(input), grad)
    if weight is not None:
        found = _times(found, weight)
    return ops.div_Scalar.call(found, numel(input._size)) if reduction == MEAN else found


# -- twice -------------------------------------------------------------------------------------------------------------


def log_sigmoid_double_backward(grad: Tensor, input: Tensor) -> Tensor:
    """grad * sigmoid(input) * (sigmoid(input) - 1)"""
    z = ops.sigmoid.call(input)
    return ops.mul_Tensor.call(ops.mul_Tensor.call(grad, ops.sub_Scalar.call(z, 1, 1)), z)


def smooth_l1_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """grad / beta where the difference is smaller than beta, else 0"""
    near = ops.lt_Scalar.call(ops.abs.call(ops.sub_Tensor.call(input, target, 1)), beta)
    found = ops.mul_Tensor.call(grad, ops.type_as.call(near, grad))
    found = ops.div_Scalar.call(found, beta)
    return ops.div__Scalar.call(found, numel(input._size)) if reduction == MEAN else found


def huber_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """grad where the difference is smaller than delta, else 0"""
    near = ops.lt_Scalar.call(ops.abs.call(ops.sub_Tensor.call(input, target, 1)), delta)
    found = ops.mul_Tensor.call(grad, near)
    return ops.div__Scalar.call(found, numel(input._size)) if reduction == MEAN else found


def huber_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float
) -> Tensor:
    """As the backward, in the shape of the gradient"""
    found = ops.huber_loss_backward.call(grad, input, target, reduction, delta)
    return found if reduction == 0 else ops.sum.call(found, None)
