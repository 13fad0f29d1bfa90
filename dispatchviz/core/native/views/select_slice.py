"""``select``, ``slice``, ``narrow``, ``unbind``, ``tensor_split``, ``select_backward``, ``slice_backward``
(``aten/src/ATen/native/TensorShape.cpp``)."""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import Category
from dispatchviz.core.tensor.tensor import Size, Tensor

# -- select ------------------------------------------------------------------------------------------------------------


def select_symint(self: Tensor, dim: int, index: int) -> Tensor:
    """The view at one index of a dimension, without that dimension."""
    if not self._size:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self._size))
    length = self._size[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self._size)} at dimension {dim}"
        )
    offset = self._offset + index % length * self._stride[dim]
    return ops.as_strided.call(self, _without_index(self._size, dim), _without_index(self._stride, dim), offset)


def _without_index(values: Size, dim: int) -> Size:
    return values[:dim] + values[dim + 1 :]


def select_backward_symint(grad_output: Tensor, input_sizes: Size, dim: int, index: int) -> Tensor:
    """Zeros of the input's size, with the gradient at the selected index."""
    grad_input = ops.zeros.call(input_sizes, grad_output._dtype, "strided", grad_output._device, None)
    ops.copy_.call(ops.select_int.call(grad_input, dim, index), grad_output, False)
    return grad_input


# -- slice -------------------------------------------------------------------------------------------------------------


def slice(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """Every ``step``-th index of a dimension from ``start`` to before ``end``."""
    if not self._size:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(self._size))
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    begin, stop = _clamped(start, end, self._size[dim])
    size, stride = list(self._size), list(self._stride)
    size[dim] = (stop - begin + step - 1) // step
    stride[dim] *= step
    offset = self._offset + begin * self._stride[dim]
    return ops.as_strided.call(self, tuple(size), tuple(stride), offset)


def _clamped(start: int | None, end: int | None, length: int) -> tuple[int, int]:
    """Both ends clamped to [0, length], with the end not before the start."""
    begin = 0 if start is None else start
    stop = length if end is None else end
    begin = min(max(begin + length if begin < 0 else begin, 0), length)
    stop = stop + length if stop < 0 else stop
    return begin, min(max(stop, begin), length)


def slice_backward(grad_output: Tensor, input_sizes: Size, dim: int, start: int, end: int, step: int) -> Tensor:
    """Zeros of the input's size, with the gradient in the slice."""
    grad_input = ops.zeros.call(input_sizes, grad_output._dtype, "strided", grad_output._device, None)
    ops.copy_.call(ops.slice_Tensor.call(grad_input, dim, start, end, step), grad_output, False)
    return grad_input


def narrow_symint(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` indices of a dimension from ``start`` on. Raise RuntimeError if it is too short."""
    if not self._size:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    begin = first_of_narrow(self._size[wrap_dim(dim, len(self._size))], start, length)
    return ops.slice_Tensor.call(self, dim, begin, begin + length, 1)


def first_of_narrow(size: int, start: int, length: int) -> int:
    """The first index, counted from 0. Raise IndexError or RuntimeError if a dimension of that size is too short."""
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    begin = start + size if start < 0 else start
    if begin > size - length:
        raise RuntimeError(f"start ({begin}) + length ({length}) exceeds dimension size ({size}).")
    return begin


def narrow_tensor_symint(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    """``narrow`` with the start as a 0-dim integer tensor."""
    if start._size or start._dtype.category is not Category.INTEGRAL:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return ops.narrow.call(self, dim, int(ops.item.call(start).real), length)


# -- unbind, tensor_split ----------------------------------------------------------------------------------------------


def unbind(self: Tensor, dim: int) -> list[Tensor]:
    """One tensor per index of a dimension."""
    if not self._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, len(self._size))
    return [ops.select_int.call(self, dim, index) for index in range(self._size[dim])]


def tensor_split_indices_symint(self: Tensor, indices: Size, dim: int) -> list[Tensor]:
    """The pieces between some indices of a dimension."""
    if not self._size:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, len(self._size))
    starts, ends = [0, *indices], [*indices, self._size[dim]]
    return [ops.slice_Tensor.call(self, dim, *ends_of, 1) for ends_of in zip(starts, ends, strict=True)]
