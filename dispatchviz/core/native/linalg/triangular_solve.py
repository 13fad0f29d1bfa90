"""``linalg.solve_triangular``, ``triangular_solve`` (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import Structured, resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.matrix_checks import (
    broadcast_batch_dims,
    broadcast_batch_sizes,
    check_inputs_solver,
    check_lapack_dtype,
    clone_batched_column_major,
    column_major_strides,
    linear_solve_check_inputs,
)
from dispatchviz.core.tensor.conj_neg_bits import is_conj, resolved
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides
from dispatchviz.core.thread.warning import warn_python_once

# -- solve_triangular --------------------------------------------------------------------------------------------------


def linalg_solve_triangular(self: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    """The X with self @ X = B, or X @ self = B; only one triangle of self is read."""
    out = ops.empty_memory_format.call((0,), self._dtype, "strided", self._device, None, None)
    return linalg_solve_triangular_out(self, B, upper, left, unitriangular, out)


def linalg_solve_triangular_out(
    self: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool, out: Tensor
) -> Tensor:
    """Solve in ``out`` if it is row-major or column-major. A matrix that is neither is copied."""
    check_inputs_solver(self, B, left, "linalg.solve_triangular")
    right, matrix = broadcast_batch_dims(B, self, None)
    _resize(matrix, right, out)
    if _in_order(out):
        solution = out if out is right else ops.copy_.call(out, right, False)
    else:
        solution = clone_batched_column_major(right)
    is_row_major = bool(solution._stride) and solution._stride[-1] == 1
    if is_row_major:
        ops.transpose_.call(solution, -2, -1)
    if not _in_order(matrix):
        matrix = ops.clone.call(matrix, "contiguous_format") if is_row_major else clone_batched_column_major(matrix)
    check_lapack_dtype("triangular_solve_cpu", self._dtype)
    if solution._dtype is not self._dtype:
        raise RuntimeError(f"expected scalar type {self._dtype.legacy} but found {solution._dtype.legacy}")
    if is_row_major:
        ops.transpose_.call(solution, -2, -1)
    store(solution, _solved(resolved(matrix), solution._array, upper, left, unitriangular))
    return out if solution is out else ops.copy_.call(out, solution, False)


def _resize(matrix: Tensor, right: Tensor, out: Tensor) -> None:
    """Resize ``out`` column-major, or row-major for a conjugated row-major matrix."""
    if ops.transpose_int.call(matrix, -2, -1)._is_contiguous and is_conj(matrix):
        if out._size != right._size:
            resize_output(out, right._size, contiguous_strides(right._size))
    elif out._size != right._size:
        ops.resize_.call(out, ops.transpose_int.call(right, -2, -1)._size, "contiguous_format")
        ops.transpose_.call(out, -2, -1)


def _in_order(matrix: Tensor) -> bool:
    """Return whether the matrix is row-major or column-major."""
    return matrix._is_contiguous or ops.transpose_int.call(matrix, -2, -1)._is_contiguous


def _solved(a: lapack.Array, b: lapack.Array, upper: bool, left: bool, unitriangular: bool) -> lapack.Array:
    if left:
        return lapack.solve_triangular(a, b, upper, unitriangular)
    return lapack.solve_triangular(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, unitriangular).swapaxes(-1, -2)


# -- triangular_solve --------------------------------------------------------------------------------------------------


def triangular_solve_meta(
    op: tuple[Structured, ...], self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> None:
    """The solution and a copy of A, column-major, with the batch dimensions of both."""
    for name, tensor in (("b", self), ("A", A)):
        if len(tensor._size) < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has "
                f"{len(tensor._size)} dimensions instead"
            )
    linear_solve_check_inputs(self, A, "triangular_solve")
    for output, size, like in zip(op, broadcast_batch_sizes(self, A), (self, A), strict=True):
        output.set_output_raw_strided(size, column_major_strides(size), like._dtype, like._device)


def triangular_solve_out(
    self: Tensor, A: Tensor, upper: bool, transpose: bool, unitriangular: bool, X: Tensor, M: Tensor
) -> None:
    """Solve in ``X`` if both outputs are column-major, otherwise in copies."""
    right, matrix = broadcast_batch_dims(self, A, "triangular_solve")
    fit = ops.transpose_int.call(X, -2, -1)._is_contiguous
    if ops.transpose_int.call(M, -2, -1)._is_contiguous and fit:
        _triangular_solve(X, M, right, matrix, (upper, transpose, unitriangular))
        return
    made = [ops.empty_memory_format.call((0,), t._dtype, "strided", t._device, None, None) for t in (self, A)]
    _triangular_solve(made[0], made[1], right, matrix, (upper, transpose, unitriangular))
    ops.copy_.call(X, made[0], False)
    ops.copy_.call(M, made[1], False)


def _triangular_solve(X: Tensor, M: Tensor, right: Tensor, matrix: Tensor, flags: tuple[bool, bool, bool]) -> None:
    _warn_triangular_solve()
    for output, like in ((X, right), (M, matrix)):
        if 0 in output._size:
            ops.resize_.call(output, ops.mT.call(like)._size, "contiguous_format")
            ops.transpose_.call(output, -2, -1)
    ops.copy_.call(X, right, False)
    ops.copy_.call(M, matrix, False)
    check_lapack_dtype("triangular_solve_cpu", matrix._dtype)
    upper, transpose, unitriangular = flags
    array = M._array.swapaxes(-1, -2) if transpose else M._array
    store(X, lapack.solve_triangular(array, X._array, upper != transpose, unitriangular))


def _warn_triangular_solve() -> None:
    warn_python_once(
        "torch.triangular_solve",
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular"
        "and will be removed in a future PyTorch release.\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\n"
        "should be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B).",
        "aten/src/ATen/native/BatchLinearAlgebra.cpp:2273",
    )
