"""``matrix_rank`` and ``pinv``, computed from singular values (``LinearAlgebra.cpp``)."""

from __future__ import annotations

import numpy

from dispatchviz.core.call.structured import resize_output
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.linalg.cholesky import copied
from dispatchviz.core.native.linalg.matrix_checks import (
    LAPACK_DTYPES,
    check_is_matrix,
    check_linalg_compatible_dtype,
    check_same_device,
)
from dispatchviz.core.tensor.dtype import DType, float64, int64, real_type
from dispatchviz.core.tensor.tensor import Tensor, contiguous_strides
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like

# -- tolerances --------------------------------------------------------------------------------------------------------


def _zeros(like: Tensor, dtype: DType) -> Tensor:
    return ops.zeros.call((), dtype, "strided", like._device, None)


def _number(value: float, like: Tensor) -> Tensor:
    return ops.full.call((), value, float64, "strided", like._device, None)


def _default_rtol(self: Tensor) -> float:
    """The dtype's epsilon times the larger dimension."""
    dtype = real_type(self._dtype)
    if dtype not in LAPACK_DTYPES:
        raise RuntimeError("This function doesn't handle types other than float and double")
    return float(numpy.finfo(dtype.numpy).eps) * max(self._size[-2:])


def _tensors(self: Tensor, atol: Tensor | None, rtol: Tensor | None, function: str) -> tuple[Tensor, Tensor]:
    """The tolerances as tensors (``get_atol_rtol``). rtol has a default; it is 0 if only an atol above 0 is given."""
    absolute = _zeros(self, float64) if atol is None else atol
    _check_real(absolute, function, "atol")
    if rtol is not None:
        _check_real(rtol, function, "rtol")
        return absolute, rtol
    default = _number(_default_rtol(self), self)
    if atol is None:
        return absolute, default
    zero = _zeros(self, float64)
    return absolute, ops.where_self.call(ops.gt_Scalar.call(atol, 0), zero, default)


def _numbers(self: Tensor, atol: float | None, rtol: float | None) -> tuple[Tensor, Tensor]:
    """The tolerances as tensors, from numbers (``get_atol_rtol``)."""
    if rtol is None:
        rtol = 0.0 if atol is not None and atol > 0 else _default_rtol(self)
    return _number(0.0 if atol is None else atol, self), _number(rtol, self)


def _check_real(tolerance: Tensor, function: str, name: str) -> None:
    if tolerance._dtype.is_complex:
        raise RuntimeError(f"{function}: {name} tensor of complex type is not supported. Got {tolerance._dtype.legacy}")


def _threshold(atol: Tensor, rtol: Tensor, maximum: Tensor) -> Tensor:
    scaled = ops.mul_Tensor.call(ops.unsqueeze.call(rtol, -1), maximum)
    return ops.max_other.call(ops.unsqueeze.call(atol, -1), scaled)


# -- pinv --------------------------------------------------------------------------------------------------------------


def linalg_pinv_atol_rtol_tensor(self: Tensor, atol: Tensor | None, rtol: Tensor | None, hermitian: bool) -> Tensor:
    """The pseudoinverse: singular values, or eigenvalues, above the threshold are inverted."""
    if self._dtype not in LAPACK_DTYPES or len(self._size) < 2:
        raise RuntimeError(
            f"linalg.pinv({self._dtype.legacy}{{{list(self._size)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    absolute, relative = _tensors(self, atol, rtol, "torch.linalg.pinv")
    if 0 in self._size:
        U, S, V = ops.svd.call(self, True, True)
        adjoint = ops.mH.call(U)
        inverse = ops.unsqueeze.call(ops.reciprocal.call(S), -2)
        return ops.matmul.call(ops.mul_Tensor.call(V, inverse), adjoint)
    if hermitian:
        return _pinv_hermitian(self, absolute, relative)
    U, S, V = ops.svd.call(self, True, True)
    threshold = _threshold(absolute, relative, ops.narrow.call(S, -1, 0, 1))
    return _inverted(V, S, S, threshold, U, self._dtype)


def _pinv_hermitian(self: Tensor, atol: Tensor, rtol: Tensor) -> Tensor:
    S, U = ops.linalg_eigh.call(self, "L")
    size = ops.abs.call(S)
    threshold = _threshold(atol, rtol, ops.amax.call(size, (-1,), True))
    return _inverted(U, S, size, threshold, U, self._dtype)


def _inverted(left: Tensor, S: Tensor, size: Tensor, threshold: Tensor, U: Tensor, dtype: DType) -> Tensor:
    zero = _zeros(S, S._dtype)
    inverse = ops.reciprocal.call(S)
    kept = ops.where_self.call(ops.gt_Tensor.call(size, threshold), inverse, zero)
    kept = ops.to_dtype.call(kept, dtype, False, False, None)
    adjoint = ops.mH.call(U)
    return ops.matmul.call(ops.mul_Tensor.call(left, ops.unsqueeze.call(kept, -2)), adjoint)


def linalg_pinv_atol_rtol_float(self: Tensor, atol: float | None, rtol: float | None, hermitian: bool) -> Tensor:
    """The pseudoinverse with tolerances as numbers."""
    return ops.linalg_pinv_atol_rtol_tensor.call(self, *_numbers(self, atol, rtol), hermitian)


def linalg_pinv_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool) -> Tensor:
    """The pseudoinverse with ``rcond`` as the relative tolerance."""
    _check_real(rcond, "torch.linalg.pinv", "rcond")
    return ops.linalg_pinv_atol_rtol_tensor.call(self, _zeros(self, float64), rcond, hermitian)


def linalg_pinv(self: Tensor, rcond: float, hermitian: bool) -> Tensor:
    """The pseudoinverse with ``rcond`` as the relative tolerance."""
    return ops.linalg_pinv_atol_rtol_float.call(self, 0.0, rcond, hermitian)


def _check_out(function: str, out: Tensor, self: Tensor, dtype: DType) -> None:
    check_same_device(function, out, self)
    check_linalg_compatible_dtype(function, out, dtype)


def linalg_pinv_out_atol_rtol_tensor_out(
    self: Tensor, atol: Tensor | None, rtol: Tensor | None, hermitian: bool, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_pinv``, which copies the result."""
    _check_out("linalg.pinv", out, self, self._dtype)
    return copied(out, ops.linalg_pinv_atol_rtol_tensor.call(self, atol, rtol, hermitian))


def linalg_pinv_atol_rtol_float_out(
    self: Tensor, atol: float | None, rtol: float | None, hermitian: bool, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_pinv``, which copies the result."""
    _check_out("linalg.pinv", out, self, self._dtype)
    return copied(out, ops.linalg_pinv_atol_rtol_float.call(self, atol, rtol, hermitian))


def linalg_pinv_out_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_pinv``, which copies the result."""
    _check_out("linalg.pinv", out, self, self._dtype)
    return copied(out, ops.linalg_pinv_rcond_tensor.call(self, rcond, hermitian))


def linalg_pinv_out(self: Tensor, rcond: float, hermitian: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_pinv``, which wraps ``rcond``."""
    return ops.linalg_pinv_out_rcond_tensor.call(self, _number(rcond, self), hermitian, out)


def pinverse(self: Tensor, rcond: float) -> Tensor:
    """The old name of ``linalg_pinv``."""
    return ops.linalg_pinv.call(self, rcond, False)


# -- matrix_rank -------------------------------------------------------------------------------------------------------


def _rank_result(self: Tensor) -> Tensor:
    check_is_matrix(self, "torch.linalg.matrix_rank", "input")
    return ops.empty_memory_format.call(self._size[:-2], int64, "strided", self._device, None, None)


def _matrix_rank(self: Tensor, atol: Tensor | None, rtol: Tensor | None, hermitian: bool, result: Tensor) -> Tensor:
    """The number of singular values, or of absolute eigenvalues, above the threshold."""
    function = "torch.linalg.matrix_rank"
    absolute, relative = _tensors(self, atol, rtol, function)
    check_same_device(function, result, self)
    check_same_device(function, absolute, self, "atol")
    check_same_device(function, relative, self, "rtol")
    check_linalg_compatible_dtype(function, result, int64)
    _check_real(absolute, function, "atol")
    _check_real(relative, function, "rtol")
    if 0 in self._size:
        return ops.fill__Scalar.call(result, 0)
    if hermitian:
        S = ops.abs.call(ops.linalg_eigvalsh.call(self, "L"))
        maximum = ops.amax.call(S, (-1,), True)
    else:
        S = ops.linalg_svdvals.call(self, None)
        maximum = ops.narrow.call(S, -1, 0, 1)
    above = ops.gt_Tensor.call(S, _threshold(absolute, relative, maximum))
    if is_tensor_subclass_like(self):
        return ops.sum_dim_IntList.call(above, (-1,), False, None)
    return ops.sum_IntList_out.call(above, (-1,), False, None, result)


def linalg_matrix_rank_atol_rtol_tensor(
    input: Tensor, atol: Tensor | None, rtol: Tensor | None, hermitian: bool
) -> Tensor:
    """The rank by absolute and relative tolerances."""
    return _matrix_rank(input, atol, rtol, hermitian, _rank_result(input))


def linalg_matrix_rank_atol_rtol_float(self: Tensor, atol: float | None, rtol: float | None, hermitian: bool) -> Tensor:
    """The rank by absolute and relative tolerances."""
    result = _rank_result(self)
    return _matrix_rank(self, *_numbers(self, atol, rtol), hermitian, result)


def linalg_matrix_rank_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool) -> Tensor:
    """The rank by an absolute tolerance."""
    result = _rank_result(input)
    return _matrix_rank(input, tol, _zeros(tol, tol._dtype), hermitian, result)


def linalg_matrix_rank(self: Tensor, tol: float, hermitian: bool) -> Tensor:
    """The rank by an absolute tolerance."""
    result = _rank_result(self)
    return _matrix_rank(self, *_numbers(self, tol, 0.0), hermitian, result)


def linalg_matrix_rank_atol_rtol_tensor_out(
    input: Tensor, atol: Tensor | None, rtol: Tensor | None, hermitian: bool, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_matrix_rank``."""
    check_is_matrix(input, "torch.linalg.matrix_rank", "input")
    size = input._size[:-2]
    if out._size != size:
        resize_output(out, size, contiguous_strides(size))
    return _matrix_rank(input, atol, rtol, hermitian, out)


def linalg_matrix_rank_atol_rtol_float_out(
    self: Tensor, atol: float | None, rtol: float | None, hermitian: bool, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``linalg_matrix_rank``."""
    return linalg_matrix_rank_atol_rtol_tensor_out(self, *_numbers(self, atol, rtol), hermitian, out)


def linalg_matrix_rank_out_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_matrix_rank``."""
    zero = _zeros(tol, tol._dtype)
    return ops.linalg_matrix_rank_atol_rtol_tensor_out.call(input, tol, zero, hermitian, out)


def linalg_matrix_rank_out(self: Tensor, tol: float, hermitian: bool, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_matrix_rank``."""
    return ops.linalg_matrix_rank_atol_rtol_float_out.call(self, tol, 0.0, hermitian, out)
