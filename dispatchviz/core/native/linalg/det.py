"""Determinants: ``det``, ``slogdet``, ``logdet`` (``LinearAlgebra.cpp``)."""

from __future__ import annotations

import math

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.linalg.lu_factor import empty_int32
from dispatchviz.core.native.linalg.matrix_checks import (
    check_floating_or_complex,
    column_major_strides,
    square_check_inputs,
)
from dispatchviz.core.tensor.dtype import int32, int64, real_type
from dispatchviz.core.tensor.tensor import Tensor

Outputs = tuple[Structured, ...]


def _set_factors(lu: Structured, pivots: Structured, A: Tensor) -> None:
    """Set the outputs for the backward pass: the column-major LU factors and the pivots."""
    lu.set_output_strided(A._size, column_major_strides(A._size), A._dtype, A._device)
    pivots.set_output_contiguous(A._size[:-1], int32, A._device)


def _factorize(A: Tensor, LU: Tensor, pivots: Tensor) -> None:
    """Factorize A, or the transpose of a row-major real matrix, which is column-major without a copy."""
    transposed = A._is_contiguous and not A._dtype.is_complex
    info = empty_int32(A)
    ops.linalg_lu_factor_ex_out.call(ops.mH.call(A) if transposed else A, True, False, LU, pivots, info)


def _sign_of_permutation(pivots: Tensor) -> Tensor:
    """The sign of the permutation: 1 for an even number of swaps, -1 for an odd one."""
    indices = ops.arange_start.call(1, pivots._size[-1] + 1, int32, "strided", pivots._device, None)
    swaps = ops.sum_dim_IntList.call(ops.ne_Tensor.call(indices, pivots), (-1,), False, int64)
    return ops.add__Scalar.call(ops.mul__Scalar.call(ops.fmod__Scalar.call(swaps, 2), -2), 1, 1)


# -- det ---------------------------------------------------------------------------------------------------------------


def _linalg_det_meta(op: Outputs, A: Tensor) -> None:
    """One number for each matrix, and the factors."""
    square_check_inputs(A, "linalg.det")
    check_floating_or_complex(A, "linalg.det")
    op[0].set_output_contiguous(A._size[:-2], A._dtype, A._device)
    _set_factors(op[1], op[2], A)


def _linalg_det_out(A: Tensor, result: Tensor, LU: Tensor, pivots: Tensor) -> None:
    """The product of the diagonal of U, times the sign of the permutation."""
    _factorize(A, LU, pivots)
    product = ops.prod_dim_int.call(ops.diagonal.call(LU, 0, -2, -1), -1, False, None)
    ops.mul_out.call(_sign_of_permutation(pivots), product, result)


def linalg_det(A: Tensor) -> Tensor:
    """The determinant without the factors."""
    return ops._linalg_det.call(A)[0]


def linalg_det_out(A: Tensor, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_det``."""
    LU = ops.empty_memory_format.call((0,), A._dtype, "strided", A._device, None, None)
    ops._linalg_det_result.call(A, out, LU, empty_int32(A))
    return out


def det(self: Tensor) -> Tensor:
    """The old name of ``linalg_det``."""
    return ops.linalg_det.call(self)


# -- slogdet -----------------------------------------------------------------------------------------------------------


def _linalg_slogdet_meta(op: Outputs, A: Tensor) -> None:
    """The sign and the logarithm of each determinant, and the factors."""
    square_check_inputs(A, "linalg.slogdet")
    check_floating_or_complex(A, "linalg.slogdet", low_precision=False)
    op[0].set_output_contiguous(A._size[:-2], A._dtype, A._device)
    op[1].set_output_contiguous(A._size[:-2], real_type(A._dtype), A._device)
    _set_factors(op[2], op[3], A)


def _linalg_slogdet_out(A: Tensor, sign: Tensor, logabsdet: Tensor, LU: Tensor, pivots: Tensor) -> None:
    """The product of the signs and the sum of the logarithms."""
    _factorize(A, LU, pivots)
    diagonal = ops.diagonal.call(LU, 0, -2, -1)
    swaps = _sign_of_permutation(pivots)
    ops.mul_out.call(ops.prod_dim_int.call(ops.sgn.call(diagonal), -1, False, None), swaps, sign)
    ops.sum_IntList_out.call(ops.log_.call(ops.abs.call(diagonal)), (-1,), False, None, logabsdet)


def linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign and the logarithm, without the factors."""
    sign, logabsdet, _, _ = ops._linalg_slogdet.call(A)
    return sign, logabsdet


def linalg_slogdet_out(A: Tensor, sign: Tensor, logabsdet: Tensor) -> tuple[Tensor, Tensor]:
    """Write ``linalg_slogdet`` into ``sign`` and ``logabsdet``."""
    LU = ops.empty_memory_format.call((0,), A._dtype, "strided", A._device, None, None)
    ops._linalg_slogdet_sign.call(A, sign, logabsdet, LU, empty_int32(A))
    return sign, logabsdet


def slogdet(self: Tensor) -> tuple[Tensor, Tensor]:
    """The old name of ``linalg_slogdet``."""
    return ops.linalg_slogdet.call(self)


def slogdet_out(self: Tensor, sign: Tensor, logabsdet: Tensor) -> tuple[Tensor, Tensor]:
    """Write ``slogdet`` into ``sign`` and ``logabsdet``."""
    return ops.linalg_slogdet_out.call(self, sign, logabsdet)


def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinant; nan if it is negative."""
    square_check_inputs(self, "logdet")
    check_floating_or_complex(self, "logdet", low_precision=False)
    sign, logabsdet = ops.linalg_slogdet.call(self)
    if self._dtype.is_complex:
        return ops.add_Tensor.call(ops.log.call(sign), logabsdet, 1)
    return ops.where_ScalarSelf.call(ops.eq_Scalar.call(sign, -1.0), math.nan, logabsdet)
