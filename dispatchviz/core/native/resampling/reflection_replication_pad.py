"""``reflection_pad1d/2d/3d``, ``replication_pad1d/2d/3d`` and their backward passes.

Mirrors ``aten/src/ATen/native/ReflectionPad.cpp`` and ``ReplicationPadding.cpp``. Lengths of padding come in pairs, the
last dimension first. Negative lengths crop.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.ufunc_at import add_at
from dispatchviz.core.native.iterator.memory_formats import in_format, suggested
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.native.resampling.pad_checks import check_gradient, check_padded, padded_size
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides

# -- shared ------------------------------------------------------------------------------------------------------------


def _sources(xp: Any, name: str, length: int, left: int, right: int) -> Any:
    """The index of the source element for every padded position along a dimension."""
    indices = xp.arange(-left, length + right)
    if name.startswith("replication"):
        return xp.clip(indices, 0, length - 1)
    indices = xp.abs(indices)
    return xp.where(indices < length, indices, 2 * length - 2 - indices)


def _grid(xp: Any, name: str, size: Size, padding: Size) -> Any:
    """The indices of ``_sources`` along all padded dimensions (``numpy.ix_``)."""
    rank, count = len(size), len(padding) // 2
    each = [_sources(xp, name, size[rank - 1 - i], *padding[2 * i : 2 * i + 2]) for i in range(count)]
    return (..., *xp.ix_(*reversed(each)))


def _put(name: str, self: Tensor, padding: Size, out: Tensor, memory_format: str) -> None:
    dtype = self._dtype
    if dtype.name == "bool":
        raise not_implemented(name, dtype)
    if out._array is not None and 0 not in out._size:
        inside = in_format(self, memory_format)
        store(out, inside._array[_grid(array_module(self._device.type), name, self._size, padding)])


def _put_backward(name: str, grad_output: Tensor, padding: Size, grad_input: Tensor, memory_format: str) -> None:
    dtype = grad_output._dtype
    if not dtype.can_require_grad:
        raise not_implemented(f"{name}_backward", dtype)
    if grad_input._array is not None and 0 not in grad_output._size:
        xp: Any = array_module(grad_input._device.type)
        grad = in_format(grad_output, memory_format)
        indices = _grid(xp, name, grad_input._size, padding)
        add_at(grad_input._array, indices, grad._array)


def _structured_meta(name: str, op: Structured, self: Tensor, padding: Size) -> None:
    check_padded(name, self, padding)
    size = padded_size(self._size, padding)
    op.set_output_raw_strided(size, contiguous_strides(size), self._dtype, self._device)


def _structured_backward_meta(name: str, op: Structured, grad_output: Tensor, self: Tensor, padding: Size) -> None:
    check_gradient(name, grad_output, self, padding)
    op.set_output_raw_strided(self._size, contiguous_strides(self._size), self._dtype, self._device)


def _zeros(grad_output: Tensor, self: Tensor) -> Tensor:
    return ops.zeros_like.call(self, None, None, None, None, suggested(self))


def _zeroed(self: Tensor, grad_input: Tensor) -> None:
    ops.resize_as_.call(grad_input, self, suggested(self))
    ops.zero_.call(grad_input)


# -- reflection -------------------------------------------------------------------------------------------------------


def reflection_pad1d_meta(op: Structured, self: Tensor, padding: Size) -> None:
    """The shape with a padded last dimension. Raise RuntimeError for shapes that do not fit."""
    _structured_meta("reflection_pad1d", op, self, padding)


def reflection_pad1d_out(self: Tensor, padding: Size, out: Tensor) -> None:
    """The last dimension padded by reflection"""
    _put("reflection_pad1d", self, padding, out, "contiguous_format")


def reflection_pad1d_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, padding: Size) -> None:
    """The shape of self."""
    _structured_backward_meta("reflection_pad1d", op, grad_output, self, padding)


def reflection_pad1d_backward_out(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> None:
    """The gradients of each element, added up"""
    ops.zero_.call(grad_input)
    _put_backward("reflection_pad1d", grad_output, padding, grad_input, "contiguous_format")


def reflection_pad2d(self: Tensor, padding: Size) -> Tensor:
    """The last two dimensions padded by reflection. Raise RuntimeError for shapes that do not fit."""
    output = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return reflection_pad2d_out(self, padding, output)


def reflection_pad2d_out(self: Tensor, padding: Size, out: Tensor) -> Tensor:
    """The ``out=`` version of ``reflection_pad2d``."""
    check_padded("reflection_pad2d", self, padding)
    ops.resize_.call(out, padded_size(self._size, padding), None if len(self._size) == 3 else suggested(self))
    _put("reflection_pad2d", self, padding, out, suggested(self))
    return out


def reflection_pad2d_backward(grad_output: Tensor, self: Tensor, padding: Size) -> Tensor:
    """The gradients of each element, added up."""
    grad_input = _zeros(grad_output, self)
    return _reflection_pad2d_backward_into(grad_output, self, padding, grad_input)


def reflection_pad2d_backward_out(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> Tensor:
    """Write the result of ``reflection_pad2d_backward`` into ``grad_input``."""
    _zeroed(self, grad_input)
    return _reflection_pad2d_backward_into(grad_output, self, padding, grad_input)


def _reflection_pad2d_backward_into(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> Tensor:
    check_gradient("reflection_pad2d", grad_output, self, padding)
    _put_backward("reflection_pad2d", grad_output, padding, grad_input, suggested(self))
    return grad_input


def reflection_pad3d_meta(op: Structured, self: Tensor, padding: Size) -> None:
    """The shape with three padded last dimensions. Raise RuntimeError for shapes that do not fit."""
    _structured_meta("reflection_pad3d", op, self, padding)


def reflection_pad3d_out(self: Tensor, padding: Size, out: Tensor) -> None:
    """The last three dimensions padded by reflection"""
    ops.resize_.call(out, out._size, suggested(self))
    _put("reflection_pad3d", self, padding, out, suggested(self))


def reflection_pad3d_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, padding: Size) -> None:
    """The shape of self."""
    _structured_backward_meta("reflection_pad3d", op, grad_output, self, padding)


def reflection_pad3d_backward_out(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> None:
    """The gradients of each element, added up"""
    ops.resize_.call(grad_input, self._size, suggested(self))
    ops.zero_.call(grad_input)
    _put_backward("reflection_pad3d", grad_output, padding, grad_input, suggested(self))


# -- replication ------------------------------------------------------------------------------------------------------


def replication_pad1d_meta(op: Structured, self: Tensor, padding: Size) -> None:
    """The shape with a padded last dimension. Raise RuntimeError for shapes that do not fit."""
    _structured_meta("replication_pad1d", op, self, padding)


def replication_pad1d_out(self: Tensor, padding: Size, out: Tensor) -> None:
    """The last dimension padded with its edges"""
    _put("replication_pad1d", self, padding, out, "contiguous_format")


def replication_pad1d_backward_meta(op: Structured, grad_output: Tensor, self: Tensor, padding: Size) -> None:
    """The shape of self."""
    _structured_backward_meta("replication_pad1d", op, grad_output, self, padding)


def replication_pad1d_backward_out(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> None:
    """The gradients of each element, added up"""
    ops.zero_.call(grad_input)
    _put_backward("replication_pad1d", grad_output, padding, grad_input, "contiguous_format")


def replication_pad2d_meta(op: Structured, self: Tensor, padding: Size) -> None:
    """The shape with two padded last dimensions. Raise RuntimeError for shapes that do not fit."""
    _structured_meta("replication_pad2d", op, self, padding)


def replication_pad2d_out(self: Tensor, padding: Size, out: Tensor) -> None:
    """The last two dimensions padded with their edges"""
    ops.resize_.call(out, out._size, suggested(self))
    _put("replication_pad2d", self, padding, out, suggested(self))


def replication_pad2d_backward(grad_output: Tensor, self: Tensor, padding: Size) -> Tensor:
    """The gradients of each element, added up."""
    grad_input = _zeros(grad_output, self)
    return _replication_pad2d_backward_into(grad_output, self, padding, grad_input)


def replication_pad2d_backward_out(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> Tensor:
    """Write the result of ``replication_pad2d_backward`` into ``grad_input``."""
    _zeroed(self, grad_input)
    return _replication_pad2d_backward_into(grad_output, self, padding, grad_input)


def _replication_pad2d_backward_into(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> Tensor:
    check_gradient("replication_pad2d", grad_output, self, padding)
    _put_backward("replication_pad2d", grad_output, padding, grad_input, suggested(self))
    return grad_input


def replication_pad3d_meta(op: Structured, self: Tensor, padding: Size) -> None:
    """The shape with three padded last dimensions. Raise RuntimeError for shapes that do not fit."""
    _structured_meta("replication_pad3d", op, self, padding)


def replication_pad3d_out(self: Tensor, padding: Size, out: Tensor) -> None:
    """The last three dimensions padded with their edges"""
    ops.resize_.call(out, out._size, suggested(self))
    _put("replication_pad3d", self, padding, out, suggested(self))


def replication_pad3d_backward(grad_output: Tensor, self: Tensor, padding: Size) -> Tensor:
    """The gradients of each element, added up."""
    grad_input = _zeros(grad_output, self)
    return _replication_pad3d_backward_into(grad_output, self, padding, grad_input)


def replication_pad3d_backward_out(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> Tensor:
    """Write the result of ``replication_pad3d_backward`` into ``grad_input``."""
    _zeroed(self, grad_input)
    return _replication_pad3d_backward_into(grad_output, self, padding, grad_input)


def _replication_pad3d_backward_into(grad_output: Tensor, self: Tensor, padding: Size, grad_input: Tensor) -> Tensor:
    check_gradient("replication_pad3d", grad_output, self, padding)
    _put_backward("replication_pad3d", grad_output, padding, grad_input, suggested(self))
    return grad_input
