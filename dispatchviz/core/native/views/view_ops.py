"""``view``, ``reshape``, ``as_strided``, ``expand``, ``t``, ``transpose``, ``squeeze``, ``unsqueeze``
(``aten/src/ATen/native/TensorShape.cpp``).

Every view ends in ``as_strided``, ``view`` or ``alias``, which create the new tensor on the same storage. In-place
variants end in ``as_strided_``, which gives the same tensor another geometry.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from dispatchviz.core.autograd.formulas.sum_to_size import is_expandable_to, sum_to
from dispatchviz.core.autograd.variables.legacy_type import legacy_type
from dispatchviz.core.call.structured import broadcast_sizes
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.infer_size import compute_stride, expanded_geometry, infer_size
from dispatchviz.core.native.iterator.strides import Geometry
from dispatchviz.core.native.iterator.wrap_dim import dim_mask, wrap_dim
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor.conj_neg_bits import CONJUGATE, NEGATIVE, is_conj
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor, VersionCounter, alias_of, is_contiguous, numel, reinterpreted
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.warning import warn_once

# -- as_strided --------------------------------------------------------------------------------------------------------


def as_strided(self: Tensor, size: Size, stride: Size, storage_offset: int | None = None) -> Tensor:
    """A view with any geometry that stays within the storage."""
    size, stride = tuple(size), tuple(stride)
    offset = self._offset if storage_offset is None else storage_offset
    _check_geometry(size, stride, offset)
    return alias_of(self, size, stride, offset)


def as_strided_(self: Tensor, size: Size, stride: Size, storage_offset: int | None = None) -> Tensor:
    """Give self another geometry on its storage."""
    changed = as_strided(self, size, stride, storage_offset)
    self._size, self._stride, self._offset, self._array = (
        changed._size,
        changed._stride,
        changed._offset,
        changed._array,
    )
    if recorder.active is not None:
        recorder.active.geometry_changed(self)
    return self


def _check_geometry(size: Size, stride: Size, offset: int) -> None:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if offset >= 0 and not (size and (min(size) < 0 or min(stride) < 0)):
        return
    if any(step < 0 for step in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if any(length < 0 and step for length, step in zip(size, stride, strict=True)):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if any(length < 0 for length in size):
        raise RuntimeError("numel: integer multiplication overflow")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")


# -- view, reshape -----------------------------------------------------------------------------------------------------


def view(self: Tensor, size: Size) -> Tensor:
    """The same elements in order under another shape, without copying. Raise RuntimeError if the strides forbid it."""
    shape = infer_size(tuple(size), numel(self._size))
    stride = compute_stride(self._size, self._stride, shape)
    if stride is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return alias_of(self, shape, stride, self._offset)


def view_symint(self: Tensor, size: Size) -> Tensor:
    """``view`` of a tensor whose sizes may be symbols."""
    return view(self, size)


def view_dtype(self: Tensor, dtype: DType) -> Tensor:
    """The same memory read as another dtype. If its size differs, the last dimension has more or fewer elements.

    Raise RuntimeError if the last dimension is not contiguous or cannot be divided.
    """
    if self._ks & (CONJUGATE | NEGATIVE) and dtype is not self._dtype:
        kind = "conjugate" if is_conj(self) else "negative"
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {kind} view tensors when converting to a different dtype."
        )
    old, new = self._dtype.itemsize, dtype.itemsize
    if old == new:
        return reinterpreted(self, dtype, self._size, self._stride, self._offset)
    how = f"to view {self._dtype.legacy} as {dtype.legacy} (different element sizes)"
    if not self._size:
        raise RuntimeError(f"self.dim() cannot be 0 {how}")
    if self._stride[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {how}, but got {self._stride[-1]}")
    ratio = max(old, new) // min(old, new)
    if new < old:
        stride = (*(step * ratio for step in self._stride[:-1]), 1)
        return reinterpreted(self, dtype, (*self._size[:-1], self._size[-1] * ratio), stride, self._offset * ratio)
    for name, count in (("size(-1)", self._size[-1]), ("storage_offset()", self._offset)):
        if count % ratio:
            raise RuntimeError(f"self.{name} must be divisible by {ratio} {how}, but got {count}")
    for dim, step in enumerate(self._stride[:-1]):
        if step % ratio:
            raise RuntimeError(f"self.stride({dim}) must be divisible by {ratio} {how}, but got {step}")
    stride = (*(step // ratio for step in self._stride[:-1]), 1)
    return reinterpreted(self, dtype, (*self._size[:-1], self._size[-1] // ratio), stride, self._offset // ratio)


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``view`` with the size of another tensor."""
    result: Tensor = ops.view.call(self, other._size)
    return result


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``reshape`` with the size of another tensor; it copies if no view is possible."""
    result: Tensor = ops.reshape.call(self, other._size)
    return result


def _unsafe_view(self: Tensor, size: Size) -> Tensor:
    """A view that autograd does not treat as one: it has its own version counter."""
    result = view(self, size)
    result._version_counter = VersionCounter()
    return result


def _reshape_alias(self: Tensor, size: Size, stride: Size) -> Tensor:
    """A view whose geometry ``reshape`` has already checked."""
    return alias_of(self, tuple(size), tuple(stride), self._offset)


def reshape(self: Tensor, shape: Size) -> Tensor:
    """A view if the strides allow it, else a copy."""
    if is_contiguous(self._size, self._stride):
        return ops.view.call(self, shape)
    shape = infer_size(tuple(shape), numel(self._size))
    stride = compute_stride(self._size, self._stride, shape)
    if stride is not None and is_tensor_subclass_like(self):
        return ops.view.call(self, shape)
    if stride is not None:
        return ops._reshape_alias.call(self, shape, stride)
    return ops._unsafe_view.call(ops.clone.call(self, "contiguous_format"), shape)


def ravel(self: Tensor) -> Tensor:
    """The tensor in one dimension; a copy if the elements are not contiguous."""
    dense = self if self._is_contiguous else ops.contiguous.call(self, "contiguous_format")
    return ops.view.call(dense, (-1,))


# -- unflatten ---------------------------------------------------------------------------------------------------------


def unflatten_symint(self: Tensor, dim: int, sizes: Size) -> Tensor:
    """One dimension split into several. Raise RuntimeError for sizes that do not multiply to its size."""
    dim = wrap_dim(dim, len(self._size))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inferred = infer_size(tuple(sizes), self._size[dim])
    except RuntimeError as error:
        if is_from_outside(error) or "only one dimension" in str(error) or "invalid shape dimension" in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({self._size[dim]}) "
            "in the input tensor"
        ) from None
    return ops.view.call(self, (*self._size[:dim], *inferred, *self._size[dim + 1 :]))


# -- expand ------------------------------------------------------------------------------------------------------------


def expand(self: Tensor, size: Size, implicit: bool = False) -> Tensor:
    """The view in which dimensions of size 1 are repeated, and leading ones added, by a stride of 0; -1 keeps a
    size.
    """
    size = tuple(size)
    if len(size) < len(self._size):
        raise RuntimeError(
            f"expand({legacy_type(self)}{{{list(self._size)}}}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(self._size)})"
        )
    return ops.as_strided.call(self, *expanded_geometry(self._size, self._stride, size), None)


def broadcast_to(self: Tensor, size: Size) -> Tensor:
    """An alias of ``expand``."""
    return ops.expand.call(self, size, False)


def sum_to_size_symint(self: Tensor, size: Size) -> Tensor:
    """The tensor summed along the dimensions in which ``size`` was expanded.

    Raise RuntimeError if ``size`` cannot be expanded to it.
    """
    if not is_expandable_to(size, self._size):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(self._size)}}}.")
    return sum_to(self, size)


def broadcast_tensors(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors expanded to their common shape (``expand_outplace``). Raise RuntimeError if there is none."""
    shape = reduce(broadcast_sizes, (tensor._size for tensor in tensors))
    return [tensor if tensor._size == shape else ops.expand.call(tensor, shape, False) for tensor in tensors]


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to the shape of another one."""
    return ops.expand.call(self, other._size, False)


# -- transpose ---------------------------------------------------------------------------------------------------------


def t(self: Tensor) -> Tensor:
    """Swap the two dimensions of a matrix; vectors and 0-dim tensors are left unchanged."""
    _check_matrix(self, "t")
    return ops.transpose_int.call(self, 0, 0 if len(self._size) < 2 else 1)


def t_(self: Tensor) -> Tensor:
    """The in-place version of ``t``."""
    _check_matrix(self, "t_")
    return ops.transpose_.call(self, 0, 0 if len(self._size) < 2 else 1)


def _check_matrix(self: Tensor, function: str) -> None:
    if len(self._size) > 2:
        raise RuntimeError(f"{function}() expects a tensor with <= 2 dimensions, but self is {len(self._size)}D")


def numpy_T(self: Tensor) -> Tensor:
    """All dimensions in reverse order. PyTorch recommends ``permute`` instead."""
    rank = len(self._size)
    if not rank:
        _warn_of_number("Tensor.T", "This function is the identity in these cases.", 4321)
    elif rank != 2:
        warn_once(
            "numpy_T",
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*"
            "torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            "aten/src/ATen/native/TensorShape.cpp:4314",
        )
    return ops.permute.call(self, tuple(reversed(range(rank))))


def mT(self: Tensor) -> Tensor:
    """Swap the last two dimensions; a 0-dim tensor is returned itself. Raise RuntimeError for a vector."""
    if not self._size:
        _warn_of_number("Tensor.mT", "This function is the identity in these cases.", 4373)
    return _matrix_transpose(self, "mT")


def mH(self: Tensor) -> Tensor:
    """Swap the last two dimensions and conjugate. Raise RuntimeError for a vector."""
    if not self._size:
        _warn_of_number("Tensor.mH", _USE_CONJ, 4382)
    return _conjugate(_matrix_transpose(self, "mH"))


def adjoint(self: Tensor) -> Tensor:
    """An alias of ``mH``."""
    if not self._size:
        _warn_of_number("adjoint()", _USE_CONJ, 4390)
    return _conjugate(_matrix_transpose(self, "adjoint()"))


def matrix_H(self: Tensor) -> Tensor:
    """``mH`` of one matrix, ``x.H``. Raise RuntimeError for any other tensor but a 0-dim one."""
    rank = len(self._size)
    if not rank:
        _warn_of_number("Tensor.H", _USE_CONJ, 4335)
    elif rank != 2:
        more = " For batches of matrices, consider using tensor.mH" if rank > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor.{more}")
    return _conjugate(_matrix_transpose(self, "H"))


_USE_CONJ = "Consider using x.conj()."


def _warn_of_number(name: str, instead: str, line: int) -> None:
    location = f"aten/src/ATen/native/TensorShape.cpp:{line}"
    warn_once(f"{name} of a number", f"{name} is deprecated on 0-D tensors. {instead}", location)


def _matrix_transpose(self: Tensor, name: str) -> Tensor:
    if len(self._size) == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return ops.transpose_int.call(self, -2, -1) if self._size else self


def _conjugate(self: Tensor) -> Tensor:
    return ops._conj.call(self) if self._dtype.is_complex else self


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions; an alias if they are the same."""
    dim0, dim1 = wrap_dim(dim0, len(self._size)), wrap_dim(dim1, len(self._size))
    if dim0 == dim1:
        return ops.alias.call(self)
    return ops.as_strided.call(self, *_swapped(self, dim0, dim1), None)


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """The in-place version of ``transpose``."""
    dim0, dim1 = wrap_dim(dim0, len(self._size)), wrap_dim(dim1, len(self._size))
    if dim0 == dim1:
        return self
    return ops.as_strided_.call(self, *_swapped(self, dim0, dim1), None)


def _swapped(self: Tensor, dim0: int, dim1: int) -> Geometry:
    size, stride = list(self._size), list(self._stride)
    size[dim0], size[dim1] = size[dim1], size[dim0]
    stride[dim0], stride[dim1] = stride[dim1], stride[dim0]
    return tuple(size), tuple(stride)


# -- squeeze, unsqueeze ------------------------------------------------------------------------------------------------


def squeeze(self: Tensor) -> Tensor:
    """A view without the dimensions of size 1."""
    return ops.as_strided.call(self, *_squeezed(self, [True] * len(self._size)), None)


def squeeze_dim(self: Tensor, dim: int) -> Tensor:
    """A view without one dimension, if its size is 1."""
    return ops.as_strided.call(self, *_squeezed(self, dim_mask((dim,), len(self._size))), None)


def squeeze_dims(self: Tensor, dim: Sequence[int]) -> Tensor:
    """A view without those of some dimensions whose size is 1."""
    return ops.as_strided.call(self, *_squeezed(self, dim_mask(dim, len(self._size))), None)


def squeeze_(self: Tensor) -> Tensor:
    """The in-place version of ``squeeze``."""
    return ops.as_strided_.call(self, *_squeezed(self, [True] * len(self._size)), None)


def squeeze__dim(self: Tensor, dim: int) -> Tensor:
    """The in-place version of ``squeeze``."""
    return ops.as_strided_.call(self, *_squeezed(self, dim_mask((dim,), len(self._size))), None)


def squeeze__dims(self: Tensor, dim: Sequence[int]) -> Tensor:
    """The in-place version of ``squeeze``."""
    return ops.as_strided_.call(self, *_squeezed(self, dim_mask(dim, len(self._size))), None)


def _squeezed(self: Tensor, mask: list[bool]) -> Geometry:
    kept = [i for i, length in enumerate(self._size) if length != 1 or not mask[i]]
    return tuple(self._size[i] for i in kept), tuple(self._stride[i] for i in kept)


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """A view with a new dimension of size 1 before ``dim``."""
    return ops.as_strided.call(self, *_unsqueezed(self, dim), None)


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """The in-place version of ``unsqueeze``."""
    return ops.as_strided_.call(self, *_unsqueezed(self, dim), None)


def _unsqueezed(self: Tensor, dim: int) -> Geometry:
    size, stride = self._size, self._stride
    dim = wrap_dim(dim, len(size) + 1)
    step = 1 if dim >= len(size) else size[dim] * stride[dim]
    return (*size[:dim], 1, *size[dim:]), (*stride[:dim], step, *stride[dim:])
