"""Backward of ``_euclidean_dist``, ``_cdist_backward``, ``_pdist_backward``, ``_trilinear``, ``channel_shuffle``
(``torch/csrc/autograd/FunctionsManual.cpp``).

C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import int64
from dispatchviz.core.tensor.tensor import Size, Tensor

Optional = Tensor | None
Pair = tuple[Optional, Optional]
Mask = tuple[bool, ...]
Four = tuple[Optional, Optional, Optional, Optional]


def euclidean_dist_backward(grad: Tensor, x1: Tensor, x2: Tensor, res: Tensor) -> Pair:
    """grad * (x1 - x2) / distance, 0 where the distance is 0"""
    ratio = ops.div_Tensor.call(grad, res)
    ops.masked_fill__Scalar.call(ratio, ops.eq_Scalar.call(res, 0), 0)
    product = ops.matmul.call(ratio, x2)
    own = ops.mul_Tensor.call(x1, ops.sum_dim_IntList.call(ratio, (-1,), True, None))
    of_x1 = ops.sub_Tensor.call(own, product, 1)
    product = ops.matmul.call(ops.mT.call(ratio), x1)
    own = ops.mul_Tensor.call(x2, ops.unsqueeze.call(ops.sum_dim_IntList.call(ratio, (-2,), False, None), -1))
    return of_x1, ops.sub_Tensor.call(own, product, 1)


# -- _cdist_backward, _pdist_backward ----------------------------------------------------------------------------------


class _Distances(NamedTuple):
    """The arguments of ``_cdist_backward``, and the gradient of its result."""

    grad: Tensor
    """The gradient of the gradient of x1."""
    grad_output: Tensor
    x1: Tensor
    x2: Tensor
    p: float
    cdist: Tensor
    is_zero: Tensor
    """True where a distance is 0, where all gradients are 0."""

    def over(self, numerator: Tensor, denominator: Tensor) -> Tensor:
        """The quotient of tensors with an element for each distance."""
        quotient = ops.div_Tensor.call(numerator, denominator)
        return ops.masked_fill_Scalar.call(quotient, self.is_zero, 0)

    def differences(self) -> Tensor:
        """The differences of each row of x1 with each row of x2."""
        second = ops.unsqueeze.call(self.x2, -3)
        return ops.sub_Tensor.call(ops.unsqueeze.call(self.x1, -2), second, 1)

    def projected(self, direction: Tensor) -> Tensor:
        """The sum over the columns of the gradient times a direction for each distance."""
        product = ops.mul_Tensor.call(ops.unsqueeze.call(self.grad, -2), direction)
        return ops.sum_dim_IntList.call(product, (-1,), False, None)


def _cdist_backward_backward(
    grad: Tensor, grad_output: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor, output_mask: Mask
) -> Four:
    """The derivative of the gradient of a distance, by its norm"""
    given = _Distances(grad, grad_output, x1, x2, p, cdist, ops.eq_Scalar.call(cdist, 0))
    return _of_norm(p)(given, output_mask)


def _of_norm(p: float) -> Callable[[_Distances, Mask], Four]:
    return {0.0: _of_linear, 1.0: _of_linear, 2.0: _of_euclidean, math.inf: _of_linear}.get(p, _of_power)


def _of_linear(given: _Distances, output_mask: Mask) -> Four:
    """A norm whose gradient does not change with the difference: 0, 1, infinity."""
    of_grad_output = None
    if output_mask[0]:
        of_grad_output = _zeros_like(given.grad_output) if given.p == 0 else given.projected(_direction(given))
    return of_grad_output, *(
        _zeros_like(one) if wanted else None
        for one, wanted in zip((given.x1, given.x2, given.cdist), output_mask[1:], strict=True)
    )  # type: ignore[return-value]


def _zeros_like(tensor: Tensor) -> Tensor:
    return ops.zeros_like.call(tensor, None, None, None, None, None)


def _direction(given: _Distances) -> Tensor:
    difference = given.differences()
    sign = ops.sgn.call(difference)
    if given.p == 1:
        return sign
    distance = ops.unsqueeze.call(given.cdist, -1)
    return ops.mul_Tensor.call(sign, ops.eq_Tensor.call(ops.abs.call(difference), distance))


def _of_euclidean(given: _Distances, output_mask: Mask) -> Four:
    ratio = given.over(given.grad_output, given.cdist)
    of_grad_output = of_x1 = of_x2 = of_cdist = None
    if output_mask[0] or output_mask[3]:
        product = ops.matmul.call(given.grad, ops.mT.call(given.x2))
        own = ops.sum_dim_IntList.call(ops.mul_Tensor.call(given.grad, given.x1), (-1,), True, None)
        of_grad_output = given.over(ops.sub_Tensor.call(own, product, 1), given.cdist)
    if output_mask[3] and of_grad_output is not None:
        of_cdist = ops.neg.call(ops.mul_Tensor.call(ratio, of_grad_output))
    if output_mask[1]:
        of_x1 = ops.mul_Tensor.call(given.grad, ops.sum_dim_IntList.call(ratio, (-1,), True, None))
    if output_mask[2]:
        of_x2 = ops.neg.call(ops.matmul.call(ops.mT.call(ratio), given.grad))
    return of_grad_output if output_mask[0] else None, of_x1, of_x2, of_cdist


def _of_power(given: _Distances, output_mask: Mask) -> Four:
    """Any other norm: the gradient of a difference d is ``sgn(d) * |d| ** (p - 1) / distance ** (p - 1)``."""
    p = given.p
    difference = given.differences()
    length, flat = ops.abs.call(difference), ops.eq_Scalar.call(difference, 0)
    scale = ops.pow_Tensor_Scalar.call(given.cdist, p - 1)
    ratio = given.over(given.grad_output, scale)
    of_grad_output = of_x1 = of_x2 = of_cdist = None
    if output_mask[0] or output_mask[3]:
        power = ops.pow_Tensor_Scalar.call(length, p - 1)
        direction = ops.masked_fill_Scalar.call(ops.mul_Tensor.call(ops.sgn.call(difference), power), flat, 0)
        of_grad_output = given.over(given.projected(direction), scale)
    if output_mask[3] and of_grad_output is not None:
        factor = ops.mul_Scalar.call(given.over(given.grad_output, given.cdist), 1 - p)
        of_cdist = ops.mul_Tensor.call(factor, of_grad_output)
    if output_mask[1] or output_mask[2]:
        of_x1, of_x2 = _of_rows(given, length, flat, ratio, output_mask)
    return of_grad_output if output_mask[0] else None, of_x1, of_x2, of_cdist


def _of_rows(given: _Distances, length: Tensor, flat: Tensor, ratio: Tensor, output_mask: Mask) -> Pair:
    """The gradients of x1 and x2 through ``|d| ** (p - 1)``."""
    p = given.p
    curvature = ops.masked_fill_Scalar.call(ops.pow_Tensor_Scalar.call(length, p - 2), flat, 0)
    weights = ops.mul_Tensor.call(ops.unsqueeze.call(ratio, -1), curvature)
    of_x1 = of_x2 = None
    if output_mask[1]:
        total = ops.sum_dim_IntList.call(weights, (-2,), False, None)
        of_x1 = ops.mul_Tensor.call(ops.mul_Scalar.call(given.grad, p - 1), total)
    if output_mask[2]:
        product = ops.mul_Tensor.call(weights, ops.unsqueeze.call(given.grad, -2))
        of_x2 = ops.mul_Scalar.call(ops.sum_dim_IntList.call(product, (-3,), False, None), 1 - p)
    return of_x1, of_x2


def _pdist_backward_backward(
    grad: Tensor, grad_output: Tensor, self: Tensor, p: float, pdist: Tensor, output_mask: Mask
) -> tuple[Optional, Optional, Optional]:
    """The derivative of ``_cdist_backward`` for all pairs of rows"""
    rows = self._size[0]
    if p == 0 or rows < 2:
        inputs = zip((grad_output, self, pdist), output_mask, strict=True)
        return tuple(_zeros_like(one) if wanted else None for one, wanted in inputs)  # type: ignore[return-value]
    indices = ops.triu_indices.call(rows, rows, 1, int64, "strided", self._device, None)
    pairs = (ops.select_int.call(indices, 0, 0), ops.select_int.call(indices, 0, 1))
    distances, grads = _square(pdist, rows, pairs), _square(grad_output, rows, pairs)
    wanted = (output_mask[0], output_mask[1], output_mask[1], output_mask[2])
    found = _cdist_backward_backward(grad, grads, self, self, p, distances, wanted)
    of_grad_output = None if found[0] is None else _of_pairs(found[0], pairs)
    of_self = None
    if found[1] is not None and found[2] is not None:
        of_self = ops.add_Tensor.call(found[1], found[2], 1)
    return of_grad_output, of_self, None if found[3] is None else _of_pairs(found[3], pairs)


def _square(flat: Tensor, rows: int, pairs: tuple[Tensor, Tensor]) -> Tensor:
    """The symmetric matrix of a value for each pair of rows."""
    zeros = ops.new_zeros.call(flat, (rows, rows), None, None, None, None)
    upper = ops.index_put.call(zeros, [*pairs], flat, False)
    return ops.add_Tensor.call(upper, ops.mT.call(upper), 1)


def _of_pairs(square: Tensor, pairs: tuple[Tensor, Tensor]) -> Tensor:
    return ops.index_Tensor.call(ops.add_Tensor.call(square, ops.mT.call(square), 1), [*pairs])


# -- _trilinear, channel_shuffle ---------------------------------------------------------------------------------------


def trilinear_backward(
    grad: Tensor,
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Size,
    expand2: Size,
    expand3: Size,
    sumdim: Size,
    output_mask: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The product of the other factors with grad for each factor, summed over the dimensions that the factor does not
    have
    """
    call = ops._trilinear.call
    of_i1 = call(grad, i2, i3, sumdim, expand2, expand3, expand1, 1) if output_mask[0] else None
    of_i2 = call(i1, grad, i3, expand1, sumdim, expand3, expand2, 1) if output_mask[1] else None
    of_i3 = call(i1, i2, grad, expand1, expand2, sumdim, expand3, 1) if output_mask[2] else None
    return of_i1, of_i2, of_i3


def channel_shuffle_backward(grad: Tensor, groups: int) -> Tensor:
    """The inverse shuffle"""
    return ops.channel_shuffle.call(grad, grad._size[1] // groups)
