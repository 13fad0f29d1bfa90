"""Double backward of ``native_layer_norm`` (``torch/csrc/autograd/FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left. All is
computed over rows: the elements that are normalized together.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor

Mask = tuple[bool, ...]
Three = tuple[Tensor | None, Tensor | None, Tensor | None]

# -- twice backward ----------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The input as rows, and the powers of its standard deviation."""

    length: int
    distance: Tensor
    """The distance of each element from the mean."""
    minus_half: Tensor
    """The variance to the power -1/2."""
    minus_one: Tensor
    minus_three_halves: Tensor
    distance_minus_three_halves: Tensor


def layer_norm_double_backward(
    input: Tensor, gamma: Tensor | None, grads: list[Tensor | None], grad_out: Tensor, mean: Tensor, rstd: Tensor,
    normalized_shape: Size, grad_input_mask: Mask,
) -> Three:  # fmt: skip
    """The gradients of input, weight and grad_out, from those of the backward's results.

    Raise RuntimeError, as in PyTorch, if the gradients of an input and of a bias without a weight are given.
    """
    axis = len(input._size) - len(normalized_shape)
    count, length = prod(input._size[:axis]), prod(input._size[axis:])
    flat = ops.reshape.call(input, (count, length))
    given = ops.reshape.call(grad_out, (count, length))
    mu = ops.reshape.call(mean, (count, 1))
    deviation = ops.reshape.call(rstd, (count, 1))
    gamma_row, gamma_grad, beta_grad = _affine_rows(input, gamma, grads, length)
    input_grad = None if grads[0] is None else ops.reshape.call(grads[0], (count, length))
    rows = _rows(flat, mu, deviation, length)
    of_input = _input_gradient(rows, given, gamma_row, input_grad)
    if gamma is not None and gamma_grad is not None:
        of_input = _added(of_input, _gamma_gradient(rows, given, gamma_grad))
    of_weight = of_grad_out = None
    if of_input is not None:
        of_input = ops.reshape_as.call(of_input, input)
    if gamma is not None and input_grad is not None:
        one = ops.ones.call((), deviation._dtype, "strided", deviation._device, None)
        product = ops.mul_Tensor.call(given, _first_backward(rows, input_grad, one))
        of_weight = ops.reshape_as.call(ops.sum_dim_IntList.call(product, (0,), False, None), gamma)
    if input_grad is not None:
        of_grad_out = _first_backward(rows, input_grad, gamma_row)
    if gamma_grad is not None:
        term = ops.mul_Tensor.call(ops.mul_Tensor.call(gamma_grad, rows.distance), rows.minus_half)
        of_grad_out = _added(of_grad_out, term)
    if beta_grad is not None:
        of_grad_out = _added(of_grad_out, beta_grad)
    elif grads[2] is not None and of_grad_out is not None:
        raise RuntimeError(
            "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #1 'other'"
        )
    if of_grad_out is not None:
        of_grad_out = ops.reshape_as.call(ops.expand.call(of_grad_out, (count, length), False), input)
    return of_input, of_weight, of_grad_out


def _affine_rows(
    input: Tensor, gamma: Tensor | None, grads: list[Tensor | None], length: int
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The weight, and the gradients of weight and bias, as one row each."""
    if gamma is None:
        return ops.ones.call((1,), input._dtype, "strided", input._device, None), None, None
    row = ops.reshape.call(gamma, (1, length))
    gamma_grad, beta_grad = (None if g is None else ops.reshape.call(g, (1, length)) for g in grads[1:])
    return row, gamma_grad, beta_grad


def _rows(flat: Tensor, mu: Tensor, deviation: Tensor, length: int) -> _Rows:
    mu = ops.to_dtype.call(mu, flat._dtype, False, False, None)
    distance = ops.sub_Tensor.call(flat, mu, 1)
    minus_half = ops.to_dtype.call(deviation, flat._dtype, False, False, None)
    minus_one = ops.pow_Tensor_Scalar.call(minus_half, 2)
    minus_three_halves = ops.pow_Tensor_Scalar.call(minus_half, 3)
    product = ops.mul_Tensor.call(distance, minus_three_halves)
    return _Rows(length, distance, minus_half, minus_one, minus_three_halves, product)


def _added(so_far: Tensor | None, term: Tensor) -> Tensor:
    return term if so_far is None else ops.add__Tensor.call(so_far, term, 1)


def _sum(tensor: Tensor) -> Tensor:
    """The sum of each row."""
    return ops.sum_dim_IntList.call(tensor, (1,), True, None)


def _input_gradient(rows: _Rows, given: Tensor, gamma_row: Tensor, input_grad: Tensor | None) -> Tensor | None:
    """The gradient of the input through the gradient of the input."""
    if input_grad is None:
        return None
    length = rows.length
    scaled = ops.mul_Tensor.call(given, gamma_row)
    scaled_distance = _sum(ops.mul_Tensor.call(scaled, rows.distance))
    scaled_sum = _sum(scaled)
    grad_sum = _sum(input_grad)
    grad_distance = _sum(ops.mul_Tensor.call(input_grad, rows.distance))
    less = ops.div__Scalar.call(ops.mul_Tensor.call(grad_sum, scaled_sum), length)
    less = ops.sub__Tensor.call(less, _sum(ops.mul_Tensor.call(input_grad, scaled)), 1)
    product = ops.mul_Tensor.call(ops.mul_Tensor.call(rows.minus_one, scaled_distance), grad_distance)
    less = ops.add__Tensor.call(less, ops.mul__Scalar.call(product, 3.0 / length), 1)
    first = ops.div__Scalar.call(ops.mul_Tensor.call(rows.distance_minus_three_halves, less), length)
    second = _through_statistics(rows, grad_distance, scaled_sum, scaled)
    third = _through_statistics(rows, scaled_distance, grad_sum, input_grad)
    return ops.add__Tensor.call(ops.add__Tensor.call(first, second, 1), third, 1)


def _through_statistics(rows: _Rows, distance: Tensor, total: Tensor, each: Tensor) -> Tensor:
    """distance / variance ** 1.5 / length * (total / length - each)"""
    rest = ops.sub_Tensor.call(ops.div_Scalar.call(total, rows.length), each, 1)
    derivative = ops.div__Scalar.call(ops.mul_Tensor.call(distance, rows.minus_three_halves), rows.length)
    return ops.mul_Tensor.call(derivative, rest)


def _gamma_gradient(rows: _Rows, given: Tensor, gamma_grad: Tensor) -> Tensor:
    """The gradient of the input through the gradient of the weight."""
    first = ops.mul_Tensor.call(ops.mul_Tensor.call(given, gamma_grad), rows.minus_half)
    total = _sum(ops.mul_Tensor.call(given, gamma_grad))
    second = ops.div__Scalar.call(ops.mul_Tensor.call(rows.minus_half, total), -rows.length)
    total = _sum(ops.mul_Tensor.call(ops.mul_Tensor.call(given, gamma_grad), rows.distance))
    third = ops.div__Scalar.call(ops.mul_Tensor.call(rows.distance_minus_three_halves, total), -rows.length)
    return ops.add__Tensor.call(ops.add__Tensor.call(first, second, 1), third, 1)


def _first_backward(rows: _Rows, grad: Tensor, gamma: Tensor) -> Tensor:
    """The gradient of the input that the backward returns for ``grad``."""
    derivative = ops.div__Scalar.call(ops.mul_Tensor.call(gamma, rows.minus_half), rows.length)
    rest = ops.sub__Tensor.call(ops.mul_Scalar.call(grad, rows.length), _sum(grad), 1)
    total = _sum(ops.mul_Tensor.call(grad, rows.distance))
    rest = ops.sub__Tensor.call(rest, ops.mul_Tensor.call(ops.mul_Tensor.call(rows.distance, rows.minus_one), total), 1)
    return ops.mul_Tensor.call(derivative, rest)
