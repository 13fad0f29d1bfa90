"""``binary_cross_entropy``, ``l1_loss``, ``smooth_l1_loss``, ``huber_loss``, ``kl_div`` and other elementwise losses
(``aten/src/ATen/native/Loss.cpp``); ``reduction``: ``at::Reduction``."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured, broadcast_sizes
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import (
    check_same_dtype,
    common_device,
    compute,
    elementwise,
    no_instance,
    not_implemented,
    out_elementwise,
    result_type,
)
from dispatchviz.core.native.losses.mse_nll_loss import MEAN, NONE
from dispatchviz.core.tensor.dtype import bfloat16, float16
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.guards import AutoGradMode


def apply_loss_reduction(unreduced: Tensor, reduction: int) -> Tensor:
    """The mean, the sum, or the tensor itself."""
    if reduction == MEAN:
        return ops.mean.call(unreduced, None)
    return unreduced if reduction == NONE else ops.sum.call(unreduced, None)


def _empty_like(tensor: Tensor) -> Tensor:
    return ops.empty_like.call(tensor, None, None, None, None, None)


# -- binary_cross_entropy ----------------------------------------------------------------------------------------------


def binary_cross_entropy(self: Tensor, target: Tensor, weight: Tensor | None, reduction: int) -> Tensor:
    """-target * log(self) - (1 - target) * log(1 - self), with logarithms of at least -100.

    Raise RuntimeError outside of [0, 1].
    """
    return binary_cross_entropy_out(self, target, weight, reduction, _empty_like(self))


def binary_cross_entropy_out(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``binary_cross_entropy``."""
    loss = out
    squeezed = [ops.squeeze.call(tensor) for tensor in (loss, self, target)]
    check_same_dtype(target, self._dtype)
    if not self._dtype.is_floating_point:
        raise not_implemented("binary_cross_entropy", self._dtype)
    if bool(((self._array < 0) | (self._array > 1)).any()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    xp: Any = array_module(self._device.type)

    def entropy(x: Any, y: Any) -> Any:
        return (y - 1) * xp.maximum(xp.log1p(-x), -100) - y * xp.maximum(xp.log(x), -100)

    out_elementwise(squeezed[0], *squeezed[1:])  # this leaves the size of the loss itself wrong
    compute(squeezed[0], self._dtype, entropy, *squeezed[1:], narrow=True)
    if weight is not None:
        ops.mul__Tensor.call(loss, weight)
    if reduction == NONE:
        return loss
    reduced = apply_loss_reduction(loss, reduction)
    return ops.copy_.call(ops.resize_as_.call(loss, reduced, None), reduced, False)


def binary_cross_entropy_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """grad * (self - target) / (self * (1 - self))"""
    return binary_cross_entropy_backward_out(grad_output, self, target, weight, reduction, _empty_like(self))


def binary_cross_entropy_backward_out(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, grad_input: Tensor
) -> Tensor:
    """Write the result of ``binary_cross_entropy_backward`` into ``grad_input``."""
    squeezed = [ops.squeeze.call(tensor) for tensor in (grad_input, grad_output, self, target)]
    check_same_dtype(target, self._dtype)
    xp: Any = array_module(self._device.type)

    def gradient(grad: Any, x: Any, y: Any) -> Any:
        return grad * (x - y) / xp.maximum((1 - x) * x, 1e-12)

    compute(squeezed[0], self._dtype, gradient, *squeezed[1:])
    if weight is not None:
        ops.mul__Tensor.call(grad_input, weight)
    if reduction == MEAN:
        ops.div__Scalar.call(grad_input, numel(self._size))
    return grad_input


def binary_cross_entropy_with_logits(
    self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor:
    """(1 - target) * self - log_sigmoid(self), with the second term times 1 + (pos_weight - 1) * target"""
    log_sigmoid_input = ops.log_sigmoid.call(self)
    if pos_weight is not None:
        log_weight = ops.mul_Tensor.call(ops.sub_Scalar.call(pos_weight, 1, 1), target)
        ops.mul__Tensor.call(log_sigmoid_input, ops.add__Scalar.call(log_weight, 1, 1))
    loss = one_minus(target)
    ops.sub__Tensor.call(ops.mul__Tensor.call(loss, self), log_sigmoid_input, 1)
    if weight is not None:
        ops.mul__Tensor.call(loss, weight)
    return apply_loss_reduction(loss, reduction)


def one_minus(tensor: Tensor, number: float = 1) -> Tensor:
    """A number minus a tensor, as C++ computes it."""
    filled = ops.empty_like.call(tensor, None, None, None, None, "preserve_format")
    return ops.sub__Tensor.call(ops.fill__Scalar.call(filled, number), tensor, 1)


# -- log_sigmoid -------------------------------------------------------------------------------------------------------


def log_sigmoid(self: Tensor) -> Tensor:
    """The first result of ``log_sigmoid_forward``."""
    return ops.log_sigmoid_forward.call(self)[0]


def log_sigmoid_forward(self: Tensor) -> tuple[Tensor, Tensor]:
    """min(self, 0) - log(1 + e ** -abs(self)), and that power; CUDA does not keep the power."""
    result = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    if self._device.type == "cpu":
        buffer = ops.empty_like.call(self, None, None, None, None, "contiguous_format")
    else:
        buffer = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    _put_log_sigmoid(self, result, buffer)
    return result, buffer


def log_sigmoid_forward_out(self: Tensor, output: Tensor, buffer: Tensor) -> tuple[Tensor, Tensor]:
    """Write ``log_sigmoid_forward`` into ``output`` and ``buffer``.

    Raise RuntimeError if their dtypes differ from that of self.
    """
    ops.resize_as_.call(output, self, None)
    if self._device.type == "cpu":
        ops.resize_as_.call(buffer, self, "contiguous_format")
    _put_log_sigmoid(self, output, buffer)
    return output, buffer


def log_sigmoid_out(self: Tensor, out: Tensor) -> Tensor:
    """Write ``log_sigmoid`` into ``out`` by calling ``log_sigmoid_forward``."""
    buffer = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.log_sigmoid_forward_output.call(self, out, buffer)[0]


def _put_log_sigmoid(self: Tensor, output: Tensor, buffer: Tensor) -> None:
    xp: Any = array_module(self._device.type)
    dtype = self._dtype
    common_device((output, self))
    if not dtype.is_floating_point:
        raise not_implemented("log_sigmoid_cpu", dtype)
    if output._dtype is not dtype:
        raise RuntimeError(f"expected scalar type {dtype.legacy} but found {output._dtype.legacy}")
    if self._device.type == "cpu":
        compute(buffer, dtype, lambda x: xp.exp(-xp.abs(x)), self)
    compute(output, dtype, lambda x: xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x))), self)


def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """grad * sigmoid(-self)"""
    return log_sigmoid_backward_out(grad_output, self, buffer, _empty_like(grad_output))


def log_sigmoid_backward_out(grad_output: Tensor, self: Tensor, buffer: Tensor, grad_input: Tensor) -> Tensor:
    """Write the gradient into ``grad_input``. On the CPU it uses the power that the forward function kept."""
    xp: Any = array_module(self._device.type)

    def gradient(grad: Any, x: Any, power: Any) -> Any:
        negative = x < 0
        most, sign = xp.where(negative, 1, 0), xp.where(negative, 1, -1)
        return (most - sign * (power / (1 + power))) * grad

    if self._device.type == "cpu":
        compute(grad_input, grad_input._dtype, gradient, grad_output, self, buffer)
    else:
        compute(grad_input, grad_input._dtype, lambda g, x: gradient(g, x, xp.exp(-xp.abs(x))), grad_output, self)
    return grad_input


# -- l1, smooth_l1, huber ----------------------------------------------------------------------------------------------


def l1_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """abs(self - target)"""
    return apply_loss_reduction(ops.abs.call(ops.sub_Tensor.call(self, target, 1)), reduction)


def smooth_l1_loss_meta(op: Structured, self: Tensor, target: Tensor, reduction: int, beta: float) -> None:
    """The common shape, or 0-dim if the loss is reduced."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    elementwise(op, self, target)
    if reduction != NONE:
        ops.resize_.call(op.output, (), None)


def smooth_l1_loss_out(self: Tensor, target: Tensor, reduction: int, beta: float, out: Tensor) -> None:
    """0.5 * difference ** 2 / beta, or abs(difference) - 0.5 * beta where abs(difference) is at least beta

    The CPU has a kernel for bfloat16 that rounds once; half is rounded at each step.
    """
    xp: Any = array_module(self._device.type)

    def smooth(x: Any, y: Any) -> Any:
        size = xp.abs(x - y)
        return xp.where(size < beta, 0.5 * size * size / (beta or 1), size - 0.5 * beta)

    dtype = result_type(self, target)
    function = no_instance("smooth_l1_cpu", dtype) if dtype.is_complex else smooth
    if reduction == NONE:
        return compute(out, dtype, function, self, target, narrow=dtype is float16)
    size = xp.broadcast_shapes(self._size, target._size)
    loss = ops.empty_memory_format.call(size, dtype, "strided", self._device, None, None)
    compute(loss, dtype, function, self, target, narrow=dtype is float16)
    if reduction == MEAN:
        ops.mean_out.call(loss, (), False, None, out)
    else:
        ops.sum_IntList_out.call(loss, (), False, None, out)
    return None


def smooth_l1_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The difference divided by beta and clamped to [-1, 1], times grad."""
    grad_input = ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    return ops.smooth_l1_loss_backward_grad_input.call(grad_output, self, target, reduction, beta, grad_input)


def smooth_l1_loss_backward_out(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float, grad_input: Tensor
) -> Tensor:
    """Write the result of ``smooth_l1_loss_backward`` into ``grad_input``."""
    xp: Any = array_module(self._device.type)
    norm = _norm(self, reduction)

    def gradient(x: Any, y: Any, grad: Any) -> Any:
        difference = x - y
        inside = norm * difference * grad / (beta or 1)
        return xp.where(difference <= -beta, -norm * grad, xp.where(difference >= beta, norm * grad, inside))

    compute(grad_input, grad_input._dtype, gradient, self, target, grad_output)
    return grad_input


def _norm(self: Tensor, reduction: int) -> float:
    return 1 / max(numel(self._size), 1) if reduction == MEAN else 1.0


def huber_loss(self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """0.5 * difference ** 2, or delta * (abs(difference) - 0.5 * delta) where abs(difference) is larger than delta

    The CPU has a kernel for half that rounds once; bfloat16 is rounded at each step.
    """
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    loss = _empty_like(self)
    xp: Any = array_module(self._device.type)

    def huber(x: Any, y: Any) -> Any:
        size = xp.abs(x - y)
        half, limit = size.dtype.type(0.5), size.dtype.type(delta)
        return xp.where(size < limit, half * size * size, limit * (size - half * limit))

    dtype = result_type(self, target)
    compute(loss, dtype, huber, self, target, narrow=dtype is bfloat16)
    return apply_loss_reduction(loss, reduction)


def huber_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The difference clamped to [-delta, delta], times grad."""
    grad_input = ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    return ops.huber_loss_backward_out.call(grad_output, self, target, reduction, delta, grad_input)


def huber_loss_backward_out(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float, grad_input: Tensor
) -> Tensor:
    """Write the result of ``huber_loss_backward`` into ``grad_input``."""
    xp: Any = array_module(self._device.type)
    norm = _norm(self, reduction)

    def gradient(x: Any, y: Any, grad: Any) -> Any:
        difference = x - y
        outside = xp.where(difference < 0, -norm * grad * delta, norm * grad * delta)
        return xp.where(xp.abs(difference) < delta, norm * difference * grad, outside)

    compute(grad_input, grad_input._dtype, gradient, self, target, grad_output)
    return grad_input


# -- losses composed of operators --------------------------------------------------------------------------------------


def kl_div(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    """target * (log(target) - self)"""
    if self._dtype.is_complex or target._dtype.is_complex:
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if log_target:
        difference = ops.sub_Tensor.call(target, self, 1)
        return apply_loss_reduction(ops.mul_Tensor.call(ops.exp.call(target), difference), reduction)
    product = ops.mul_Tensor.call(target, self)
    return apply_loss_reduction(ops.sub_Tensor.call(ops.xlogy_Tensor.call(target, target), product, 1), reduction)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """e ** input - target * input, or input - target * log(input)"""
    if log_input:
        product = ops.mul_Tensor.call(target, input)
        loss = ops.sub_Tensor.call(ops.exp.call(input), product, 1)
    else:
        product = ops.mul_Tensor.call(target, ops.log.call(ops.add_Scalar.call(input, eps, 1)))
        loss = ops.sub_Tensor.call(input, product, 1)
    if full:
        loss = ops.add__Tensor.call(loss, _stirling(target), 1)
    return apply_loss_reduction(loss, reduction)


def _stirling(target: Tensor) -> Tensor:
    half = ops.mul_Scalar.call(ops.log.call(ops.mul_Scalar.call(target, 6.283185307179586)), 0.5)
    product = ops.mul_Tensor.call(target, ops.log.call(target))
    term = ops.add_Tensor.call(ops.sub_Tensor.call(product, target, 1), half, 1)
    return ops.masked_fill_Scalar.call(term, ops.le_Scalar.call(target, 1), 0)


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """log(1 + e ** (-target * self))"""
    output = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.soft_margin_loss_out.call(self, target, reduction, output)


def soft_margin_loss_out(self: Tensor, target: Tensor, reduction: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``soft_margin_loss``."""
    ops.mul__Tensor.call(ops.neg_out.call(self, out), target)
    ops.log1p_.call(ops.exp_.call(out))
    if reduction != NONE:
        reduced = apply_loss_reduction(out, reduction)
        ops.copy_.call(ops.resize_.call(out, (), None), reduced, False)
    return out


def soft_margin_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """-target * z / (1 + z) * grad with z = e ** (-target * self)"""
    grad_input = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.soft_margin_loss_backward_grad_input.call(grad_output, self, target, reduction, grad_input)


def soft_margin_loss_backward_out(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, grad_input: Tensor
) -> Tensor:
    """Write the result of ``soft_margin_loss_backward`` into ``grad_input``."""
    norm = 1 / numel(self._size) if reduction == MEAN else 1.0
    z = ops.exp.call(ops.mul_Tensor.call(ops.neg.call(target), self))
    ops.mul__Scalar.call(ops.mul_out.call(target, z, grad_input), -norm)
    ops.add__Scalar.call(z, 1, 1)
    return ops.mul__Tensor.call(ops.div__Tensor.call(grad_input, z), grad_output)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    difference = ops.sub_Tensor.call(input1, input2, 1)
    product = ops.mul_Tensor.call(ops.neg.call(target), difference)
    output = ops.clamp_min_.call(ops.add_Scalar.call(product, margin, 1), 0)
    return apply_loss_reduction(output, reduction)


def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """self where target is 1, max(0, margin - self) where it is -1"""
    zeros = ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    clamped = ops.clamp_min_.call(one_minus(self, margin), 0)
    output_margin = ops.where_self.call(ops.ne_Scalar.call(target, 1), clamped, zeros)
    output_self = ops.where_self.call(ops.ne_Scalar.call(target, -1), self, zeros)
    return apply_loss_reduction(ops.add_Tensor.call(output_margin, output_self, 1), reduction)


_EPSILON = 9.999999960041972e-13
"""1e-12 as a float: PyTorch stores it as float32 and widens it."""


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1"""
    dim = len(target._size)
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if (len(input1._size), len(input2._size)) != (dim + 1, dim + 1):
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1._size)} and {list(input2._size)}."
        )
    product = _dots(input1, input2, dim)
    squares = [ops.add_Scalar.call(_dots(tensor, tensor, dim), _EPSILON, 1) for tensor in (input1, input2)]
    cosine = ops.div_Tensor.call(product, ops.sqrt_.call(ops.mul_Tensor.call(*squares)))
    zeros = ops.zeros_like.call(cosine, None, None, None, None, "contiguous_format")
    positive = one_minus(cosine)
    negative = ops.clamp_min_.call(ops.sub_Scalar.call(cosine, margin, 1), 0)
    output_pos = ops.where_self.call(ops.eq_Scalar.call(target, 1), positive, zeros)
    output_neg = ops.where_self.call(ops.eq_Scalar.call(target, -1), negative, zeros)
    return apply_loss_reduction(ops.add_Tensor.call(output_pos, output_neg, 1), reduction)


def _dots(a: Tensor, b: Tensor, dim: int) -> Tensor:
    return ops.sum_dim_IntList.call(ops.mul_Tensor.call(a, b), (dim,), False, None)


# -- distances ---------------------------------------------------------------------------------------------------------


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    p: float,
    eps: float,
    swap: bool,
    reduction: int,
) -> Tensor:
    """max(0, margin + distance to positive - distance to negative)"""
    ranks = [len(tensor._size) for tensor in (anchor, positive, negative)]
    if len(set(ranks)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {ranks[0]}D, positive {ranks[1]}D, and negative {ranks[2]}D inputs"
        )
    near = ops.pairwise_distance.call(anchor, positive, p, eps, False)
    far = ops.pairwise_distance.call(anchor, negative, p, eps, False)
    if swap:
        far = ops.min_other.call(far, ops.pairwise_distance.call(positive, negative, p, eps, False))
    difference = ops.sub_Tensor.call(ops.add_Scalar.call(near, margin, 1), far, 1)
    return apply_loss_reduction(ops.clamp_min.call(difference, 0), reduction)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension."""
    difference = ops.add_Scalar.call(ops.sub_Tensor.call(x1, x2, 1), eps, 1)
    last = max(len(x1._size), len(x2._size)) - 1
    return ops.norm_ScalarOpt_dim.call(difference, p, (last,), keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    """The dot product divided by both norms, which are at least eps."""
    dtype = ops.result_type_Tensor.call(x1, x2)
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.legacy}")
    x1, x2 = (
        tensor if tensor._dtype.is_floating_point else ops.to_dtype.call(tensor, dtype, False, False, None)
        for tensor in (x1, x2)
    )
    size = broadcast_sizes(x1._size, x2._size)
    if x1._size != x2._size:
        x2, x1 = (ops.expand.call(tensor, size, False) for tensor in (x2, x1))  # C++ evaluates the last argument first
    norms = [ops.clone.call(ops.linalg_vector_norm.call(tensor, 2, (dim,), True, None), None) for tensor in (x1, x2)]
    with AutoGradMode(False, "cosine_similarity"):
        least = ops.scalar_tensor.call(eps, dtype, "strided", norms[0]._device, None)
        for norm in norms:
            ops.clamp_min__Tensor.call(norm, least)
    second = ops.div_Tensor.call(x2, norms[1])  # C++ evaluates the right factor first
    first = ops.div_Tensor.call(x1, norms[0])
    return ops.sum_dim_IntList.call(ops.mul_Tensor.call(first, second), (dim,), False, None)
