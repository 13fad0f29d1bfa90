"""``softmax`` and ``log_softmax`` and their gradients (``aten/src/ATen/native/SoftMax.cpp``).

NB: in PyTorch, ``half_to_float`` is supported on CUDA only; the CPU refuses it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.argument_checks import TensorArg, check_same_size
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import REDUCED, DType
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel

_VECTOR = 32
"""The number of half-precision elements in an AVX-512 vector."""


def softmax_int(self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    """softmax along a dimension, computed in ``dtype`` if one is given."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._softmax.call(converted, dim, False)


def log_softmax_int(self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    """The logarithm of softmax along a dimension, computed in ``dtype`` if one is given."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._log_softmax.call(converted, dim, False)


def softmax_out_int_out(self: Tensor, dim: int, dtype: DType | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``softmax``."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._softmax_out.call(converted, dim, False, out)


def log_softmax_out_int_out(self: Tensor, dim: int, dtype: DType | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``log_softmax``."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._log_softmax_out.call(converted, dim, False, out)


def _softmax_meta(op: Structured, self: Tensor, dim: int, half_to_float: bool) -> None:
    """A contiguous result with the shape and dtype of the input."""
    _same(op, self, dim)


def _log_softmax_meta(op: Structured, self: Tensor, dim: int, half_to_float: bool) -> None:
    """A contiguous result with the shape and dtype of the input."""
    _same(op, self, dim)


def _softmax_backward_data_meta(
    op: Structured, grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType
) -> None:
    """A contiguous result with the shape and dtype of the input."""
    check_same_size("softmax_backward", TensorArg(grad_output, "grad", 1), TensorArg(output, "output", 2))
    _same(op, grad_output, dim)


def _log_softmax_backward_data_meta(
    op: Structured, grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType
) -> None:
    """A contiguous result with the shape and dtype of the input."""
    _same(op, grad_output, dim)


def _same(op: Structured, self: Tensor, dim: int) -> None:
    wrap_dim(dim, len(self._size))
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def softmax_out(self: Tensor, dim: int, half_to_float: bool, out: Tensor) -> None:
    """exp(self) divided by its sum along the dimension"""
    xp, values, axis = _input("softmax", self, dim)

    rest = _rest(self, axis, values)

    def softmax() -> Any:
        powers = xp.exp(values - xp.max(values, axis, keepdims=True))
        total = xp.sum(powers, axis, keepdims=True)
        return (powers if rest is None else xp.where(rest, _rounded(self, powers), powers)) / total

    _stored(out, softmax)


def log_softmax_out(self: Tensor, dim: int, half_to_float: bool, out: Tensor) -> None:
    """self minus the logarithm of the sum of exp(self)"""
    xp, values, axis = _input("log_softmax", self, dim)

    def log_softmax() -> Any:
        shifted = values - xp.max(values, axis, keepdims=True)
        total = xp.sum(xp.exp(shifted), axis, keepdims=True)
        if self._device.type == "cpu" and axis == values.ndim - 1:  # this loop rounds the sums
            return shifted - _rounded(self, xp.log(_rounded(self, total)))
        return shifted - xp.log(total)

    _stored(out, log_softmax)


def _input(name: str, self: Tensor, dim: int, read: Tensor | None = None) -> tuple[Any, Any, int]:
    """The array library, the numbers with at least one dimension, and the dimension.

    The loop reads ``read``, by default self.
    """
    axis = wrap_dim(dim, len(self._size))
    if not self._dtype.is_floating_point:
        last = axis == max(len(self._size) - 1, 0)
        raise not_implemented(f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl", self._dtype)
    _call_contiguous(self if read is None else read)
    if not self._size:
        ops.view.call(self, (1,))
    xp: Any = array_module(self._device.type)
    return xp, self._array.reshape(self._size or (1,)).astype(accumulated(self._dtype).numpy), axis


def _rounded(self: Tensor, values: Any) -> Any:
    """Values rounded to the dtype of self."""
    return values.astype(self._array.dtype).astype(values.dtype)


def _rest(self: Tensor, axis: int, values: Any) -> Any:
    """The positions in which the CPU's loop keeps the powers in its output, or None. It does so after the last whole
    vector, if the dimension is not the last one.

    NB: this is the kernel's AVX-512 form. On other processors its vectors are half as long.
    """
    if self._dtype not in REDUCED or self._device.type != "cpu" or axis == values.ndim - 1:
        return None
    inner = values.shape[axis + 1 :]
    count = math.prod(inner)
    return (numpy.arange(count) >= count // _VECTOR * _VECTOR).reshape(inner)


def _call_contiguous(self: Tensor) -> None:
    """Call ``contiguous`` as PyTorch does, so that it is recorded.

    Its result is not used: the array functions read any strides.
    """
    if not self._is_contiguous and numel(self._size):
        ops.contiguous.call(self, "contiguous_format")


def _stored(out: Tensor, function: Any) -> None:
    if 0 not in out._size:
        store(out, quiet.run(function).reshape(out._size))


def softmax_backward_out(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, out: Tensor) -> None:
    """output * (grad - sum of grad * output). On CUDA this product is a tensor (``cuda/SoftMax.cu``)"""
    product = ops.mul_Tensor.call(grad_output, output) if out._device.type == "cuda" else None
    xp, grad, axis = _input("softmax_backward", grad_output, dim, product)
    _call_contiguous(output)
    result = output._array.reshape(grad.shape).astype(grad.dtype)
    _stored(out, lambda: result * (grad - xp.sum(grad * result, axis, keepdims=True)))


def log_softmax_backward_out(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, out: Tensor) -> None:
    """grad - exp(output) * sum of grad"""
    xp, grad, axis = _input("log_softmax_backward", grad_output, dim)
    _call_contiguous(output)
    result = output._array.reshape(grad.shape).astype(grad.dtype)
    _stored(out, lambda: grad - xp.exp(result) * xp.sum(grad, axis, keepdims=True))
