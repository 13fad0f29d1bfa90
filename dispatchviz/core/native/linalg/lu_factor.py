"""LU factorization: ``lu_factor``, ``lu``, ``lu_unpack`` (``BatchLinearAlgebra.cpp``)."""

from __future__ import annotations

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.native.linalg import lapack
from dispatchviz.core.native.linalg.matrix_checks import check_lapack_dtype, column_major_strides
from dispatchviz.core.native.memory.copy_clone import as_contiguous
from dispatchviz.core.tensor.dtype import int32, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides
from dispatchviz.core.thread.warning import warn_python_once

Outputs = tuple[Structured, ...]

# -- lu_factor ---------------------------------------------------------------------------------------------------------


def linalg_lu_factor_ex_meta(op: Outputs, A: Tensor, pivot: bool, check_errors: bool) -> None:
    """The shapes [*, m, n], and [*, k] and [*] of int32, with k the smaller of m and n."""
    if len(A._size) < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A._size)} instead"
        )
    batch = A._size[:-2]
    op[0].set_output_strided(A._size, column_major_strides(A._size), A._dtype, A._device)
    op[1].set_output_contiguous((*batch, min(A._size[-2:])), int32, A._device)
    op[2].set_output_contiguous(batch, int32, A._device)


def linalg_lu_factor_ex_out(
    A: Tensor, pivot: bool, check_errors: bool, LU: Tensor, pivots: Tensor, info: Tensor
) -> None:
    """Both factors in ``LU``. Raise LinAlgError, if ``check_errors``, when the upper one is singular."""
    if 0 in A._size:
        ops.zero_.call(info)
        return
    if LU is not A:
        ops.copy_.call(LU, A, False)
    if not pivot and A._device.type == "cpu":
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    check_lapack_dtype("lu_cpu", A._dtype)
    for output, values in zip((LU, pivots, info), lapack.xgetrf(LU._array, pivot), strict=True):
        store(output, values)
    if check_errors:
        ops._linalg_check_errors.call(info, "torch.linalg.lu_factor_ex", len(A._size) == 2)


def linalg_lu_factor(A: Tensor, pivot: bool) -> tuple[Tensor, Tensor]:
    """The factors and the pivots. Raise RuntimeError for a singular matrix."""
    LU, pivots, info = ops.linalg_lu_factor_ex.call(A, pivot, False)
    ops._linalg_check_errors.call(info, "torch.linalg.lu_factor", len(A._size) == 2)
    return LU, pivots


def linalg_lu_factor_out(A: Tensor, pivot: bool, LU: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor]:
    """Write ``linalg_lu_factor`` into ``LU`` and ``pivots``."""
    info = empty_int32(A)
    ops.linalg_lu_factor_ex_out.call(A, pivot, False, LU, pivots, info)
    ops._linalg_check_errors.call(info, "torch.linalg.lu_factor", len(A._size) == 2)
    return LU, pivots


def empty_int32(like: Tensor) -> Tensor:
    """An empty int32 output that will be resized."""
    return ops.empty_memory_format.call((0,), int32, "strided", like._device, None, None)


def _lu_with_info(self: Tensor, pivot: bool, check_errors: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The factors, pivots and info, for ``torch.lu``."""
    warn_python_once(
        "torch.lu",
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be "
        "removed in a future PyTorch release.\n"
        "LU, pivots = torch.lu(A, compute_pivots)\n"
        "should be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\n"
        "and\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
        "should be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
        "aten/src/ATen/native/BatchLinearAlgebra.cpp:2073",
    )
    return ops.linalg_lu_factor_ex.call(self, pivot, False)


# -- lu, lu_unpack -----------------------------------------------------------------------------------------------------


def linalg_lu_meta(op: Outputs, A: Tensor, pivot: bool) -> None:
    """The shapes P [*, m, m], or [0] without pivoting; L [*, m, k]; U [*, k, n]."""
    if len(A._size) < 2:
        raise RuntimeError(f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(A._size)} instead")
    _set_factors(op, A, pivot, True)


def _set_factors(op: Outputs, like: Tensor, pivot: bool, data: bool) -> None:
    *batch, m, n = like._size
    k = min(m, n)
    wanted: tuple[tuple[bool, Size], ...] = ((pivot, (*batch, m, m)), (data, (*batch, m, k)), (data, (*batch, k, n)))
    for output, (given, size) in zip(op, wanted, strict=True):
        size = size if given else (0,)
        output.set_output_raw_strided(size, contiguous_strides(size), like._dtype, like._device)


def linalg_lu_out(A: Tensor, pivot: bool, P: Tensor, L: Tensor, U: Tensor) -> None:
    """Factorize in the output that has the size of A, then unpack."""
    packed = L if A._size[-2] > A._size[-1] else U
    pivots, info = empty_int32(A), empty_int32(A)
    ops.linalg_lu_factor_ex_out.call(A, pivot, False, packed, pivots, info)
    ops.lu_unpack_out.call(packed, pivots, True, pivot, P, L, U)


def lu_unpack_meta(op: Outputs, LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool) -> None:
    """The shapes of ``linalg_lu``; an output that is not requested has the size [0]."""
    if len(LU_data._size) < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data._size)} instead"
        )
    if unpack_pivots and LU_pivots._dtype is not int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    _set_factors(op, LU_data, unpack_pivots, unpack_data)


def lu_unpack_out(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool, unpack_pivots: bool, P: Tensor, L: Tensor, U: Tensor
) -> None:
    """The triangles, and the swaps as a permutation matrix."""
    if unpack_data:
        _unpack_triangles(LU_data, L, U)
    if unpack_pivots:
        _unpack_pivots(LU_pivots, P)


def _unpack_triangles(LU: Tensor, L: Tensor, U: Tensor) -> None:
    """Write the triangles, starting with the one that does not share the memory of ``LU``."""
    m, n = LU._size[-2:]
    if m > n or LU is L:
        ops.triu_out.call(LU if m == n else ops.narrow.call(LU, -2, 0, n), 0, U)
        ops.tril_out.call(LU, -1, L)
        ops.fill__Scalar.call(ops.diagonal.call(L, 0, -2, -1), 1.0)
    else:
        ops.tril_out.call(LU if m == n else ops.narrow.call(LU, -1, 0, m), -1, L)
        ops.fill__Scalar.call(ops.diagonal.call(L, 0, -2, -1), 1.0)
        ops.triu_out.call(LU, 0, U)


def _unpack_pivots(pivots: Tensor, P: Tensor) -> None:
    order = ops.arange.call(P._size[-1], int64, "strided", pivots._device, None)
    order = as_contiguous(ops.expand.call(order, P._size[:-1], False))
    store(order, lapack.permutation(as_contiguous(pivots)._array, P._size[-1]))
    ops.zero_.call(P)
    ops.scatter__value.call(P, -2, ops.unsqueeze.call(order, -2), 1.0)
