"""Backward of ``split``, ``repeat``, ``index_add``, ``constant_pad_nd``, ``roll``, ``as_strided_scatter``
(``torch/csrc/autograd/FunctionsManual.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from dispatchviz.core.autograd.graph.copy_nodes import Geometry
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor, TensorOptions

Gradients = Sequence[Tensor | None]

# -- split -------------------------------------------------------------------------------------------------------------


def split_backward(grads: Gradients, split_size: int, dim: int, sizes: Size, options: TensorOptions) -> Tensor:
    """The gradients side by side, with zeros for missing ones"""
    length = sizes[wrap_dim(dim, len(sizes))]
    split_sizes = [split_size] * len(grads)
    split_sizes[-1] = split_size - (split_size * len(grads) - length)
    return split_with_sizes_backward(grads, tuple(split_sizes), dim, sizes, options)


def split_with_sizes_backward(
    grads: Gradients, split_sizes: Size, dim: int, sizes: Size, options: TensorOptions
) -> Tensor:
    """The gradients side by side, with zeros for missing ones"""
    dim = wrap_dim(dim, len(sizes))
    defined = []
    for grad, length in zip(grads, split_sizes, strict=True):
        if grad is None:
            size = (*sizes[:dim], length, *sizes[dim + 1 :])
            grad = ops.zeros.call(size, options.dtype, "strided", options.device, None)
        defined.append(grad)
    return ops.cat.call(defined, dim)


# -- repeat ------------------------------------------------------------------------------------------------------------


def repeat_backward(grad: Tensor, repeats: Size, input_shape: Size) -> Tensor:
    """The sum over all copies"""
    if 0 in repeats:
        return ops.zeros.call(input_shape, grad._dtype, "strided", grad._device, None)
    unsqueezed = len(repeats) - len(input_shape)
    for _ in range(unsqueezed):
        grad = ops.sum_dim_IntList.call(grad, (0,), False, None)
    size: list[int] = []
    summed: list[int] = []
    index = count()
    for length, times in zip(input_shape, repeats[unsqueezed:], strict=True):
        if times != 1:
            size.append(times)
            summed.append(next(index))
        size.append(length)
        next(index)
    if not summed:
        return grad
    return ops.sum_dim_IntList.call(ops.reshape.call(grad, tuple(size)), tuple(summed), False, None)


# -- index_add ---------------------------------------------------------------------------------------------------------


def index_add_source_backward(
    grad: Tensor, source: Tensor, source_dim: int, dim: int, index: Tensor, alpha: Scalar
) -> Tensor:
    """The gradient at the indices, times alpha"""
    if source_dim:
        picked = ops.expand_as.call(ops.index_select.call(grad, dim, index), source)
    else:
        picked = ops.index_select.call(grad, dim, ops.squeeze_dim.call(index, 0))
    return picked if alpha == 1 else ops.mul_Scalar.call(picked, alpha)


# -- padding -----------------------------------------------------------------------------------------------------------


def constant_pad_nd_backward(grad: Tensor, pad: Size) -> Tensor:
    """The gradient without the padding"""
    return ops.constant_pad_nd.call(grad, tuple(-length for length in pad), 0)


# -- roll --------------------------------------------------------------------------------------------------------------


def roll_backward(grad: Tensor, shifts: Size, dims: Size) -> Tensor:
    """The gradient rolled back, the last dimension first"""
    return ops.roll.call(grad, tuple(-shift for shift in reversed(shifts)), tuple(reversed(dims)))


# -- as_strided_scatter ------------------------------------------------------------------------------------------------


def as_strided_of_dense(grad: Tensor, size: Size, stride: Size, storage_offset: int | None) -> Tensor:
    """``grad.contiguous().as_strided(size, stride, storage_offset)``"""
    dense = grad if grad._is_contiguous else ops.contiguous.call(grad, "contiguous_format")
    return ops.as_strided.call(dense, size, stride, storage_offset)


def as_strided_scatter_backward(
    grad: Tensor, input: Geometry, src: Geometry, size: Size, stride: Size, storage_offset: int | None
) -> Tensor:
    """Zeros with grad where something was overwritten, as PyTorch computes it"""
    part = as_strided_of_dense(grad, size, stride, storage_offset)
    zeros = ops.new_zeros.call(grad, input[0], None, None, None, None)
    result = ops.as_strided.call(zeros, input[0], input[1], None)
    ops.copy_.call(ops.as_strided.call(zeros, size, stride, storage_offset), part, False)
    return result
