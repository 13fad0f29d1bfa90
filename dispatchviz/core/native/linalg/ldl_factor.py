"""``linalg.ldl_factor``, ``linalg.ldl_solve``: symmetric indefinite systems (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack, lapack_symmetric
from dispatchviz.core.native.linalg.lu_factor import empty_int32
from dispatchviz.core.native.linalg.matrix_checks import (
    broadcast_batch_sizes,
    check_floating_or_complex,
    check_lapack_dtype,
    clone_batched_column_major,
    column_major_strides,
    linear_solve_check_inputs,
    square_check_inputs,
)
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.tensor.dtype import int32
from dispatchviz.core.tensor.tensor import Tensor


def linalg_ldl_factor_ex_meta(op: tuple[Structured, ...], self: Tensor, hermitian: bool, check_errors: bool) -> None:
    """The factors, column-major, the pivots and ``info``."""
    square_check_inputs(self, "torch.linalg.ldl_factor_ex")
    check_floating_or_complex(self, "torch.linalg.ldl_factor_ex")
    op[0].set_output_strided(self._size, column_major_strides(self._size), self._dtype, self._device)
    op[1].set_output_contiguous(self._size[:-1], int32, self._device)
    op[2].set_output_contiguous(self._size[:-2], int32, self._device)


def linalg_ldl_factor_ex_out(
    self: Tensor, hermitian: bool, check_errors: bool, LD: Tensor, pivots: Tensor, info: Tensor
) -> None:
    """Factorize into the lower triangle, which is the only one that is read."""
    if 0 in self._size:
        ops.zero_.call(info)
        return
    ops.tril_out.call(self, 0, LD)
    check_lapack_dtype("ldl_factor_kernel_cpu", self._dtype)
    ops.empty_memory_format.call((1,), self._dtype, "strided", self._device, None, None)  # LAPACK's workspace
    for output, values in zip((LD, pivots, info), lapack_symmetric.xsytrf(LD._array, hermitian), strict=True):
        store(output, values)
    if check_errors:
        ops._linalg_check_errors.call(info, "torch.linalg.ldl_factor_ex", len(self._size) == 2)


def linalg_ldl_factor(self: Tensor, hermitian: bool) -> tuple[Tensor, Tensor]:
    """The factors and the pivots."""
    LD, pivots, info = ops.linalg_ldl_factor_ex.call(self, hermitian, False)
    ops._linalg_check_errors.call(info, "torch.linalg.ldl_factor", len(self._size) == 2)
    return LD, pivots


def linalg_ldl_factor_out(self: Tensor, hermitian: bool, LD: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor]:
    """Write ``linalg_ldl_factor`` into ``LD`` and ``pivots``."""
    info = empty_int32(self)
    ops.linalg_ldl_factor_ex_out.call(self, hermitian, False, LD, pivots, info)
    ops._linalg_check_errors.call(info, "torch.linalg.ldl_factor", len(self._size) == 2)
    return LD, pivots


def linalg_ldl_solve_meta(op: Structured, LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> None:
    """The shape of B with the batch dimensions of both, column-major."""
    function = "torch.linalg.ldl_solve"
    square_check_inputs(LD, function)
    check_floating_or_complex(LD, function)
    linear_solve_check_inputs(B, LD, function)
    if len(B._size) < 2:
        raise RuntimeError(
            f"{function}: Expected B to have at least 2 dimensions, but it has {len(B._size)} dimensions instead"
        )
    if LD._size[:-1] != pivots._size:
        raise RuntimeError(
            f"{function}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots._size)} instead"
        )
    if pivots._dtype.can_require_grad or pivots._dtype.name == "bool":
        raise RuntimeError(f"{function}: Expected pivots to be integers. Got {pivots._dtype.legacy}")
    if LD._dtype is not B._dtype:
        raise RuntimeError(f"{function}: LD dtype{LD._dtype.legacy} does not match b dtype {B._dtype.legacy}")
    size = broadcast_batch_sizes(B, LD)[0]
    op.set_output_strided(size, column_major_strides(size), B._dtype, B._device)


def linalg_ldl_solve_out(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool, out: Tensor) -> None:
    """Solve with the factors. Raise RuntimeError for pivots out of range."""
    if 0 in LD._size or 0 in pivots._size:
        return
    pivots = as_contiguous(pivots)
    if not ops.mT.call(LD)._is_contiguous:
        LD = clone_batched_column_major(LD)
    ops.copy_.call(out, B, False)
    check_lapack_dtype("ldl_solve_kernel_cpu", LD._dtype)
    _check_pivots(LD, pivots)
    pivots = ops.to_dtype.call(pivots, int32, False, False, None)
    xp, batch = lapack.module_of(LD._array), out._size[:-2]
    rows = xp.broadcast_to(pivots._array, (*batch, pivots._size[-1]))
    store(
        out,
        lapack_symmetric.xsytrs(
            xp.broadcast_to(LD._array, (*batch, *LD._size[-2:])), rows, out._array.copy(), hermitian
        ),
    )


def _check_pivots(LD: Tensor, pivots: Tensor) -> None:
    hint = "Did you properly pass the result of ldl_factor?"
    if not ops.item.call(ops.all.call(ops.ge_Scalar.call(ops.abs.call(pivots), 1))):
        raise RuntimeError(f"Pivots given to ldl_solve must all have absolute value greater or equal to 1. {hint}")
    if not ops.item.call(ops.all.call(ops.le_Scalar.call(ops.abs.call(pivots), LD._size[-2]))):
        raise RuntimeError(f"Pivots given to ldl_solve must all be smaller or equal to LD.size(-2). {hint}")
