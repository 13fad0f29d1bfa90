"""``softmax`` and ``log_softmax`` with their gradients (``aten/src/ATen/native/SoftMax.cpp``).

NB: in PyTorch, ``half_to_float`` is there for CUDA, and refused on the CPU.
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
"""Elements of half precision in a vector of AVX-512."""


def softmax_int(self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    """Shares of e to the self along a dimension; in ``dtype`` if one is given."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._softmax.call(converted, dim, False)


def log_softmax_int(self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    """The logarithm of softmax; in ``dtype`` if one is given."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._log_softmax.call(converted, dim, False)


def softmax_out_int_out(self: Tensor, dim: int, dtype: DType | None, out: Tensor) -> Tensor:
    """Into out."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._softmax_out.call(converted, dim, False, out)


def log_softmax_out_int_out(self: Tensor, dim: int, dtype: DType | None, out: Tensor) -> Tensor:
    """Into out."""
    converted = self if dtype is None else ops.to_dtype_layout.call(self, dtype, None, None, None, False, False, None)
    return ops._log_softmax_out.call(converted, dim, False, out)


def _softmax_meta(op: Structured, self: Tensor, dim: int, half_to_float: bool) -> None:
    """Same shape and dtype, contiguous."""
    _same(op, self, dim)


def _log_softmax_meta(op: Structured, self: Tensor, dim: int, half_to_float: bool) -> None:
    """Same shape and dtype, contiguous."""
    _same(op, self, dim)


def _softmax_backward_data_meta(
    op: Structured, grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType
) -> None:
    """Same shape and dtype, contiguous."""
    check_same_size("softmax_backward", TensorArg(grad_output, "grad", 1), TensorArg(output, "output", 2))
    _same(op, grad_output, dim)


def _log_softmax_backward_data_meta(
    op: Structured, grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType
) -> None:
    """Same shape and dtype, contiguous."""
    _same(op, grad_output, dim)


def _same(op: Structured, self: Tensor, dim: int) -> None:
    wrap_dim(dim, len(self._size))
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def softmax_out(self: Tensor, dim: int, half_to_float: bool, out: Tensor) -> None:
    """e to the self over the sum of it"""
    xp, values, axis = _input("softmax", self, dim)

    rest = _rest(self, axis, values)

    def softmax() -> Any:
        powers = xp.exp(values - xp.max(values, axis, keepdims=True))
        total = xp.sum(powers, axis, keepdims=True)
        return (powers if rest is None else xp.where(rest, _rounded(self, powers), powers)) / total

    _stored(out, softmax)


def log_softmax_out(self: Tensor, dim: int, half_to_float: bool, out: Tensor) -> None:
    """self less the logarithm of the sum of e to the self"""
    xp, values, axis = _input("log_softmax", self, dim)

    def log_softmax() -> Any:
        shifted = values - xp.max(values, axis, keepdims=True)
        total = xp.sum(xp.exp(shifted), axis, keepdims=True)
        if self._device.type == "cpu" and axis == values.ndim - 1:  # this loop keeps the sums among the elements
            return shifted - _rounded(self, xp.log(_rounded(self, total)))
        return shifted - xp.log(total)

    _stored(out, log_softmax)


def _input(name: str, self: Tensor, dim: int, read: Tensor | None = None) -> tuple[Any, Any, int]:
    """The array library, the numbers with a dimension at least, the dimension. ``read``: what the loop reads."""
    axis = wrap_dim(dim, len(self._size))
    if not self._dtype.is_floating_point:
        last = axis == max(len(self._size) - 1, 0)
        raise not_implemented(f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl", self._dtype)
    _made_contiguous(self if read is None else read)
    if not self._size:
        ops.view.call(self, (1,))
    xp: Any = array_module(self._device.type)
    return xp, self._array.reshape(self._size or (1,)).astype(accumulated(self._dtype).numpy), axis


def _rounded(self: Tensor, values: Any) -> Any:
    """As a tensor keeps them."""
    return values.astype(self._array.dtype).astype(values.dtype)


def _rest(self: Tensor, axis: int, values: Any) -> Any:
    """Where the CPU's loop along other dimensions than the last keeps powers in the output: after its last vector.

    NB: this kernel has a form for AVX-512, whose vectors are meant; on other processors they are half as long.
    """
    if self._dtype not in REDUCED or self._device.type != "cpu" or axis == values.ndim - 1:
        return None
    inner = values.shape[axis + 1 :]
    count = math.prod(inner)
    return (numpy.arange(count) >= count // _VECTOR * _VECTOR).reshape(inner)


def _made_contiguous(self: Tensor) -> None:
    """The loops read contiguous memory; ours reads any, so that the copy only shows."""
    if not self._is_contiguous and numel(self._size):
        ops.contiguous.call(self, "contiguous_format")


def _stored(out: Tensor, function: Any) -> None:
    if 0 not in out._size:
        store(out, quiet.run(function).reshape(out._size))


def softmax_backward_out(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, out: Tensor) -> None:
    """output * (grad - sum of grad * output); on CUDA this product is a tensor (``cuda/SoftMax.cu``)"""
    product = ops.mul_Tensor.call(grad_output, output) if out._device.type == "cuda" else None
    xp, grad, axis = _input("softmax_backward", grad_output, dim, product)
    _made_contiguous(output)
    result = output._array.reshape(grad.shape).astype(grad.dtype)
    _stored(out, lambda: result * (grad - xp.sum(grad * result, axis, keepdims=True)))


def log_softmax_backward_out(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, out: Tensor) -> None:
    """grad - e to the output * sum of grad"""
    xp, grad, axis = _input("log_softmax_backward", grad_output, dim)
    _made_contiguous(output)
    result = output._array.reshape(grad.shape).astype(grad.dtype)
    _stored(out, lambda: grad - xp.exp(result) * xp.sum(grad, axis, keepdims=True))
