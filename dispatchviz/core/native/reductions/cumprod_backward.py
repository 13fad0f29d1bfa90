"""``cumprod_backward``: gradient of the cumulative product (``aten/src/ATen/native/ReduceOps.cpp``).

Operators are called in PyTorch's order, in which C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.conj import conj
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.thread_state import thread


def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    """The reversed cumulative sum of output * grad, divided by input.

    Zeros are not divided by. The running sum is used up to the first zero of a row, whose gradient counts the products
    after it. If the gradient must be differentiable, the products without each element are multiplied instead.
    """
    if numel(input._size) <= 1:
        return grad
    dim = wrap_dim(dim, len(input._size))
    if input._size[dim] == 1:
        return grad
    factors, products = conj(input), conj(output)
    weighted = ops.mul_Tensor.call(products, grad)
    is_zero = ops.eq_Scalar.call(input, 0)
    if not ops.item.call(ops.any.call(is_zero)):
        return ops.div_Tensor.call(_reversed_cumsum(weighted, dim), factors)
    if thread.state.grad_mode:
        return _products_without_each(grad, factors, dim)
    zeros = ops.zeros.call(input._size, grad._dtype, "strided", grad._device, None)
    return _up_to_the_first_zero(grad, factors, products, weighted, is_zero, zeros, dim)


def _reversed_cumsum(tensor: Tensor, dim: int) -> Tensor:
    return ops.flip.call(ops.cumsum.call(ops.flip.call(tensor, (dim,)), dim, None), (dim,))


def _up_to_the_first_zero(
    grad: Tensor, factors: Tensor, products: Tensor, weighted: Tensor, is_zero: Tensor, grad_input: Tensor, dim: int
) -> Tensor:
    """The gradient up to the first zero of each row."""
    zeros_met = ops.cumsum.call(is_zero, dim, None)
    mask = ops.eq_Scalar.call(zeros_met, 0)
    before = ops.masked_fill_Scalar.call(weighted, ops.bitwise_not.call(mask), 0.0)
    grad_input = ops.where_self.call(mask, ops.div__Tensor.call(_reversed_cumsum(before, dim), factors), grad_input)
    mask = ops.eq_Scalar.call(zeros_met, 1)
    first = ops.max_dim.call(mask, dim, True)[1]
    first_mask = ops.logical_and.call(mask, is_zero)
    mask = ops.bitwise_and__Tensor.call(mask, ops.bitwise_not.call(first_mask))
    after = ops.masked_fill_Scalar.call(factors, ops.bitwise_not.call(mask), 1.0)
    after = ops.cumprod.call(after, dim, None)
    counted = ops.masked_fill_Scalar.call(grad, ops.ne_Scalar.call(zeros_met, 1), 0.0)
    index = ops.relu_.call(ops.sub_Scalar.call(first, 1, 1))
    until = ops.gather.call(products, dim, index, False)
    until = ops.masked_fill__Scalar.call(until, ops.eq_Scalar.call(first, 0), 1.0)
    total = ops.sum_dim_IntList.call(ops.mul__Tensor.call(after, counted), (dim,), True, None)
    return ops.where_self.call(first_mask, ops.mul__Tensor.call(total, until), grad_input)


def _products_without_each(grad: Tensor, factors: Tensor, dim: int) -> Tensor:
    """The gradient of each element from the products that contain it, multiplied without it."""
    length = factors._size[dim]
    grad_input = ops.zeros.call(factors._size, grad._dtype, "strided", grad._device, None)
    one = ops.ones.call((1,), grad._dtype, "strided", grad._device, None)
    ones = ops.expand.call(one, (*factors._size[:dim], 1, *factors._size[dim + 1 :]), False)
    for index in range(length):
        omitted = _omitted_products(factors, ones, dim, index, length)
        part = ops.mul_Tensor.call(ops.slice_Tensor.call(grad, dim, index, None, 1), omitted)
        part = ops.sum_dim_IntList.call(part, (dim,), False, None)
        ops.copy_.call(ops.select_int.call(grad_input, dim, index), part, False)
    return grad_input


def _omitted_products(factors: Tensor, ones: Tensor, dim: int, index: int, length: int) -> Tensor:
    """The cumulative products from an index on, without the factor at that index."""
    if index == 0:
        rest = ops.cumprod.call(ops.slice_Tensor.call(factors, dim, 1, None, 1), dim, None)
        return ops.cat.call([ones, rest], dim)
    before = ops.prod_dim_int.call(ops.slice_Tensor.call(factors, dim, 0, index, 1), dim, True, None)
    if index == length - 1:
        return before
    rest = ops.cumprod.call(ops.slice_Tensor.call(factors, dim, index + 1, None, 1), dim, None)
    return ops.cat.call([before, ops.mul_Tensor.call(ops.expand_as.call(before, rest), rest)], dim)
