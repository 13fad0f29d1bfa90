"""Eigenvalues and eigenvectors of general matrices: ``eig``, ``eigvals`` (``BatchLinearAlgebra.cpp``).

The results are complex.
"""

from __future__ import annotations

from dispatchviz.core.device.device import CPU
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.cholesky import copied
from dispatchviz.core.native.linalg.matrix_checks import (
    check_lapack_dtype,
    check_linalg_compatible_dtype,
    check_same_device,
    square_check_inputs,
)
from dispatchviz.core.native.linalg.svd_eigh import may_require_grad
from dispatchviz.core.tensor.dtype import DType, complex64, complex128, float32, float64, int32, real_type
from dispatchviz.core.tensor.tensor import Tensor, numel


def _complex_type(dtype: DType) -> DType:
    return {float32: complex64, float64: complex128}.get(dtype, dtype)


def _empty(like: Tensor, dtype: DType) -> Tensor:
    return ops.empty_memory_format.call((0,), dtype, "strided", like._device, None, None)


# -- eig ---------------------------------------------------------------------------------------------------------------


def linalg_eig(self: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors, in no particular order."""
    dtype = _complex_type(self._dtype)
    return ops.linalg_eig_out.call(self, _empty(self, dtype), _empty(self, dtype))


def linalg_eig_out(self: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> tuple[Tensor, Tensor]:
    """Compute ``linalg_eig`` in the outputs if they are empty or have the right shape and strides, otherwise in
    copies.
    """
    if not ops.item.call(ops.all.call(ops.isfinite.call(self))):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    square_check_inputs(self, "linalg.eig")
    _check("torch.linalg.eig", self, eigenvalues, "eigenvalues")
    _check("torch.linalg.eig", self, eigenvectors, "eigenvectors")
    info = ops.zeros.call((max(1, numel(self._size[:-2])),), int32, "strided", CPU, None)
    dtype = _complex_type(self._dtype)
    column_major = len(eigenvectors._size) >= 2 and ops.mT.call(eigenvectors)._is_contiguous
    fit = column_major and eigenvectors._size == self._size
    values = eigenvalues if _values_fit(eigenvalues, self) else _empty_on_cpu(dtype)
    usable = eigenvectors._dtype is dtype and eigenvectors._device == CPU
    vectors = eigenvectors if usable and (0 in eigenvectors._size or fit) else _empty_on_cpu(dtype)
    _eig_info(self, values, vectors)
    if values is not eigenvalues:
        copied(eigenvalues, values)
    if vectors is not eigenvectors:
        copied(eigenvectors, vectors)
    ops._linalg_check_errors.call(info, "torch.linalg.eig", len(self._size) == 2)
    return eigenvalues, eigenvectors


def _check(function: str, self: Tensor, output: Tensor, name: str) -> None:
    check_linalg_compatible_dtype(function, output, _complex_type(self._dtype), name)
    check_same_device(function, output, self, name)


def _values_fit(values: Tensor, self: Tensor) -> bool:
    if values._dtype is not _complex_type(self._dtype) or values._device != CPU:
        return False
    return 0 in values._size or (values._is_contiguous and values._size == self._size[:-1])


def _empty_on_cpu(dtype: DType) -> Tensor:
    return ops.empty_memory_format.call((0,), dtype, "strided", CPU, None, None)


def _eig_info(self: Tensor, values: Tensor, vectors: Tensor | None) -> None:
    """Write the eigenvalues and, if requested, the eigenvectors (``linalg_eig_out_info``)."""
    if vectors is not None and 0 in vectors._size:
        ops.resize_.call(vectors, self._size, "contiguous_format")
        ops.transpose_.call(vectors, -2, -1)
    if 0 in values._size:
        ops.resize_.call(values, self._size[:-1], "contiguous_format")
    if self._dtype.is_complex:
        found = _geev(self, vectors is not None)
        store(values, found[0])
    else:
        _eig_of_real(self, values, vectors)
        return
    if vectors is not None:
        store(vectors, found[1])


def _eig_of_real(self: Tensor, values: Tensor, vectors: Tensor | None) -> None:
    """Combine real and imaginary parts to complex results. If all imaginary parts are 0, the real parts are copied."""
    parts = _empty_like(self, (*self._size[:-2], 2 * self._size[-1]))
    real_vectors = vectors if vectors is None else ops.transpose_.call(_empty_like(self, self._size), -2, -1)
    found = _geev(self, vectors is not None)
    n = self._size[-1]
    parts._array[..., :n], parts._array[..., n:] = found[0].real, found[0].imag
    real = ops.slice_Tensor.call(parts, -1, 0, n, 1)
    imag = ops.slice_Tensor.call(parts, -1, n, 2**63 - 1, 1)
    if not ops.item.call(ops.all.call(ops.eq_Scalar.call(imag, 0.0))):
        store(values, found[0])
        if vectors is not None:
            store(vectors, found[1])
        return
    ops.copy_.call(values, real, False)
    if vectors is not None and real_vectors is not None:
        store(real_vectors, found[1])
        ops.copy_.call(vectors, real_vectors, False)


def _empty_like(self: Tensor, size: tuple[int, ...]) -> Tensor:
    return ops.empty_memory_format.call(size, self._dtype, "strided", CPU, None, "contiguous_format")


def _geev(self: Tensor, compute_v: bool) -> tuple[lapack.Array, lapack.Array | None]:
    """Eigenvalues and, if requested, eigenvectors of a column-major copy (``linalg_eig_stub``)."""
    check_lapack_dtype("linalg_eig_cpu", self._dtype)
    copy = ops.empty_memory_format.call(ops.mT.call(self)._size, self._dtype, "strided", CPU, None, None)
    ops.copy_.call(ops.transpose_.call(copy, -2, -1), self, False)
    if self._dtype.is_complex:
        ops.empty_memory_format.call((2 * self._size[-1],), real_type(self._dtype), "strided", CPU, None, None)
    ops.empty_memory_format.call((1,), self._dtype, "strided", CPU, None, None)
    if 0 in self._size:
        vectors = copy._array
        return vectors.reshape(self._size[:-1]), vectors if compute_v else None
    return lapack.xgeev(copy._array, compute_v)


# -- eigvals -----------------------------------------------------------------------------------------------------------


def linalg_eigvals(self: Tensor) -> Tensor:
    """The eigenvalues. The eigenvectors are computed too if a gradient will need them."""
    return ops.linalg_eig.call(self)[0] if may_require_grad(self) else ops._linalg_eigvals.call(self)


def _linalg_eigvals(self: Tensor) -> Tensor:
    """The eigenvalues, without eigenvectors."""
    return linalg_eigvals_out(self, _empty(self, _complex_type(self._dtype)))


def linalg_eigvals_out(self: Tensor, out: Tensor) -> Tensor:
    """Compute ``linalg_eigvals`` in ``out`` if it is empty or has the right shape, otherwise in a copy."""
    square_check_inputs(self, "linalg.eigvals")
    _check("torch.linalg.eigvals", self, out, "eigenvalues")
    info = ops.zeros.call((max(1, numel(self._size[:-2])),), int32, "strided", CPU, None)
    values = out if _values_fit(out, self) else _empty_on_cpu(_complex_type(self._dtype))
    _empty_on_cpu(self._dtype)  # PyTorch creates it for the vectors
    _eig_info(self, values, None)
    if values is not out:
        copied(out, values)
    ops._linalg_check_errors.call(info, "torch.linalg.eigvals", len(self._size) == 2)
    return out
