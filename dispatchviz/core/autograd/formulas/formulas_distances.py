"""Backward of ``_euclidean_dist``, ``_trilinear``, ``channel_shuffle``
(``torch/csrc/autograd/FunctionsManual.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor

Pair = tuple[Tensor | None, Tensor | None]


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
