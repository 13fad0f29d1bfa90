"""``conj``, ``resolve_conj``, ``resolve_neg``, ``real``, ``imag``, ``view_as_real``, ``view_as_complex``
(``aten/src/ATen/native/{UnaryOps,ComplexHelper,TensorConversions}.cpp``).

``conj`` computes nothing: it returns an alias with the conj bit. ``resolve_conj`` or the Conjugate fallback compute it
later. ``.imag`` of a tensor with the conj bit is a real view with the neg bit.
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import operand, out_elementwise, store
from dispatchviz.core.tensor.conj_neg_bits import is_conj as _is_conj
from dispatchviz.core.tensor.conj_neg_bits import is_neg as _is_neg
from dispatchviz.core.tensor.conj_neg_bits import is_zerotensor, set_conj, set_neg
from dispatchviz.core.tensor.dtype import DType, float32, float64
from dispatchviz.core.tensor.tensor import Size, Tensor, reinterpreted

# -- conj and neg bits -------------------------------------------------------------------------------------------------


def is_conj(self: Tensor) -> bool:
    """Return whether the conj bit is set."""
    return _is_conj(self)


def is_neg(self: Tensor) -> bool:
    """Return whether the neg bit is set."""
    return _is_neg(self)


def _is_zerotensor(self: Tensor) -> bool:
    """Return whether the tensor is a zero tensor, which has no memory."""
    return is_zerotensor(self)


def _conj(self: Tensor) -> Tensor:
    """An alias with the conj bit flipped."""
    result = ops.alias.call(self)
    set_conj(result, not _is_conj(self))
    return result


def conj(self: Tensor) -> Tensor:
    """An alias with the conj bit flipped; a real tensor is its own conjugate."""
    return ops._conj.call(self) if self._dtype.is_complex else self


def _neg_view(self: Tensor) -> Tensor:
    """An alias with the neg bit flipped."""
    result = ops.alias.call(self)
    set_neg(result, not _is_neg(self))
    return result


def resolve_conj(self: Tensor) -> Tensor:
    """self, or a conjugated copy without the conj bit."""
    return ops.clone.call(self, None) if _is_conj(self) else self


def resolve_neg(self: Tensor) -> Tensor:
    """self, or a negated copy without the neg bit."""
    return ops.clone.call(self, None) if _is_neg(self) else self


# -- conj_physical, resolve --------------------------------------------------------------------------------------------


def conj_physical(self: Tensor) -> Tensor:
    """The conjugate in new memory; a real tensor is returned itself."""
    return ops._conj_physical.call(self) if self._dtype.is_complex else self


def _conj_physical(self: Tensor) -> Tensor:
    """The conjugate in new memory."""
    if _is_conj(self):
        return ops.clone.call(conj(self), None)
    return ops.conj_physical_out.call(self, ops.empty_like.call(self, None, None, None, None, None))


def conj_physical_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``conj_physical``."""
    out_elementwise(out, self, same=True)
    if out._array is not None:
        store(out, operand(self, self._dtype, out._device.type).conj())
    return out


def conj_physical_(self: Tensor) -> Tensor:
    """The in-place version of ``conj_physical``."""
    return conj_physical_out(self, self) if self._dtype.is_complex else self


# -- real and imaginary parts ------------------------------------------------------------------------------------------


def real(self: Tensor) -> Tensor:
    """A view of the real parts; a real tensor is returned itself."""
    return _last(_parts(self), 0) if self._dtype.is_complex else self


def imag(self: Tensor) -> Tensor:
    """A view of the imaginary parts, with the neg bit if self has the conj bit.

    Raise RuntimeError for a real tensor.
    """
    if not self._dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    parts = _parts(self)
    return _last(ops._neg_view.call(parts) if _is_conj(self) else parts, 1)


def _parts(self: Tensor) -> Tensor:
    """The real and imaginary parts of the elements in memory, before any conjugation."""
    return ops.view_as_real.call(ops._conj.call(self) if _is_conj(self) else self)


def _last(parts: Tensor, index: int) -> Tensor:
    return ops.select_int.call(parts, len(parts._size) - 1, index)


def view_as_real(self: Tensor) -> Tensor:
    """The real and imaginary part of every element, in a last dimension of size 2.

    Raise RuntimeError if the conj bit is set.
    """
    if _is_conj(self):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can "
            "view it as real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the "
            "original."
        )
    if not self._dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return reinterpreted(self, self._dtype.to_real(), (*self._size, 2), (*_times(self._stride, 2), 1), 2 * self._offset)


def view_as_complex(self: Tensor) -> Tensor:
    """The inverse of ``view_as_real``. Raise RuntimeError if dtype, shape or strides forbid it."""
    whole = _complex_dtype(self)
    _check_pairs(self)
    stride = tuple([step // 2 for step in self._stride[:-1]])
    return reinterpreted(self, whole, self._size[:-1], stride, self._offset // 2)


def _complex_dtype(self: Tensor) -> DType:
    if self._dtype not in (float32, float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{self._dtype.legacy}"
        )
    return self._dtype.to_complex()


def _check_pairs(self: Tensor) -> None:
    if not self._size:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self._size[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if self._stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step, length in zip(self._stride[:-1], self._size, strict=False) if length != 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if self._offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")


def _times(steps: Size, factor: int) -> Size:
    return tuple([step * factor for step in steps])
