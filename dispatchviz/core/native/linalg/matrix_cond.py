"""``linalg.cond``: condition number of a matrix (``LinearAlgebra.cpp``)."""

from __future__ import annotations

import math

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.linalg.cholesky import copied
from dispatchviz.core.native.linalg.matrix_checks import (
    check_linalg_compatible_dtype,
    check_same_device,
    square_check_inputs,
)
from dispatchviz.core.tensor.dtype import real_type
from dispatchviz.core.tensor.tensor import Tensor


def linalg_cond(self: Tensor, p: Scalar | None) -> Tensor:
    """The largest singular value divided by the smallest, or a norm times the norm of the inverse."""
    if len(self._size) < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    order = 2 if p is None else p
    if abs(float(order)) not in (1.0, 2.0, math.inf):  # type: ignore[arg-type]
        raise RuntimeError(f"linalg.cond got an invalid norm type: {float(order):g}")  # type: ignore[arg-type]
    if 0 in self._size:
        return _no_condition(self)
    if abs(float(order)) == 2.0:  # type: ignore[arg-type]
        values = ops.linalg_svdvals.call(self, None)
        maximum, minimum = ops.narrow.call(values, -1, 0, 1), ops.narrow.call(values, -1, -1, 1)
        pair = (maximum, minimum) if float(order) > 0 else (minimum, maximum)  # type: ignore[arg-type]
        return ops.squeeze_dim.call(ops.div_Tensor.call(*pair), -1)
    square_check_inputs(self, f"linalg.cond(ord={_printed(order)})")
    inverse = _inverse_or_infinity(self)
    return _without_nan(ops.mul_Tensor.call(_norm_of(self, order), _norm_of(inverse, order)))


def _printed(order: Scalar) -> str:
    """The order as PyTorch's message prints it."""
    return f"{order:f}" if isinstance(order, float) else str(order)


def _norm_of(tensor: Tensor, order: Scalar | str) -> Tensor:
    if isinstance(order, str):
        return ops.linalg_matrix_norm_str_ord.call(tensor, order, (-2, -1), False, None)
    return ops.linalg_matrix_norm.call(tensor, order, (-2, -1), False, None)


def _inverse_or_infinity(self: Tensor) -> Tensor:
    inverse, info = ops.linalg_inv_ex.call(self, False)
    ops.unsqueeze_.call(ops.unsqueeze_.call(info, -1), -1)
    return ops.masked_fill__Scalar.call(inverse, ops.gt_Scalar.call(info, 0), math.inf)


def _without_nan(product: Tensor) -> Tensor:
    return ops.nan_to_num_.call(product, math.inf, math.inf, -math.inf)


def _no_condition(self: Tensor) -> Tensor:
    return ops.zeros.call(self._size[:-2], real_type(self._dtype), "strided", self._device, None)


def linalg_cond_p_str(self: Tensor, p: str) -> Tensor:
    """The condition number by the Frobenius or the nuclear norm."""
    square_check_inputs(self, f"linalg.cond(ord={p})")
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if 0 in self._size:
        return _no_condition(self)
    if p == "nuc":
        values = ops.linalg_svdvals.call(self, None)
        inverse = ops.sum_dim_IntList.call(ops.reciprocal.call(values), (-1,), False, None)
        return ops.mul_Tensor.call(ops.sum_dim_IntList.call(values, (-1,), False, None), inverse)
    inverse = _inverse_or_infinity(self)
    return _without_nan(ops.mul_Tensor.call(_norm_of(self, p), _norm_of(inverse, p)))


def linalg_cond_out(self: Tensor, p: Scalar | None, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_cond``, which copies the result."""
    _check_out(out, self)
    return copied(out, ops.linalg_cond.call(self, p))


def linalg_cond_p_str_out(self: Tensor, p: str, out: Tensor) -> Tensor:
    """The ``out=`` version of ``linalg_cond``, which copies the result."""
    _check_out(out, self)
    return copied(out, ops.linalg_cond_p_str.call(self, p))


def _check_out(out: Tensor, self: Tensor) -> None:
    check_same_device("linalg.cond", out, self)
    check_linalg_compatible_dtype("linalg.cond", out, real_type(self._dtype))
