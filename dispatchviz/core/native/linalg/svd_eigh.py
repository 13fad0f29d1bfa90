"""``svd``, ``svdvals``, ``eigh``, ``eigvalsh``: singular values, eigenvalues of symmetric matrices
(``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from dispatchviz.core.autograd.forward_mode.forward_ad import fw_grad
from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.matrix_checks import (
    check_floating_or_complex,
    check_is_matrix,
    check_lapack_dtype,
    clone_batched_column_major,
    column_major_strides,
    square_check_inputs,
)
from dispatchviz.core.tensor.dtype import int32, real_type
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.thread_state import thread

Outputs = tuple[Structured, ...]


def may_require_grad(self: Tensor) -> bool:
    """Return whether a derivative of the values will need the vectors."""
    if thread.state.grad_mode and requires_grad(self):
        return True
    return fw_grad(self) is not None or is_tensor_subclass_like(self)


# -- svd ---------------------------------------------------------------------------------------------------------------


def _linalg_svd_meta(op: Outputs, A: Tensor, full_matrices: bool, compute_uv: bool, driver: str | None) -> None:
    """U and Vh, column-major, or of the size [0]; and S."""
    check_is_matrix(A, "linalg.svd")
    check_floating_or_complex(A, "linalg.svd")
    *batch, m, n = A._size
    k = min(m, n)
    if compute_uv:
        for output, size in ((op[0], (*batch, m, m if full_matrices else k)), (op[2], (*batch, n, n))):
            size = size if full_matrices or output is op[0] else (*batch, k, n)
            output.set_output_strided(size, column_major_strides(size), A._dtype, A._device)
    else:
        for output in (op[0], op[2]):
            output.set_output_raw_strided((0,), (1,), A._dtype, A._device)
    op[1].set_output_contiguous((*batch, k), real_type(A._dtype), A._device)


def _linalg_svd_out(
    A: Tensor, full_matrices: bool, compute_uv: bool, driver: str | None, U: Tensor, S: Tensor, Vh: Tensor
) -> None:
    """Write the decomposition. Raise LinAlgError if the iteration does not converge.

    NB: cuSOLVER's drivers are not distinguished; vectors are column-major on CUDA too.
    """
    if 0 in A._size:
        if compute_uv and full_matrices:
            _fill_with_identity(U)
            _fill_with_identity(Vh)
        return
    if driver is not None and A._device.type != "cuda":
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    info = ops.zeros.call(A._size[:-2], int32, "strided", A._device, None)
    check_lapack_dtype("linalg_svd_cpu", A._dtype)
    _decompose(clone_batched_column_major(A), full_matrices, compute_uv, (U, S, Vh), info)
    ops._linalg_check_errors.call(info, "linalg.svd", len(A._size) == 2)


def _fill_with_identity(matrix: Tensor) -> None:
    if 0 not in matrix._size:
        ops.zero_.call(matrix)
        ops.fill__Scalar.call(ops.diagonal.call(matrix, 0, -2, -1), 1.0)


NOT_FINITE = -4
"""LAPACK's message for a matrix with infinities or nan."""


def _decompose(
    A: Tensor, full_matrices: bool, compute_uv: bool, outputs: tuple[Tensor, Tensor, Tensor], info: Tensor
) -> None:
    xp = lapack.module_of(A._array)
    finite = xp.isfinite(A._array).all(axis=(-2, -1))
    store(info, xp.where(finite, 0, NOT_FINITE).astype(int32.numpy))
    usable = xp.where(finite[..., None, None], A._array, 0)
    for output, values in zip(outputs, lapack.xgesdd(usable, full_matrices, compute_uv), strict=True):
        if values is not None:
            store(output, values)


def linalg_svd(A: Tensor, full_matrices: bool, driver: str | None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and Vh."""
    return ops._linalg_svd.call(A, full_matrices, True, driver)


def linalg_svd_U(
    A: Tensor, full_matrices: bool, driver: str | None, U: Tensor, S: Tensor, Vh: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Write ``linalg_svd`` into ``U``, ``S`` and ``Vh``."""
    return ops._linalg_svd_U.call(A, full_matrices, True, driver, U, S, Vh)


def linalg_svdvals(A: Tensor, driver: str | None) -> Tensor:
    """The singular values. The vectors are computed too if a gradient will need them."""
    return ops._linalg_svd.call(A, False, may_require_grad(A), driver)[1]


def linalg_svdvals_out(A: Tensor, driver: str | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_svdvals``."""
    U, Vh = (ops.empty_memory_format.call((0,), A._dtype, "strided", A._device, None, None) for _ in "UV")
    ops._linalg_svd_U.call(A, False, False, driver, U, out, Vh)
    return out


def svd(self: Tensor, some: bool, compute_uv: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The old name of ``linalg_svd``, with V instead of Vh, and zeros for vectors that are not computed."""
    if len(self._size) < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {len(self._size)} dimensions instead"
        )
    if compute_uv:
        U, S, Vh = ops.linalg_svd.call(self, not some, None)
        return U, S, ops.mH.call(Vh)
    S = ops.linalg_svdvals.call(self, None)
    *batch, m, n = self._size
    U = ops.zeros.call((*batch, m, m), self._dtype, "strided", self._device, None)
    Vh = ops.zeros.call((*batch, n, n), self._dtype, "strided", self._device, None)
    return U, S, ops.mH.call(Vh)


def svd_U(self: Tensor, some: bool, compute_uv: bool, U: Tensor, S: Tensor, V: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Write ``svd`` into ``U``, ``S`` and ``V``."""
    if compute_uv:
        if len(V._size) >= 2:
            ops.transpose_.call(V, -2, -1)
        ops.linalg_svd_U.call(self, not some, None, U, S, V)
        ops.transpose_.call(V, -2, -1)
        if V._dtype.is_complex:
            ops.conj_physical_.call(V)
        return U, S, V
    for output in (U, V):
        if output._dtype is not self._dtype:
            raise RuntimeError(
                f"torch.svd: Expected out tensor to have dtype {self._dtype.legacy} but got {output._dtype.legacy} "
                "instead"
            )
    ops.linalg_svdvals_out.call(self, None, S)
    *batch, m, n = self._size
    for output, length in ((U, m), (V, n)):
        size = (*batch, length, length)
        if output._size != size:
            resize_output(output, size, contiguous_strides(size))
        ops.zero_.call(output)
    return U, S, V


# -- eigh --------------------------------------------------------------------------------------------------------------


def _linalg_eigh_meta(op: Outputs, A: Tensor, UPLO: str, compute_v: bool) -> None:
    """The eigenvalues, and the eigenvectors, column-major or of the size [0]."""
    square_check_inputs(A, "linalg.eigh")
    if UPLO.upper() not in ("U", "L"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if compute_v:
        op[1].set_output_strided(A._size, column_major_strides(A._size), A._dtype, A._device)
    else:
        op[1].set_output_raw_strided((0,), (1,), A._dtype, A._device)
    op[0].set_output_contiguous(A._size[:-1], real_type(A._dtype), A._device)


def _linalg_eigh_out(A: Tensor, UPLO: str, compute_v: bool, eigenvalues: Tensor, eigenvectors: Tensor) -> None:
    """Write the eigenvalues in ascending order and the eigenvectors; one triangle is read."""
    if 0 in A._size:
        return
    matrix = ops.copy_.call(eigenvectors, A, False) if compute_v else clone_batched_column_major(A)
    info = ops.zeros.call(A._size[:-2], int32, "strided", A._device, None)
    check_lapack_dtype("linalg_eigh_cpu", A._dtype)
    for dtype in (A._dtype, int32, real_type(A._dtype)) if A._dtype.is_complex else (A._dtype, int32):
        ops.empty_memory_format.call((1,), dtype, "strided", A._device, None, None)  # LAPACK's workspace
    values, vectors = lapack.xsyevd(matrix._array, UPLO.upper() == "U", compute_v)
    store(eigenvalues, values)
    if vectors is not None:
        store(eigenvectors, vectors)
    ops._linalg_check_errors.call(info, "linalg.eigh", len(A._size) == 2)


def linalg_eigh(self: Tensor, UPLO: str) -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors of a symmetric or Hermitian matrix."""
    return ops._linalg_eigh.call(self, UPLO, True)


def linalg_eigh_eigvals(self: Tensor, UPLO: str, eigvals: Tensor, eigvecs: Tensor) -> tuple[Tensor, Tensor]:
    """Write ``linalg_eigh`` into ``eigvals`` and ``eigvecs``."""
    return ops._linalg_eigh_eigenvalues.call(self, UPLO, True, eigvals, eigvecs)


def linalg_eigvalsh(self: Tensor, UPLO: str) -> Tensor:
    """The eigenvalues. The eigenvectors are computed too if a gradient will need them."""
    return ops._linalg_eigh.call(self, UPLO, may_require_grad(self))[0]


def linalg_eigvalsh_out(self: Tensor, UPLO: str, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_eigvalsh``."""
    vectors = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    ops._linalg_eigh_eigenvalues.call(self, UPLO, False, out, vectors)
    return out
