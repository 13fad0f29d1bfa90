"""Backward and jvp of ``linalg_lstsq`` (``FunctionsManual.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.formulas.formulas_linalg import Gradients, add, matmul, mH, sub
from dispatchviz.core.autograd.formulas.formulas_spectral import pinv_backward, pinv_jvp
from dispatchviz.core.autograd.formulas.functions_manual import conjugated
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.linalg.matrix_checks import is_vector_rhs
from dispatchviz.core.tensor.tensor import Tensor


def linalg_lstsq_backward(
    gX: Tensor | None, gL: Tensor | None, A: Tensor, B: Tensor, X: Tensor, grad_input_mask: Sequence[bool]
) -> Gradients:
    """The gradients through the pseudo-inverse; those of the residuals as if the solution were constant."""
    if gL is not None and 0 in gL._size:
        gL = None
    gA: Tensor | None = None
    gB: Tensor | None = None
    if (gX is None and gL is None) or not any(grad_input_mask):
        return gA, gB
    vectors = is_vector_rhs(A, B)
    matrix = ops.unsqueeze.call(B, -1) if vectors else B
    if gX is not None:
        gA, gB = _through_pinv(ops.unsqueeze.call(gX, -1) if vectors else gX, A, matrix, grad_input_mask)
        gB = ops.squeeze_dim.call(gB, -1) if vectors and gB is not None else gB
    if gL is None:
        return gA, gB
    solution = ops.unsqueeze.call(X, -1) if vectors else X
    r = sub(matmul(A, solution), matrix)
    unreached = ops.unsqueeze.call(gL, -2)
    if grad_input_mask[0]:
        weighted = ops.mul_Tensor.call(unreached, r)
        term = ops.mul_Scalar.call(matmul(weighted, mH(solution)), 2)
        gA = term if gA is None else add(gA, term)
    if grad_input_mask[1]:
        term = ops.mul_Tensor.call(ops.mul_Scalar.call(unreached, -2), r)
        term = ops.squeeze_dim.call(term, -1) if vectors else term
        gB = term if gB is None else add(gB, term)
    return gA, gB


def _through_pinv(gX: Tensor, A: Tensor, B: Tensor, mask: Sequence[bool]) -> Gradients:
    pinvA = ops.linalg_pinv_atol_rtol_tensor.call(A, None, None, False)
    gA = pinv_backward(matmul(gX, mH(B)), pinvA, A) if mask[0] else None
    return gA, matmul(mH(pinvA), gX) if mask[1] else None


def linalg_lstsq_solution_jvp(A: Tensor, B: Tensor, A_t: Tensor, B_t: Tensor) -> Tensor:
    """pinv(A)_t B + pinv(A) B_t"""
    pinvA = ops.linalg_pinv_atol_rtol_tensor.call(A, None, None, False)
    pinvA_t = pinv_jvp(A, pinvA, A_t)
    vectors = is_vector_rhs(A, B)
    right = matmul(pinvA, ops.unsqueeze.call(B_t, -1) if vectors else B_t)
    found = add(matmul(pinvA_t, ops.unsqueeze.call(B, -1) if vectors else B), right)
    return ops.squeeze_dim.call(found, -1) if vectors else found


def linalg_lstsq_residuals_jvp(A: Tensor, B: Tensor, A_t: Tensor, B_t: Tensor, X: Tensor, L: Tensor) -> Tensor:
    """2 Re sum of conj(A X - B) (A_t X - B_t)"""
    if 0 in L._size:
        return ops.clone.call(L, None)
    vectors = is_vector_rhs(A, B)
    solution, matrix, tangent = (ops.unsqueeze.call(t, -1) if vectors else t for t in (X, B, B_t))
    r = sub(matmul(A, solution), matrix)
    r_t = sub(matmul(A_t, solution), tangent)
    products = ops.real.call(ops.mul_Tensor.call(r_t, conjugated(r)))
    return ops.mul_Scalar.call(ops.sum_dim_IntList.call(products, (-2,), False, None), 2)
