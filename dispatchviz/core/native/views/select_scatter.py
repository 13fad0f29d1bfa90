"""``select_scatter``, ``slice_scatter``, ``diagonal_scatter``, ``as_strided_scatter``
(``aten/src/ATen/native/TensorShape.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import type_meta_name
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides


def clone_preserve_strides(self: Tensor) -> Tensor:
    """A copy of all elements in memory, with the same strides."""
    if any(step == 0 and length > 1 for step, length in zip(self._stride, self._size, strict=True)):
        return ops.clone.call(self, None)
    last = sum((length - 1) * step for length, step in zip(self._size, self._stride, strict=True))
    buffer = self._storage.buffer
    count = self._offset + last + 1 if buffer is None else buffer.nbytes // self._dtype.itemsize
    whole = ops.clone.call(ops.as_strided.call(self, (count,), (1,), 0), None)
    return ops.as_strided.call(whole, self._size, self._stride, self._offset)


def _written(output: Tensor, part: Tensor, src: Tensor) -> Tensor:
    if part._size != src._size:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src._size)}, slice size = "
            f"{list(part._size)}"
        )
    ops.copy_.call(part, src, False)
    return output


def select_scatter_symint(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy in which one index of a dimension is overwritten."""
    output = clone_preserve_strides(self)
    return _written(output, ops.select_int.call(output, dim, index), src)


def slice_scatter(self: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """A copy in which a slice is overwritten."""
    output = clone_preserve_strides(self)
    return _written(output, ops.slice_Tensor.call(output, dim, start, end, step), src)


def slice_scatter_out(
    self: Tensor, src: Tensor, dim: int, start: int | None, end: int | None, step: int, out: Tensor
) -> Tensor:
    """Write ``slice_scatter`` into ``out``, which is resized. Raise RuntimeError if it has another dtype."""
    return into_out(out, ops.slice_scatter.call(self, src, dim, start, end, step))


def into_out(out: Tensor, result: Tensor) -> Tensor:
    """Copy a result into ``out`` as generated ``out=`` kernels do (``resize_out_helper``, ``copy_arg``).

    Raise RuntimeError if it has another dtype.
    """
    if out._size != result._size:
        resize_output(out, result._size, contiguous_strides(result._size))
    if out._dtype is not result._dtype:
        wanted, given = type_meta_name(result._dtype), type_meta_name(out._dtype)
        raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {given} instead")
    return ops.copy_.call(out, result, False)


def diagonal_scatter(self: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """A copy in which a diagonal is overwritten."""
    output = clone_preserve_strides(self)
    return _written(output, ops.diagonal.call(output, offset, dim1, dim2), src)


def as_strided_scatter_symint(
    self: Tensor, src: Tensor, size: Size, stride: Size, storage_offset: int | None
) -> Tensor:
    """A copy in which the elements of an ``as_strided`` view are overwritten."""
    output = clone_preserve_strides(self)
    return _written(output, ops.as_strided.call(output, size, stride, storage_offset), src)
