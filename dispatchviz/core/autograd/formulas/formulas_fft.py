"""Backward of ``_fft_r2c``, ``_fft_c2r`` (``torch/csrc/autograd/FunctionsManual.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor


def fft_r2c_backward(grad: Tensor, dim: Size, normalization: int, onesided: bool, last_dim_size: int) -> Tensor:
    """The gradient, with the omitted half of the spectrum filled with zeros"""
    half = grad._size[dim[-1]]
    if onesided and last_dim_size > half:
        last = dim[-1] % len(grad._size)
        size = (*grad._size[:last], last_dim_size, *grad._size[last + 1 :])
        whole = ops.new_zeros.call(grad, size, None, None, None, None)
        ops.copy_.call(ops.slice_Tensor.call(whole, last, 0, half, 1), grad, False)
        grad = whole
    return ops.real.call(ops._fft_c2c.call(grad, dim, normalization, False))


def fft_c2r_backward(grad: Tensor, dim: Size, normalization: int) -> Tensor:
    """The gradient, in which a value that stands for two frequencies counts twice"""
    result = ops._fft_r2c.call(grad, dim, normalization, True)
    doubled = grad._size[dim[-1]] - result._size[dim[-1]]
    if doubled > 0:
        ops.mul__Scalar.call(ops.narrow.call(result, dim[-1], 1, doubled), 2)
    return result
