"""Backward of ``index``, ``index_put``, ``index_fill``, ``take``, ``put``
(``torch/csrc/autograd/FunctionsManual.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor, TensorOptions, TypeAndSize
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

Indices = list[Tensor | None]

# -- zeros -------------------------------------------------------------------------------------------------------------


def new_zeros_of(grad: Tensor, sizes: Size, options: TensorOptions) -> Tensor:
    """``grad.new_zeros(sizes, options)``"""
    return ops.new_zeros.call(grad, sizes, options.dtype, "strided", options.device, None)


def zeros_like_saved(info: TypeAndSize) -> Tensor:
    """``zeros_like`` of a tensor whose dtype and size alone were saved (``TypeAndSize::zeros``)"""
    return ops.zeros.call(info.size, info.options.dtype, "strided", info.options.device, None)


# -- index, index_put --------------------------------------------------------------------------------------------------


def index_backward(zeros: Tensor, indices: Indices, grad: Tensor) -> Tensor:
    """Zeros with grad added at the indices; not in place for a subclass-like tensor"""
    if any(is_tensor_subclass_like(tensor) for tensor in (zeros, grad, *indices) if tensor is not None):
        return ops.index_put.call(zeros, indices, grad, True)
    return ops._index_put_impl_.call(zeros, indices, grad, True, True)


def index_put_backward(grad: Tensor, indices: Indices, values: TypeAndSize, accumulate: bool) -> Tensor:
    """grad with zeros where values were written"""
    return grad if accumulate else ops.index_put.call(grad, indices, zeros_like_saved(values), False)


def _unsafe_index_put_backward(grad: Tensor, indices: Indices, values: TypeAndSize, accumulate: bool) -> Tensor:
    """grad with zeros where values were written"""
    return grad if accumulate else ops._unsafe_index_put.call(grad, indices, zeros_like_saved(values), False)


# -- index_fill, take, put ---------------------------------------------------------------------------------------------


def index_fill_value_backward(grad: Tensor, dim: int, index: Tensor) -> Tensor:
    """The sum of grad at the indices, each counted once"""
    indices, _ = ops._unique.call(index, False, False)
    return ops.sum.call(ops.index_select.call(grad, dim, indices), None)


def take_backward(grad: Tensor, self: Tensor, index: Tensor) -> Tensor:
    """Zeros with grad added at the indices; not in place for a subclass-like tensor"""
    zeros = ops.zeros_like.call(self, None, None, None, None, None)
    is_subclass_like = is_tensor_subclass_like(grad) or is_tensor_subclass_like(index)
    put = ops.put.call if is_subclass_like and not is_tensor_subclass_like(zeros) else ops.put_.call
    return put(zeros, index, grad, True)


def put_backward(grad: Tensor, index: Tensor, source: TypeAndSize, accumulate: bool) -> Tensor:
    """grad with zeros where values were written"""
    return grad if accumulate else ops.put.call(grad, index, zeros_like_saved(source), False)
