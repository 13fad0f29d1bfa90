"""``linalg.solve``, ``lu_solve``, ``linalg.inv``, ``inverse`` (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

import math

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.device.device import CPU
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.lu_factor import empty_int32
from dispatchviz.core.native.linalg.matrix_checks import (
    broadcast_batch_sizes,
    check_floating_or_complex,
    check_inputs_solver,
    check_lapack_dtype,
    column_major_strides,
    is_vector_rhs,
    square_check_inputs,
)
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.tensor.conj_neg_bits import is_conj, set_conj
from dispatchviz.core.tensor.dtype import int32, int64
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides
from dispatchviz.core.thread.warning import warn_python_once

Outputs = tuple[Structured, ...]

# -- lu_solve ----------------------------------------------------------------------------------------------------------


def linalg_lu_solve_meta(op: Structured, LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> None:
    """The shape of B, with the batch dimensions of both; column-major, or row-major for an equation from the right."""
    check_floating_or_complex(LU, "torch.linalg.lu_solve")
    if LU._dtype is not B._dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {LU._dtype.legacy} and B "
            f"of type {B._dtype.legacy} instead"
        )
    if pivots._dtype is not int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    square_check_inputs(LU, "torch.linalg.lu_solve")
    check_inputs_solver(LU, B, left, "linalg.lu_solve")
    if LU._size[-1] != pivots._size[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if LU._size[:-1] != pivots._size:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._size)} instead"
        )
    size = broadcast_batch_sizes(B, LU)[0]
    op.set_output_strided(size, column_major_strides(size) if left else contiguous_strides(size), B._dtype, B._device)


def linalg_lu_solve_out(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool, out: Tensor) -> None:
    """Solve with the factors. An equation from the right is solved as its conjugate transpose."""
    if 0 in out._size:
        return
    if not left:
        adjoint = not adjoint
        ops.transpose_.call(out, -2, -1)
    if out is not B:
        ops.copy_.call(out, B if left else ops.mH.call(B), False)
    pivots = as_contiguous(pivots)
    if not ops.mT.call(LU)._is_contiguous:
        LU = ops.transpose_.call(ops.clone.call(ops.mT.call(LU), "contiguous_format"), -2, -1)
    check_lapack_dtype("lu_solve_cpu", LU._dtype)
    _check_pivots(LU, pivots)
    _find_matrices(LU, out)
    factors, rows = _expanded(LU, pivots, out)
    store(out, lapack.xgetrs(factors, rows, out._array.copy(), adjoint))
    if not left:
        ops.transpose_.call(out, -2, -1)
        if out._dtype.is_complex:
            set_conj(out, not is_conj(out))


def _check_pivots(LU: Tensor, pivots: Tensor) -> None:
    hint = "Did you properly pass the result of lu_factor?"
    if not ops.item.call(ops.all.call(ops.gt_Scalar.call(pivots, 0))):
        raise RuntimeError(f"Pivots given to lu_solve must all be greater or equal to 1. {hint}")
    if not ops.item.call(ops.all.call(ops.le_Scalar.call(pivots, LU._size[-2]))):
        raise RuntimeError(f"Pivots given to lu_solve must all be smaller or equal to LU.size(-2). {hint}")


def _find_matrices(LU: Tensor, out: Tensor) -> None:
    """Call the operators that find the matrix of each system of a broadcast batch (``BroadcastLinearIndices`` in
    ``LinearAlgebraUtils.cpp``). NB: NumPy broadcasts by itself, so the result is not used.
    """
    own, batch = LU._size[:-2], out._size[:-2]
    if own != batch and out._device == CPU:
        places = ops.arange.call(math.prod(own), int64, None, CPU, None)
        as_contiguous(ops.broadcast_to.call(ops.view.call(places, own), batch))


def _expanded(LU: Tensor, pivots: Tensor, out: Tensor) -> tuple[lapack.Array, lapack.Array]:
    """The arrays of the factors, broadcast to the batch of the result."""
    xp, batch = lapack.module_of(LU._array), out._size[:-2]
    rows = xp.broadcast_to(pivots._array, (*batch, pivots._size[-1]))
    return xp.broadcast_to(_resolved(LU), (*batch, *LU._size[-2:])), rows


def _resolved(tensor: Tensor) -> lapack.Array:
    return tensor._array.conj() if is_conj(tensor) else tensor._array


def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The old name of ``linalg_lu_solve``, with its arguments in another order."""
    _warn_lu_solve(2230)
    return ops.linalg_lu_solve.call(LU_data, LU_pivots, self, True, False)


def lu_solve_out(self: Tensor, LU_data: Tensor, LU_pivots: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``lu_solve``."""
    _warn_lu_solve(2242)
    return ops.linalg_lu_solve_out.call(LU_data, LU_pivots, self, True, False, out)


def _warn_lu_solve(line: int) -> None:
    warn_python_once(
        f"torch.lu_solve {line}",
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve"
        "and will be removed in a future PyTorch release.\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\n"
        "X = torch.lu_solve(B, LU, pivots)\n"
        "should be replaced with\n"
        "X = torch.linalg.lu_solve(LU, pivots, B)",
        f"aten/src/ATen/native/BatchLinearAlgebra.cpp:{line}",
    )


# -- solve -------------------------------------------------------------------------------------------------------------


def _linalg_solve_ex_meta(op: Outputs, A: Tensor, B: Tensor, left: bool, check_errors: bool) -> None:
    """The shape of B with the batch dimensions of both; LU, pivots and ``info`` of A."""
    check_floating_or_complex(A, "linalg.solve")
    if A._dtype is not B._dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A._dtype.legacy} and B of "
            f"type {B._dtype.legacy} instead"
        )
    vector_case = is_vector_rhs(A, B)
    matrix = ops.unsqueeze.call(B, -1) if vector_case else B
    check_inputs_solver(A, matrix, left, "linalg.solve")
    size = broadcast_batch_sizes(matrix, A)[0]
    if vector_case and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    size = size[:-1] if vector_case else size
    strides = column_major_strides(size) if left else contiguous_strides(size)
    op[0].set_output_strided(size, strides, B._dtype, B._device)
    op[1].set_output_strided(A._size, column_major_strides(A._size), A._dtype, A._device)
    op[2].set_output_contiguous(A._size[:-1], int32, A._device)
    op[3].set_output_contiguous(A._size[:-2], int32, A._device)


def _linalg_solve_ex_out(
    A: Tensor, B: Tensor, left: bool, check_errors: bool, result: Tensor, LU: Tensor, pivots: Tensor, info: Tensor
) -> None:
    """Solve by the LU factors of A."""
    ops.linalg_lu_factor_ex_out.call(A, True, False, LU, pivots, info)
    if check_errors:
        ops._linalg_check_errors.call(info, "torch.linalg.solve_ex", len(A._size) == 2)
    vector_case = is_vector_rhs(LU, B)
    solution = ops.unsqueeze.call(result, -1) if vector_case else result
    matrix = ops.unsqueeze.call(B, -1) if vector_case else B
    ops.linalg_lu_solve_out.call(LU, pivots, matrix, left, False, solution)


def linalg_solve_ex(A: Tensor, B: Tensor, left: bool, check_errors: bool) -> tuple[Tensor, Tensor]:
    """The solution and ``info``, without the factors."""
    result, _, _, info = ops._linalg_solve_ex.call(A, B, left, check_errors)
    return result, info


def linalg_solve_ex_out(
    A: Tensor, B: Tensor, left: bool, check_errors: bool, result: Tensor, info: Tensor
) -> tuple[Tensor, Tensor]:
    """Write ``linalg_solve_ex`` into ``result`` and ``info``."""
    LU = ops.new_empty.call(B, (0,), None, None, None, None)
    pivots = ops.new_empty.call(B, (0,), int32, None, None, None)
    ops._linalg_solve_ex_result.call(A, B, left, check_errors, result, LU, pivots, info)
    return result, info


def linalg_solve(A: Tensor, B: Tensor, left: bool) -> Tensor:
    """The X with A @ X = B, or X @ A = B. Raise LinAlgError for a singular matrix."""
    result, info = ops.linalg_solve_ex.call(A, B, left, False)
    ops._linalg_check_errors.call(info, "torch.linalg.solve", len(A._size) == 2)
    return result


def linalg_solve_out(A: Tensor, B: Tensor, left: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_solve``."""
    info = ops.new_empty.call(B, (0,), int32, None, None, None)
    ops.linalg_solve_ex_out.call(A, B, left, False, out, info)
    ops._linalg_check_errors.call(info, "torch.linalg.solve", len(A._size) == 2)
    return out


# -- inv ---------------------------------------------------------------------------------------------------------------


def linalg_inv_ex_meta(op: Outputs, A: Tensor, check_errors: bool) -> None:
    """The inverse, column-major, and ``info``."""
    square_check_inputs(A, "linalg.inv")
    check_floating_or_complex(A, "linalg.inv", low_precision=False)
    op[0].set_output_strided(A._size, column_major_strides(A._size), A._dtype, A._device)
    op[1].set_output_contiguous(A._size[:-2], int32, A._device)


def linalg_inv_ex_out(A: Tensor, check_errors: bool, inverse: Tensor, info: Tensor) -> None:
    """The inverse as the solution for the identity matrix."""
    ops.zero_.call(inverse)
    ops.fill__Scalar.call(ops.diagonal.call(inverse, 0, -2, -1), 1.0)
    ops.linalg_solve_ex_out.call(A, inverse, True, False, inverse, info)
    if check_errors:
        ops._linalg_check_errors.call(info, "linalg.inv_ex", len(A._size) == 2)


def linalg_inv(A: Tensor) -> Tensor:
    """The inverse. Raise LinAlgError for a singular matrix."""
    inverse, info = ops.linalg_inv_ex.call(A, False)
    ops._linalg_check_errors.call(info, "linalg.inv", len(A._size) == 2)
    return inverse


def linalg_inv_out(A: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_inv``."""
    info = empty_int32(A)
    ops.linalg_inv_ex_inverse.call(A, False, out, info)
    ops._linalg_check_errors.call(info, "linalg.inv", len(A._size) == 2)
    return out


def inverse(self: Tensor) -> Tensor:
    """The old name of ``linalg_inv``."""
    return ops.linalg_inv.call(self)


def inverse_out(self: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``inverse``."""
    return ops.linalg_inv_out.call(self, out)
