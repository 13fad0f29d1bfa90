"""``view_copy``, ``expand_copy``, ``select_copy`` and the other ``*_copy`` operators (``CompositeViewCopyKernels.cpp``,
``aten/src/ATen/native/TensorShape.cpp``): copies of views in their own memory. Functionalization replaces views by
them.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.variables.variable_checks import check_out_variant
from dispatchviz.core.call.structured import IMPROVABLE, resize, warn_of_resizing
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.infer_size import compute_stride, infer_size
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.native.views.select_scatter import into_out
from dispatchviz.core.native.views.select_slice import first_of_narrow
from dispatchviz.core.tensor.dtype import DType, type_meta_name
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, numel, strided

# -- copies of one view ------------------------------------------------------------------------------------------------


def _copied(view: Tensor) -> Tensor:
    return ops.clone.call(view, "contiguous_format")


def view_copy_symint(self: Tensor, size: Size) -> Tensor:
    """A copy with another shape, also if no view can have it."""
    shape = infer_size(tuple(size), numel(self._size))
    if compute_stride(self._size, self._stride, shape) is None:
        return ops.reshape.call(self, size)
    return _copied(ops.view.call(self, size))


def view_copy_out(self: Tensor, size: Size, out: Tensor) -> Tensor:
    """The ``out=`` version of ``view_copy``."""
    return into_out(out, ops.view_copy.call(self, size))


def view_as_real_copy(self: Tensor) -> Tensor:
    """A copy as pairs of real numbers (..., 2)."""
    return _copied(ops.view_as_real.call(self))


def view_as_real_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``view_as_real_copy``."""
    return into_out(out, ops.view_as_real_copy.call(self))


def view_as_complex_copy(self: Tensor) -> Tensor:
    """A copy of pairs as complex numbers."""
    return _copied(ops.view_as_complex.call(self))


def view_as_complex_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``view_as_complex_copy``."""
    return into_out(out, ops.view_as_complex_copy.call(self))


def _conj_copy(self: Tensor) -> Tensor:
    """A conjugated copy."""
    return _copied(ops._conj.call(self))


def _conj_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_conj_copy``."""
    return into_out(out, ops._conj_copy.call(self))


def _neg_view_copy(self: Tensor) -> Tensor:
    """A negated copy."""
    return _copied(ops._neg_view.call(self))


def _neg_view_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_neg_view_copy``."""
    return into_out(out, ops._neg_view_copy.call(self))


def as_strided_copy_symint(self: Tensor, size: Size, stride: Size, storage_offset: int | None) -> Tensor:
    """A copy with any geometry."""
    return _copied(ops.as_strided.call(self, size, stride, storage_offset))


def as_strided_copy_out(self: Tensor, size: Size, stride: Size, storage_offset: int | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``as_strided_copy``."""
    return into_out(out, ops.as_strided_copy.call(self, size, stride, storage_offset))


def diagonal_copy(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """A copy of a diagonal."""
    return _copied(ops.diagonal.call(self, offset, dim1, dim2))


def diagonal_copy_out(self: Tensor, offset: int, dim1: int, dim2: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``diagonal_copy``."""
    return into_out(out, ops.diagonal_copy.call(self, offset, dim1, dim2))


def expand_copy_symint(self: Tensor, size: Size, implicit: bool) -> Tensor:
    """A copy expanded along dimensions of size 1."""
    return _copied(ops.expand.call(self, size, implicit))


def expand_copy_out(self: Tensor, size: Size, implicit: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``expand_copy``."""
    return into_out(out, ops.expand_copy.call(self, size, implicit))


def permute_copy(self: Tensor, dims: Size) -> Tensor:
    """A copy with permuted dimensions."""
    return _copied(ops.permute.call(self, dims))


def permute_copy_out(self: Tensor, dims: Size, out: Tensor) -> Tensor:
    """The ``out=`` version of ``permute_copy``."""
    return into_out(out, ops.permute_copy.call(self, dims))


def _reshape_alias_copy_symint(self: Tensor, size: Size, stride: Size) -> Tensor:
    """A copy with another shape."""
    return _copied(ops._reshape_alias.call(self, size, stride))


def _reshape_alias_copy_out(self: Tensor, size: Size, stride: Size, out: Tensor) -> Tensor:
    """The ``out=`` version of ``_reshape_alias_copy``."""
    return into_out(out, ops._reshape_alias_copy.call(self, size, stride))


def select_copy_symint(self: Tensor, dim: int, index: int) -> Tensor:
    """A copy of one index of a dimension."""
    return _copied(ops.select_int.call(self, dim, index))


def select_copy_int_out(self: Tensor, dim: int, index: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``select_copy``."""
    return into_out(out, ops.select_copy_int.call(self, dim, index))


def detach_copy(self: Tensor) -> Tensor:
    """A copy without history."""
    return _copied(ops.detach.call(self))


def detach_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``detach_copy``."""
    return into_out(out, ops.detach_copy.call(self))


def slice_copy_Tensor_symint(self: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """A copy of a slice."""
    return _copied(ops.slice_Tensor.call(self, dim, start, end, step))


def slice_copy_Tensor_out(self: Tensor, dim: int, start: int | None, end: int | None, step: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``slice_copy``."""
    return into_out(out, ops.slice_copy_Tensor.call(self, dim, start, end, step))


def squeeze_copy(self: Tensor) -> Tensor:
    """A copy without dimensions of size 1."""
    return _copied(ops.squeeze.call(self))


def squeeze_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``squeeze_copy``."""
    return into_out(out, ops.squeeze_copy.call(self))


def squeeze_copy_dim(self: Tensor, dim: int) -> Tensor:
    """A copy without one dimension of size 1."""
    return _copied(ops.squeeze_dim.call(self, dim))


def squeeze_copy_dim_out(self: Tensor, dim: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``squeeze_copy_dim``."""
    return into_out(out, ops.squeeze_copy_dim.call(self, dim))


def squeeze_copy_dims(self: Tensor, dim: Size) -> Tensor:
    """A copy without some dimensions of size 1."""
    return _copied(ops.squeeze_dims.call(self, dim))


def squeeze_copy_dims_out(self: Tensor, dim: Size, out: Tensor) -> Tensor:
    """The ``out=`` version of ``squeeze_copy_dims``."""
    return into_out(out, ops.squeeze_copy_dims.call(self, dim))


def t_copy(self: Tensor) -> Tensor:
    """A transposed copy."""
    return _copied(ops.t.call(self))


def t_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``t_copy``."""
    return into_out(out, ops.t_copy.call(self))


def transpose_copy_int(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """A copy with two dimensions swapped."""
    return _copied(ops.transpose_int.call(self, dim0, dim1))


def transpose_copy_int_out(self: Tensor, dim0: int, dim1: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``transpose_copy``."""
    return into_out(out, ops.transpose_copy_int.call(self, dim0, dim1))


def unsqueeze_copy(self: Tensor, dim: int) -> Tensor:
    """A copy with a new dimension of size 1."""
    return _copied(ops.unsqueeze.call(self, dim))


def unsqueeze_copy_out(self: Tensor, dim: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``unsqueeze_copy``."""
    return into_out(out, ops.unsqueeze_copy.call(self, dim))


def view_copy_dtype(self: Tensor, dtype: DType) -> Tensor:
    """A copy whose memory is read as another dtype."""
    return _copied(ops.view_dtype.call(self, dtype))


def view_copy_dtype_out(self: Tensor, dtype: DType, out: Tensor) -> Tensor:
    """The ``out=`` version of ``view_copy_dtype``."""
    return into_out(out, ops.view_copy_dtype.call(self, dtype))


def unfold_copy(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A copy of windows along a dimension."""
    return _copied(ops.unfold.call(self, dimension, size, step))


def unfold_copy_out(self: Tensor, dimension: int, size: int, step: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``unfold_copy``."""
    return into_out(out, ops.unfold_copy.call(self, dimension, size, step))


def alias_copy(self: Tensor) -> Tensor:
    """A plain copy."""
    return _copied(ops.alias.call(self))


def alias_copy_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``alias_copy``."""
    return into_out(out, ops.alias_copy.call(self))


# -- copies of several views -------------------------------------------------------------------------------------------


def _all_copied(views: Sequence[Tensor]) -> list[Tensor]:
    return [_copied(view) for view in views]


def split_copy_Tensor_symint(self: Tensor, split_size: int, dim: int) -> list[Tensor]:
    """New copies of pieces of one size."""
    return _all_copied(ops.split_Tensor.call(self, split_size, dim))


def split_with_sizes_copy_symint(self: Tensor, split_sizes: Size, dim: int) -> list[Tensor]:
    """New copies of pieces of given sizes."""
    return _all_copied(ops.split_with_sizes.call(self, split_sizes, dim))


def unbind_copy_int(self: Tensor, dim: int) -> list[Tensor]:
    """A copy of each index of a dimension."""
    return _all_copied(ops.unbind_int.call(self, dim))


def split_copy_Tensor_out(self: Tensor, split_size: int, dim: int, out: Sequence[Tensor]) -> None:
    """Write the pieces into tensors, which must have the right sizes."""
    pieces = ops.split_Tensor.call(self, split_size, dim)
    _check_count("split_copy_Tensor_out()", out, pieces)
    for target, piece in zip(out, pieces, strict=True):
        ops.copy_.call(target, piece, False)


def split_with_sizes_copy_out(self: Tensor, split_sizes: Size, dim: int, out: Sequence[Tensor]) -> None:
    """Write the pieces into tensors, which are resized."""
    pieces = ops.split_with_sizes.call(self, split_sizes, dim)
    _check_count("split_with_sizes_copy_out", out, pieces)
    _put(out, pieces)


def split_with_sizes_copy_out_cuda(self: Tensor, split_sizes: Size, dim: int, out: Sequence[Tensor]) -> None:
    """Write the pieces into tensors, as on the CPU."""
    split_with_sizes_copy_out(self, split_sizes, dim, out)


def unbind_copy_int_out(self: Tensor, dim: int, out: Sequence[Tensor]) -> None:
    """Write the indices of a dimension into tensors, which are resized.

    Raise RuntimeError if one of them requires grad.
    """
    check_out_variant("unbind_copy", *out)
    rows = ops.unbind_int.call(self, dim)
    _check_count("unbind_copy_int_out", out, rows)
    _put(out, rows)


def _check_count(name: str, out: Sequence[Tensor], parts: Sequence[Tensor]) -> None:
    if len(out) != len(parts):
        raise RuntimeError(f"{name} expected an out= argument of size {len(parts)}, got size {len(out)}")


def _put(out: Sequence[Tensor], parts: Sequence[Tensor]) -> None:
    for target, part in zip(out, parts, strict=True):
        if target._size != part._size:
            warn_of_resizing(target, part._size)
            ops.resize_.call(target, part._size, None)
        if target._dtype is not part._dtype:
            given, wanted = type_meta_name(target._dtype), type_meta_name(part._dtype)
            raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {given} instead")
        ops.copy_.call(target, part, False)


# -- narrow ------------------------------------------------------------------------------------------------------------


def narrow_copy_dense_symint(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of ``length`` indices of a dimension, for devices without a kernel of their own."""
    return _copied(ops.narrow.call(self, dim, start, length))


def narrow_copy_dense_cpu(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of ``length`` indices of a dimension from ``start`` on. Raise RuntimeError if it is too short."""
    out = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return narrow_copy_dense_cpu_out(self, dim, start, length, out)


def narrow_copy_dense_cpu_out(self: Tensor, dim: int, start: int, length: int, out: Tensor) -> Tensor:
    """Write ``narrow_copy`` into ``out``, which is resized."""
    if not self._size:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    _check_condition(self._dtype is out._dtype, "self.dtype() == output.dtype()")
    if not self._is_contiguous:
        self = ops.contiguous.call(self, "contiguous_format")
    _check_condition(dim < len(self._size), "dim < static_cast<int64_t>(self_sizes.size())")
    dim = wrap_dim(dim, len(self._size))
    begin = first_of_narrow(self._size[dim], start, length)
    if length < 0:
        raise RuntimeError(f"start ({begin}) + length ({length}) exceeds dimension size ({self._size[dim]}).")
    size = (*self._size[:dim], length, *self._size[dim + 1 :])
    if out._size != size:
        resize(out, size, contiguous_strides(size))
    buffer = out._storage.buffer
    if buffer is not None:  # as in PyTorch, written in order regardless of the strides of out
        target = strided(buffer, size, contiguous_strides(size), out._offset)
        target[...] = self._array[(*[slice(None)] * dim, slice(begin, begin + length))]
    return out


def _check_condition(holds: bool, condition: str) -> None:
    """Raise RuntimeError unless the condition holds (``TORCH_CHECK`` without a message)."""
    if not holds:
        raise RuntimeError(f"Expected {condition} to be true, but got false.  {IMPROVABLE}")
