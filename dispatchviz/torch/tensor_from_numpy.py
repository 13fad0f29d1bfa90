"""Tensors on the memory of NumPy arrays and of Python buffers (``torch/csrc/utils/tensor_numpy.cpp``)."""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.autograd.variables.requires_grad_flag import make_variable
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import BY_NUMPY, DType
from dispatchviz.core.tensor.tensor import Tensor, expose, extent, from_blob
from dispatchviz.core.thread.warning import warn_python_once


def from_numpy(ndarray: Any) -> Tensor:
    """Return a tensor on the memory of a NumPy array (``tensor_from_numpy``).

    Raise TypeError for anything but an array and for dtypes without a tensor dtype, ValueError for strides that a
    tensor cannot have. NB: in PyTorch, there are uint16, uint32 and uint64 too.
    """
    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {_full_name(type(ndarray))})")
    if ndarray.dtype not in (*BY_NUMPY, *_NOT_IN_THE_MODEL):
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
        warn_python_once("from_numpy", _NOT_WRITABLE, "torch/csrc/utils/tensor_numpy.cpp:213")
    stride = tuple(step // width for step in ndarray.strides)
    tensor = from_blob(_flat(ndarray, stride), ndarray.shape, stride, known_dtype(ndarray.dtype))
    expose(tensor)
    return ops.lift_fresh.call(tensor)


def known_dtype(dtype: Any) -> DType:
    """Return the PyTorch dtype for a NumPy dtype. Raise NotImplementedError for one that the model does not have."""
    if dtype in _NOT_IN_THE_MODEL:
        raise NotImplementedError(f"dispatchviz's model of PyTorch has no dtype torch.{dtype}")
    return BY_NUMPY[dtype]


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a one-dimensional tensor on the memory of a Python buffer (``tensor_frombuffer``).

    Raise ValueError for anything but a buffer, and for a part that does not fit into it.
    """
    try:
        view = memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    count = _elements(view.nbytes, dtype.itemsize, count, offset)
    if view.readonly:
        warn_python_once("frombuffer", _BUFFER_NOT_WRITABLE, "torch/csrc/utils/tensor_new.cpp:1556")
    memory = numpy.frombuffer(view, dtype.numpy, count, offset)
    memory = memory if memory.flags.writeable else numpy.array(memory)
    tensor = from_blob(memory, (count,), (1,), dtype)
    expose(tensor)
    return make_variable(tensor, requires_grad)


def _elements(length: int, width: int, count: int, offset: int) -> int:
    """Return the requested number of elements, or all of them if ``count`` is negative."""
    if length <= 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % width:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({width})"
        )
    count = (length - offset) // width if count < 0 else count
    if offset + count * width > length:
        raise ValueError(
            f"requested buffer length ({count} * {width} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    return count


_BUFFER_NOT_WRITABLE = (
    "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to "
    "the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its "
    "data or make it writable before converting it to a tensor. This type of warning will be suppressed for the rest "
    "of this program."
)
_NOT_IN_THE_MODEL = tuple(map(numpy.dtype, ("uint16", "uint32", "uint64")))
_NOT_WRITABLE = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
    "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)


def _flat(array: Any, stride: tuple[int, ...]) -> Any:
    """Return the memory that an array spans, from its first element on."""
    return numpy.lib.stride_tricks.as_strided(array, (extent(array.shape, stride),), (array.itemsize,))


def _full_name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
