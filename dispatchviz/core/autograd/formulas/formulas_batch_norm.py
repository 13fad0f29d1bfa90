"""Double backward of batch norm (``torch/csrc/autograd/FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import thread

Optional = Tensor | None
Mask = tuple[bool, ...]
Three = tuple[Optional, Optional, Optional]

# -- shapes ------------------------------------------------------------------------------------------------------------


def _sum_exclude_dim1(tensor: Tensor, keepdim: bool = True) -> Tensor:
    """The sum of each channel, dimension by dimension."""
    result = ops.sum_dim_IntList.call(tensor, (0,), keepdim, None)
    for dim in range(len(result._size) - 1, 1 if keepdim else 0, -1):
        result = ops.sum_dim_IntList.call(result, (dim,), keepdim, None)
    return result


def _unsqueeze_dim1(tensor: Tensor, target: Tensor) -> Tensor:
    """One number per channel, in a shape that broadcasts."""
    while len(tensor._size) < len(target._size) - 1:
        tensor = ops.unsqueeze.call(tensor, 1)
    return ops.unsqueeze.call(tensor, 0) if len(tensor._size) == len(target._size) - 1 else tensor


def _expand_as_dim1(tensor: Tensor, target: Tensor) -> Tensor:
    """One number per channel, in the target's shape."""
    while len(tensor._size) < len(target._size) - 1:
        tensor = ops.unsqueeze.call(tensor, 1)
    return ops.expand_as.call(tensor, target)


def _added(so_far: Optional, term: Tensor) -> Tensor:
    return term if so_far is None else ops.add__Tensor.call(so_far, term, 1)


# -- batch norm --------------------------------------------------------------------------------------------------------


class _Batch(NamedTuple):
    """The input, the powers of its standard deviation, and sums of the gradient."""

    length: int
    """The number of elements of a channel."""
    grad_out: Tensor
    distance: Tensor
    """The distance of each element from the mean."""
    minus_half: Tensor
    """The variance to the power -1/2."""
    minus_one: Tensor
    minus_three_halves: Tensor
    distance_minus_three_halves: Tensor
    grad_distance: Tensor
    """The sum of gradients times distances."""
    grad_sum: Tensor


def batchnorm_double_backward(
    input: Tensor, gamma: Optional, grads: list[Optional], grad_out: Tensor, running_mean: Optional,
    running_var: Optional, training: bool, eps: float, save_mean: Optional, save_invstd: Optional, mask: Mask,
) -> Three:  # fmt: skip
    """The gradients of input, weight and grad_out, from those of the backward's results."""
    gamma_full, gamma_grad, beta_grad = _affine(input, gamma, grads)
    input_grad = grads[0]
    statistics = (save_mean, save_invstd) if training else (running_mean, running_var)
    batch = _batch(input, grad_out, statistics, training, eps)
    of_input = None
    if input_grad is not None and training:
        of_input = ops.mul_Tensor.call(gamma_full, _input_gradient(batch, input_grad))
    if gamma is not None and gamma_grad is not None:
        of_input = _added(of_input, _gamma_gradient(batch, gamma_grad, training))
    of_weight = None
    if gamma is not None and input_grad is not None:
        of_weight = _weight_gradient(batch, input_grad, training)
    of_grad_out = None
    if input_grad is not None and training:
        of_grad_out = _first_backward(batch, input_grad, gamma_full)
    elif input_grad is not None:
        of_grad_out = ops.mul_Tensor.call(ops.mul_Tensor.call(input_grad, batch.minus_half), gamma_full)
    if gamma_grad is not None:
        term = ops.mul_Tensor.call(ops.mul_Tensor.call(gamma_grad, batch.distance), batch.minus_half)
        of_grad_out = _added(of_grad_out, term)
    if beta_grad is not None:
        of_grad_out = _added(of_grad_out, beta_grad)
    return of_input, of_weight, of_grad_out


def _affine(input: Tensor, gamma: Optional, grads: list[Optional]) -> tuple[Tensor, Optional, Optional]:
    """The weight, and the gradients of weight and bias, in the input's shape."""
    if gamma is None:
        return ops.ones.call((), input._dtype, "strided", input._device, None), None, None
    full = _expand_as_dim1(gamma, input)
    gamma_grad, beta_grad = (None if grad is None else _expand_as_dim1(grad, input) for grad in grads[1:])
    return full, gamma_grad, beta_grad


def _batch(
    input: Tensor, grad_out: Tensor, statistics: tuple[Optional, Optional], training: bool, eps: float
) -> _Batch:
    mean, invstd_or_var = statistics
    assert mean is not None
    assert invstd_or_var is not None
    count = prod(input._size) // input._size[1]
    mu = ops.to_dtype.call(mean, input._dtype, False, False, None) if training else mean
    if training:
        root = ops.to_dtype.call(invstd_or_var, input._dtype, False, False, None)
    else:
        root = ops.pow__Scalar.call(ops.add_Scalar.call(invstd_or_var, eps, 1), -0.5)
    distance = ops.sub_Tensor.call(input, _unsqueeze_dim1(mu, input), 1)
    minus_half = _unsqueeze_dim1(root, input)
    minus_one = ops.pow_Tensor_Scalar.call(minus_half, 2)
    minus_three_halves = ops.pow_Tensor_Scalar.call(minus_half, 3)
    product = ops.mul_Tensor.call(distance, minus_three_halves)
    grad_distance = _sum_exclude_dim1(ops.mul_Tensor.call(grad_out, distance))
    grad_sum = _sum_exclude_dim1(grad_out)
    return _Batch(
        count, grad_out, distance, minus_half, minus_one, minus_three_halves, product, grad_distance, grad_sum
    )


def _input_gradient(batch: _Batch, input_grad: Tensor) -> Tensor:
    """The gradient of the input through the gradient of the input, without the weight."""
    count = batch.length
    total = _sum_exclude_dim1(input_grad)
    along = _sum_exclude_dim1(ops.mul_Tensor.call(input_grad, batch.distance))
    less = ops.div__Scalar.call(ops.mul_Tensor.call(total, batch.grad_sum), count)
    less = ops.sub__Tensor.call(less, _sum_exclude_dim1(ops.mul_Tensor.call(batch.grad_out, input_grad)), 1)
    product = ops.mul_Tensor.call(ops.mul_Tensor.call(batch.minus_one, batch.grad_distance), along)
    less = ops.add__Tensor.call(less, ops.mul__Scalar.call(product, 3.0 / count), 1)
    first = ops.div__Scalar.call(ops.mul_Tensor.call(batch.distance_minus_three_halves, less), count)
    second = _through_statistics(batch, along, batch.grad_sum, batch.grad_out)
    third = _through_statistics(batch, batch.grad_distance, total, input_grad)
    return ops.add__Tensor.call(ops.add__Tensor.call(first, second, 1), third, 1)


def _through_statistics(batch: _Batch, along: Tensor, total: Tensor, each: Tensor) -> Tensor:
    """along / variance ** 1.5 / count * (total / count - each)"""
    rest = ops.sub_Tensor.call(ops.div_Scalar.call(total, batch.length), each, 1)
    derivative = ops.div__Scalar.call(ops.mul_Tensor.call(along, batch.minus_three_halves), batch.length)
    return ops.mul_Tensor.call(derivative, rest)


def _gamma_gradient(batch: _Batch, gamma_grad: Tensor, training: bool) -> Tensor:
    """The gradient of the input through the gradient of the weight."""
    grad_out, count = batch.grad_out, batch.length
    if not training:
        return ops.mul_Tensor.call(ops.mul_Tensor.call(gamma_grad, batch.minus_half), grad_out)
    first = ops.mul_Tensor.call(grad_out, batch.minus_half)
    second = ops.div__Scalar.call(ops.mul_Tensor.call(batch.minus_half, batch.grad_sum), -count)
    total = _sum_exclude_dim1(ops.mul_Tensor.call(grad_out, batch.distance))
    third = ops.div__Scalar.call(ops.mul_Tensor.call(batch.distance_minus_three_halves, total), -count)
    terms = ops.add__Tensor.call(ops.add__Tensor.call(first, second, 1), third, 1)
    return ops.mul_Tensor.call(gamma_grad, terms)


def _weight_gradient(batch: _Batch, input_grad: Tensor, training: bool) -> Tensor:
    if not training:
        product = ops.mul_Tensor.call(ops.mul_Tensor.call(input_grad, batch.grad_out), batch.minus_half)
        return _sum_exclude_dim1(product, keepdim=False)
    one = ops.ones.call((), batch.minus_half._dtype, "strided", batch.minus_half._device, None)
    product = ops.mul_Tensor.call(input_grad, _first_backward(batch, batch.grad_out, one))
    return _sum_exclude_dim1(product, keepdim=False)


def _first_backward(batch: _Batch, grad: Tensor, gamma: Tensor) -> Tensor:
    """The gradient of the input that the backward returns for ``grad``."""
    derivative = ops.div__Scalar.call(ops.mul_Tensor.call(gamma, batch.minus_half), batch.length)
    rest = ops.mul_Scalar.call(grad, batch.length)
    rest = ops.sub__Tensor.call(rest, _sum_exclude_dim1(grad), 1)
    total = _sum_exclude_dim1(ops.mul_Tensor.call(grad, batch.distance))
    along = ops.mul_Tensor.call(ops.mul_Tensor.call(batch.distance, batch.minus_one), total)
    return ops.mul_Tensor.call(derivative, ops.sub__Tensor.call(rest, along, 1))


def reserved(reserve: Tensor) -> Tensor:
    """Memory to which backends other than the CPU write, copied if the graph is kept."""
    task = thread.state.graph_task
    return ops.clone.call(reserve, None) if task is not None and task.keep_graph else reserve
