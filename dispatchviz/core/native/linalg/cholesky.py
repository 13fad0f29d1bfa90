"""``cholesky_solve``, ``cholesky_inverse``, ``linalg_cholesky_ex`` (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.device.device import CPU
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.lu_factor import empty_int32
from dispatchviz.core.native.linalg.matrix_checks import (
    broadcast_batch_dims,
    check_floating_or_complex,
    check_lapack_dtype,
    check_linalg_compatible_dtype,
    check_same_device,
    clone_batched_column_major,
    column_major_strides,
    square_check_inputs,
)
from dispatchviz.core.tensor.dtype import int32
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides, numel

# -- cholesky ----------------------------------------------------------------------------------------------------------


def linalg_cholesky_ex_meta(op: tuple[Structured, ...], self: Tensor, upper: bool, check_errors: bool) -> None:
    """The factor, column-major, and ``info``."""
    square_check_inputs(self, "linalg.cholesky")
    check_floating_or_complex(self, "linalg.cholesky")
    op[0].set_output_strided(self._size, column_major_strides(self._size), self._dtype, self._device)
    op[1].set_output_contiguous(self._size[:-2], int32, self._device)


def linalg_cholesky_ex_out(self: Tensor, upper: bool, check_errors: bool, L: Tensor, info: Tensor) -> None:
    """Factorize into ``L``. One triangle is read and written, the other one is 0."""
    if 0 in L._size:
        ops.zero_.call(info)
        return
    cpu = self._device.type == "cpu"
    if cpu:
        (ops.triu_out if upper else ops.tril_out).call(self, 0, L)
    else:
        ops.copy_.call(L, self, False)
    _factorize(L, info, upper)
    if not cpu:
        (ops.triu_ if upper else ops.tril_).call(L, 0)
    if check_errors:
        ops._linalg_check_errors.call(info, "linalg.cholesky_ex", len(self._size) == 2)


def _factorize(matrix: Tensor, info: Tensor, upper: bool) -> None:
    """Factorize in place (``cholesky_stub``)."""
    check_lapack_dtype("cholesky_cpu", matrix._dtype)
    factor, codes = lapack.xpotrf(matrix._array, upper)
    store(matrix, factor)
    store(info, codes)


def linalg_cholesky(self: Tensor, upper: bool) -> Tensor:
    """The Cholesky factor. Raise LinAlgError if the matrix is not positive-definite."""
    L, info = ops.linalg_cholesky_ex.call(self, upper, False)
    ops._linalg_check_errors.call(info, "linalg.cholesky", len(self._size) == 2)
    return L


def linalg_cholesky_out(self: Tensor, upper: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_cholesky``."""
    info = empty_int32(self)
    ops.linalg_cholesky_ex_L.call(self, upper, False, out, info)
    ops._linalg_check_errors.call(info, "linalg.cholesky", len(self._size) == 2)
    return out


def copied(out: Tensor, result: Tensor) -> Tensor:
    """Copy a result into ``out``, which is resized, for operators that have no ``out=`` kernel of their own."""
    if out._size != result._size:
        resize_output(out, result._size, contiguous_strides(result._size))
    return ops.copy_.call(out, result, False)


# -- cholesky_solve ----------------------------------------------------------------------------------------------------


def cholesky_solve(self: Tensor, input2: Tensor, upper: bool) -> Tensor:
    """The X with A @ X = self, where ``input2`` is the Cholesky factor of A."""
    for name, tensor in (("b", self), ("u", input2)):
        rank = len(tensor._size)
        if rank < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {rank} dimensions instead")
    return ops._cholesky_solve_helper.call(*broadcast_batch_dims(self, input2, "cholesky_solve"), upper)


def _cholesky_solve_helper(self: Tensor, A: Tensor, upper: bool) -> Tensor:
    """Copy both tensors column-major, then solve in place."""
    solution = clone_batched_column_major(self)
    factor = clone_batched_column_major(A)
    count = numel(self._size[:-2])
    info = ops.zeros.call((count,), int32, "strided", self._device, None)
    check_lapack_dtype("cholesky_solve_cpu", self._dtype)
    store(solution, lapack.xpotrs(factor._array, solution._array, upper))
    ops._linalg_check_errors.call(info, "cholesky_solve_cpu", len(self._size) == 2)
    return solution


def cholesky_solve_out(self: Tensor, input2: Tensor, upper: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``cholesky_solve``, which copies the result."""
    check_same_device("cholesky_solve", out, self)
    check_linalg_compatible_dtype("cholesky_solve", out, self._dtype)
    return copied(out, ops.cholesky_solve.call(self, input2, upper))


# -- cholesky_inverse --------------------------------------------------------------------------------------------------


def cholesky_inverse(self: Tensor, upper: bool) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is self."""
    result = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return ops.cholesky_inverse_out.call(self, upper, result)


def cholesky_inverse_out(self: Tensor, upper: bool, out: Tensor) -> Tensor:
    """Compute ``cholesky_inverse`` in ``out`` if it is empty or column-major, otherwise in a copy."""
    square_check_inputs(self, "cholesky_inverse")
    check_same_device("cholesky_inverse", out, self)
    check_linalg_compatible_dtype("cholesky_inverse", out, self._dtype)
    count = max(1, numel(self._size[:-2]))
    info = ops.zeros.call((count,), int32, "strided", CPU, None)
    if fits_column_major(out, self):
        _invert(out, info, self, upper)
    else:
        temporary = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
        _invert(temporary, info, self, upper)
        copied(out, temporary)
    ops._linalg_check_errors.call(info, "cholesky_inverse", len(out._size) == 2)
    return out


def fits_column_major(out: Tensor, like: Tensor) -> bool:
    """Return whether LAPACK can work in an output: it is empty, or has the right shape, dtype and strides."""
    column_major = len(out._size) >= 2 and ops.mT.call(out)._is_contiguous
    if out._dtype is not like._dtype:
        return False
    return 0 in out._size or (column_major and out._size == like._size)


def _invert(result: Tensor, info: Tensor, self: Tensor, upper: bool) -> None:
    if 0 in result._size:
        ops.resize_.call(result, ops.mT.call(self)._size, "contiguous_format")
        ops.transpose_.call(result, -2, -1)
    assert ops.mT.call(result)._is_contiguous, "LAPACK wants columns"
    ops.copy_.call(result, self, False)
    ops.fill__Scalar.call(info, 0)
    check_lapack_dtype("cholesky_inverse_out_cpu", self._dtype)
    xp = lapack.module_of(result._array)
    identity = xp.broadcast_to(xp.eye(self._size[-1], dtype=result._array.dtype), self._size)
    store(result, lapack.xpotrs(result._array, identity, upper))
