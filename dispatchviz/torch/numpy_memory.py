"""Tensors on the memory of NumPy arrays (``torch/csrc/utils/tensor_numpy.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.dtype import BY_NUMPY
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor import Tensor, extent, on_memory
from dispatchviz.core.warning import warn_once


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array (``tensor_from_numpy``).

    TypeError for what is no array and for dtypes that the model does not have, ValueError for strides that a tensor
    cannot have.
    """
    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {_full_name(type(ndarray))})")
    if ndarray.dtype not in BY_NUMPY:
        raise TypeError(
            f"can't convert np.ndarray of type {_full_name(ndarray.dtype.type)}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool."
        )
    width = ndarray.itemsize
    if any(step < 0 for step in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if any(step % width for step in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    if not ndarray.flags.writeable:
        warn_once("from_numpy", _NOT_WRITABLE, "torch/csrc/utils/tensor_numpy.cpp:211")
    stride = tuple(step // width for step in ndarray.strides)
    return ops.lift_fresh.call(on_memory(_flat(ndarray, stride), ndarray.shape, stride, BY_NUMPY[ndarray.dtype]))


_NOT_WRITABLE = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
    "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)


def _flat(array: Any, stride: tuple[int, ...]) -> Any:
    """The memory that an array spans, from its first element on."""
    return numpy.lib.stride_tricks.as_strided(array, (extent(array.shape, stride),), (array.itemsize,))


def _full_name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
