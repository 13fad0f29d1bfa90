"""``copy_``, ``clone``, ``contiguous``, ``alias``, ``detach``, ``resize_``
(``aten/src/ATen/native/{Copy,TensorFactories,Resize}.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.call.structured import check_no_internal_overlap, resize
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import check_rank, is_in_format, strides_in, suggested
from dispatchviz.core.native.iterator.memory_overlap import element_by_element, reads_what_it_writes
from dispatchviz.core.native.iterator.strides import is_dense, result_geometry
from dispatchviz.core.native.iterator.tensor_iterator import check_written, converted
from dispatchviz.core.tensor.conj_neg_bits import CONJUGATE, NEGATIVE, ZERO, is_zerotensor, with_bits
from dispatchviz.core.tensor.dtype import bool_, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, alias_of, check_numel, contiguous_strides, numel
from dispatchviz.core.thread.warning import warn_once

# -- copy_ -------------------------------------------------------------------------------------------------------------


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the elements of ``src``, broadcast and cast, into self."""
    if _is_plain_copy(self, src):
        self._array[...] = converted(src._array, self._dtype)
        return self
    if is_zerotensor(src):
        return ops.zero_.call(self)
    if self is src:
        return self
    if is_zerotensor(self):
        raise RuntimeError(
            "ZeroTensors are immutable. Please materialize the tensor using `.clone()`, if you want a mutable zero "
            "tensor."
        )
    _check_copy(self, src)
    if self._array is None or 0 in self._size:
        return self
    if src._array is None:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if src._dtype is not self._dtype and src._dtype.is_complex:
        _warn_of_lost_parts(self)
    if self._device.type == src._device.type == "cpu" and _is_transposed(self, src):
        _copy_transposed(self, src)
    elif self._device != src._device and not _can_copy_memory(self, src):
        _copy_by_temporaries(self, src, non_blocking)
    elif src._storage is self._storage and reads_what_it_writes(self, src):
        element_by_element(lambda value: value, self._array, [src._array])
    else:
        write(self, _array_on(src, self._device), src._ks)
    return self


def _is_plain_copy(self: Tensor, src: Tensor) -> bool:
    """Return whether no check is needed: both tensors are on the CPU, with the same geometry and separate memory."""
    return (
        self._device is CPU
        and src._device is CPU
        and self._size == src._size
        and self._stride == src._stride
        and 0 not in self._stride
        and self._storage is not src._storage
        and not (self._ks | src._ks) & _BITS
        and self._array is not None
        and src._array is not None
        and not src._dtype.is_complex
    )


_BITS = CONJUGATE | NEGATIVE | ZERO


def _warn_of_lost_parts(self: Tensor) -> None:
    if not self._dtype.is_complex and self._dtype is not bool_:
        warn_once(
            "complex to real",
            "Casting complex values to real discards the imaginary part",
            "aten/src/ATen/native/Copy.cpp:307",
        )


def _check_copy(self: Tensor, src: Tensor) -> None:
    if self._device == src._device:
        check_written(self, (src,))
    check_no_internal_overlap(self)
    size, _ = result_geometry(((self._size, self._stride), (src._size, src._stride)))
    if size != self._size:
        raise RuntimeError(f"output with shape {list(self._size)} doesn't match the broadcast shape {list(size)}")


def write(self: Tensor, values: Any, ks: int = 0) -> None:
    """Write an array into a tensor's memory, cast as in C++.

    ``ks``: the key set with the conj and neg bits of the array.
    """
    values = converted(values, self._dtype)
    differing = (self._ks ^ ks) & (CONJUGATE | NEGATIVE)
    self._array[...] = with_bits(values, differing) if differing else values


def _array_on(src: Tensor, device: Device) -> Any:
    """The array of ``src`` in the array library of a device."""
    xp = array_module(device.type)
    if type(src._array) is xp.ndarray:
        return src._array
    return xp.asarray(src._array) if device.type != "cpu" else src._array.get()


_BLOCK = 60


def _is_transposed(self: Tensor, src: Tensor) -> bool:
    """Return whether to copy block by block: large matrices of one dtype, one row-major and the other column-major."""
    return (
        len(src._size) == 2
        and src._size == self._size
        and src._dtype is self._dtype
        and numel(self._size) >= _BLOCK**2
        and self._is_contiguous
        and src._stride == (1, src._size[0])
        and not (self._ks ^ src._ks) & (CONJUGATE | NEGATIVE)
    )


def _copy_transposed(self: Tensor, src: Tensor) -> None:
    """Copy through a small buffer, as ``copy_same_type_transpose_`` does for the sake of the cache."""
    block = 2 * _BLOCK if self._dtype is uint8 else _BLOCK
    buffer = ops.empty_memory_format.call((block, block), self._dtype, None, self._device, None, None)._array
    rows, columns = self._size
    for row in range(0, rows, block):
        for column in range(0, columns, block):
            part = src._array[row : row + block, column : column + block].T
            here = buffer[: part.shape[0], : part.shape[1]]
            here[...] = part
            self._array[row : row + block, column : column + block] = here.T


def _can_copy_memory(self: Tensor, src: Tensor) -> bool:
    """Return whether a block of memory can be copied as it is between CPU and GPU."""
    same = self._dtype is src._dtype and self._size == src._size
    return same and (numel(self._size) == 1 or (self._stride == src._stride and is_dense(self._size, self._stride)))


def _copy_by_temporaries(self: Tensor, src: Tensor, non_blocking: bool) -> None:
    """Copy between CPU and GPU through contiguous tensors of one dtype.

    The dtype is converted on the CPU, or with ``non_blocking`` on the GPU.
    """
    same = self._dtype is src._dtype
    dense = self._is_contiguous
    if src._device.type == ("cuda" if non_blocking else "cpu"):
        target = self if dense else ops.empty_like.call(self, None, None, None, None, "contiguous_format")
        values = ops.to_dtype.call(src, self._dtype, False, False, None)
    else:
        ready = dense and same
        target = self if ready else ops.empty_like.call(self, src._dtype, None, None, None, "contiguous_format")
        values = src
    values = as_contiguous(ops.expand_as.call(values, self))
    ops.copy_.call(target, values, non_blocking)
    if target is not self:
        ops.copy_.call(self, target, non_blocking)


def as_contiguous(tensor: Tensor) -> Tensor:
    """``Tensor::contiguous``: self if contiguous, without dispatch; otherwise a copy."""
    return tensor if tensor._is_contiguous else ops.contiguous.call(tensor, "contiguous_format")


# -- clone ------------------------------------------------------------------------------------------------------------


def clone(self: Tensor, memory_format: str | None = None) -> Tensor:
    """A copy; by default it keeps the strides of self if they are dense."""
    if memory_format in (None, "preserve_format") and is_dense(self._size, self._stride):
        result = ops.empty_strided.call(self._size, self._stride, self._dtype, None, self._device, None)
    else:
        result = ops.empty_like.call(self, None, None, None, None, memory_format)
    return ops.zero_.call(result) if is_zerotensor(self) else ops.copy_.call(result, self, False)


def contiguous(self: Tensor, memory_format: str = "contiguous_format") -> Tensor:
    """self if it is contiguous, else a copy."""
    if is_in_format(self, memory_format):
        return self
    if memory_format == "preserve_format":
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return ops.clone.call(self, memory_format)


# -- alias, detach, resize_ --------------------------------------------------------------------------------------------


def alias(self: Tensor) -> Tensor:
    """A new tensor that shares the memory of self."""
    return alias_of(self, self._size, self._stride, self._offset)


def detach(self: Tensor) -> Tensor:
    """A new tensor that shares the memory of self. Autograd's kernel removes the history."""
    return alias_of(self, self._size, self._stride, self._offset)


def detach_(self: Tensor) -> Tensor:
    """self. Autograd's kernel removes the history."""
    return self


def lift_fresh(self: Tensor) -> Tensor:
    """self: a hook at which function transforms can intercept the result of ``torch.tensor``."""
    return self


def resize_(self: Tensor, size: Size, memory_format: str | None = None) -> Tensor:
    """Give self another shape on the same storage, contiguous or in a memory format.

    A storage that is too small is replaced by a larger one.
    """
    size = tuple(size)
    if any(length < 0 for length in size):
        raise RuntimeError("numel: integer multiplication overflow")
    check_numel(size)
    if size != self._size:
        resize(self, size, contiguous_strides(size))
    if memory_format is not None:
        _restride(self, memory_format)
    return self


def _restride(self: Tensor, memory_format: str) -> None:
    """Set the strides of a memory format (``empty_tensor_restride``).

    Raise RuntimeError for a tensor of another rank and for ``preserve_format``.
    """
    if memory_format == "preserve_format":
        raise RuntimeError("Unsupported memory formatPreserve")
    check_rank(memory_format, self._size)
    stride = strides_in(memory_format, self._size)
    if stride != self._stride:
        resize(self, self._size, stride)


def resize_as_(self: Tensor, the_template: Tensor, memory_format: str | None = None) -> Tensor:
    """Give self the shape of another tensor."""
    ops.resize_.call(self, the_template._size, None)
    if memory_format is not None:
        _restride(self, suggested(the_template) if memory_format == "preserve_format" else memory_format)
    return self


def _has_compatible_shallow_copy_type(self: Tensor, source: Tensor) -> bool:
    """Return whether ``self.data = source`` may take over the memory: neither is a meta tensor, or both have the same
    keys.
    """
    return self._ks == source._ks or "meta" not in (self._device.type, source._device.type)
