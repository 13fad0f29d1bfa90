"""Helpers of all convolution backends: output tensors, casts, and the array functions of ``conv_arrays.py`` applied to
tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import resize
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.convolution.conv_arrays import Steps, convolved, input_gradient, weight_gradient
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, of_either, strides_in
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, converted, quiet, store
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor


def check_scalar_type(tensor: Tensor, dtype: DType) -> None:
    """Raise RuntimeError if the tensor does not have the dtype of the input."""
    if tensor._dtype is not dtype:
        raise RuntimeError(f"expected scalar type {dtype.legacy} but found {tensor._dtype.legacy}")


def blank(like: Tensor, size: Size = (0,)) -> Tensor:
    """A new tensor with the options of another one (``at::empty``)."""
    return ops.empty_memory_format.call(size, like._dtype, "strided", like._device, None, None)


def common_format(input: Tensor, weight: Tensor) -> str:
    """The memory format of a result of PyTorch's own loops; volumes are always contiguous."""
    return of_either(input, weight) if len(input._size) == 4 else CONTIGUOUS


def resized(tensor: Tensor, size: Size, memory_format: str = CONTIGUOUS) -> Tensor:
    """Resize a tensor in a memory format (``resize_``), and return it."""
    ops.resize_.call(tensor, size, None if memory_format == CONTIGUOUS else memory_format)
    if memory_format != CONTIGUOUS:
        resize(tensor, size, strides_in(memory_format, size))
    return tensor


def put_convolution(out: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None, steps: Steps) -> None:
    """Write a plain convolution into ``out``."""
    _put(out, lambda xp, a, w: convolved(xp, a, w, out._size[2:], steps), x, weight, bias)


def put_input_gradient(
    out: Tensor, grad: Tensor, weight: Tensor, bias: Tensor | None, space: Size, steps: Steps
) -> None:
    """Write the gradient of an input, or a transposed convolution, into ``out``."""
    _put(out, lambda xp, g, w: input_gradient(xp, g, w, space, steps), grad, weight, bias)


def put_weight_gradient(out: Tensor, grad: Tensor, x: Tensor, kernel: Size, steps: Steps) -> None:
    """Write the gradient of the weights into ``out``."""
    _put(out, lambda xp, g, a: weight_gradient(xp, g, a, kernel, steps), grad, x, None)


def _put(out: Tensor, function: Callable[..., Any], first: Tensor, second: Tensor, bias: Tensor | None) -> None:
    if out._array is None:
        return
    within = accumulated(out._dtype)
    xp = array_module(out._device.type)
    result = quiet.run(function, xp, converted(first._array, within), converted(second._array, within))
    if bias is not None:
        result = result + converted(bias._array, within).reshape(1, -1, *(1 for _ in out._size[2:]))
    store(out, result)
