"""Backward and forward derivatives of QR and Cholesky factors (``FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.autograd.formulas.formulas_linalg import (
    Gradients,
    add,
    diag_embed,
    diagonal,
    matmul,
    mH,
    solve_triangular,
    sub,
)
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.linalg.qr import parse_qr_mode
from dispatchviz.core.tensor.tensor import Tensor

# -- qr ----------------------------------------------------------------------------------------------------------------


def _check_qr(mode: str, m: int, n: int) -> None:
    compute_q, reduced = parse_qr_mode(mode)
    if not compute_q:
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if not reduced and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")


def linalg_qr_backward(gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor, mode: str) -> Tensor | None:
    """The gradient of A, from the parts that keep Q orthogonal and R triangular."""
    m, n = Q._size[-2] if len(Q._size) > 1 else 0, R._size[-1]
    _check_qr(mode, m, n)
    if gQ is None and gR is None:
        return None
    gA = _both(gQ, gR, Q, R)
    return _qr_backward_tall(gA, gQ, Q, R) if m >= n else _qr_backward_wide(gA, gR, Q, R, m)


def _both(gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor) -> Tensor:
    """gR R^H - Q^H gQ; C++ evaluates the second product first."""
    if gQ is None:
        assert gR is not None, "one of them is there"
        return matmul(gR, mH(R))
    of_q = matmul(mH(Q), gQ)
    return ops.neg.call(of_q) if gR is None else sub(matmul(gR, mH(R)), of_q)


def _qr_backward_tall(gA: Tensor, gQ: Tensor | None, Q: Tensor, R: Tensor) -> Tensor:
    upper = ops.triu.call(gA, 0)
    whole = add(upper, mH(upper))
    ops.mul__Scalar.call(ops.real.call(diagonal(whole)), 0.5)
    gA = matmul(Q, whole)
    if gQ is not None:
        gA = add(gA, gQ)
    return solve_triangular(mH(R), gA, False, False)


def _qr_backward_wide(gA: Tensor, gR: Tensor | None, Q: Tensor, R: Tensor, m: int) -> Tensor:
    product = ops.neg.call(gA)
    lower = ops.tril.call(sub(product, mH(product)), 0)
    if lower._dtype.is_complex:
        ops.mul__Scalar.call(ops.imag.call(diagonal(lower)), 0.5)
    gA = matmul(Q, lower)
    gA = solve_triangular(mH(ops.narrow.call(R, -1, 0, m)), gA, False, False)
    rest = ops.new_zeros.call(gA, (*R._size[:-1], R._size[-1] - m), None, None, None, None)
    gA = ops.cat.call([gA, rest], -1)
    return gA if gR is None else add(gA, matmul(Q, gR))


def linalg_qr_jvp(A_t: Tensor, Q: Tensor, R: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """The tangents of Q and R."""
    m, n = A_t._size[-2:]
    _check_qr(mode, m, n)
    return _qr_jvp_tall(A_t, Q, R) if m >= n else _qr_jvp_wide(A_t, Q, R, m)


def _qr_jvp_tall(A_t: Tensor, Q: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
    solved = solve_triangular(R, A_t, True, False)
    product = matmul(mH(Q), solved)
    upper = ops.triu.call(add(product, mH(product)), 0)
    ops.mul__Scalar.call(diagonal(upper), 0.5)
    dQ = sub(solved, matmul(Q, upper))
    return dQ, matmul(upper, R)


def _qr_jvp_wide(A_t: Tensor, Q: Tensor, R: Tensor, m: int) -> tuple[Tensor, Tensor]:
    product = matmul(mH(Q), A_t)
    right = ops.narrow.call(product, -1, 0, m)
    solved = solve_triangular(ops.narrow.call(R, -1, 0, m), right, True, False)
    if solved._dtype.is_complex:
        lower = ops.tril.call(solved, 0)
        ops.zero_.call(ops.real.call(diagonal(lower)))
        skew = sub(lower, mH(lower))
        ops.mul__Scalar.call(diagonal(skew), 0.5)
    else:
        lower = ops.tril.call(solved, -1)
        skew = sub(lower, ops.mT.call(lower))
    dR = sub(product, matmul(skew, R))
    return matmul(Q, skew), dR


# -- cholesky ----------------------------------------------------------------------------------------------------------


def cholesky_backward(gL: Tensor, upper: bool, L: Tensor) -> Tensor:
    """The gradient of a symmetric matrix, which is symmetric."""
    lower = mH(L) if upper else L
    grad = mH(gL) if upper else gL
    gA = ops.tril.call(matmul(mH(lower), grad), 0)
    gA = ops.mul_Scalar.call(add(gA, mH(ops.tril.call(gA, -1))), 0.5)
    gA = solve_triangular(mH(lower), gA, True, True)
    return solve_triangular(lower, gA, False, False)


def cholesky_jvp(A_t: Tensor, L: Tensor, upper: bool) -> Tensor:
    """The tangent of the factor; that of A is symmetric."""
    lower = mH(L) if upper else L
    dL = solve_triangular(lower, A_t, False, True)
    dL = solve_triangular(mH(lower), dL, True, False)
    half = diag_embed(ops.mul_Scalar.call(diagonal(dL), 0.5))
    dL = matmul(lower, sub(ops.tril.call(dL, 0), half))
    return mH(dL) if upper else dL


def cholesky_solve_backward(
    grad: Tensor, self: Tensor, input2: Tensor, result: Tensor, upper: bool, output_mask: Sequence[bool]
) -> Gradients:
    """The solution for the gradient, and the gradient of the factor, from both products of the two solutions."""
    grad_self = ops.cholesky_solve.call(grad, input2, upper)
    if not output_mask[1]:
        return grad_self, None
    common = matmul(grad_self, mH(result))
    common = add(common, mH(common))
    return grad_self, ops.neg.call(matmul(input2, common) if upper else matmul(common, input2))


def cholesky_solve_jvp(X: Tensor, U: Tensor, U_t: Tensor, B_t: Tensor, upper: bool) -> Tensor:
    """The solution for B_t, minus the contribution of the factor's tangent."""
    dK = matmul(mH(U_t), U) if upper else matmul(U_t, mH(U))
    dA = add(dK, mH(dK))
    return ops.cholesky_solve.call(sub(B_t, matmul(dA, X)), U, upper)


def cholesky_inverse_backward(grad: Tensor, L: Tensor, upper: bool, inverse: Tensor) -> Tensor:
    """-inverse (grad + grad^H) inverse, times the factor."""
    common = add(grad, mH(grad))
    common = matmul(inverse, matmul(common, inverse))
    return ops.neg.call(matmul(L, common) if upper else matmul(common, L))


def cholesky_inverse_jvp(F: Tensor, F_t: Tensor, X: Tensor, upper: bool) -> Tensor:
    """-X F_t^H X F and its adjoint."""
    factor, tangent = (F, mH(F_t)) if upper else (mH(F), F_t)
    part = ops.neg.call(matmul(matmul(matmul(X, tangent), X), factor))
    return add(part, mH(part))
