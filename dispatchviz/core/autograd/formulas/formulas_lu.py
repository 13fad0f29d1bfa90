"""Backward and jvp of ``linalg_lu``, ``lu_factor``, ``lu_unpack``, ``lu_solve`` (``FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from dispatchviz.core.autograd.formulas.formulas_linalg import add, matmul, mH, solve_triangular, sub
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor


def linalg_lu_backward(
    gL: Tensor | None, gU: Tensor | None, P: Tensor, L: Tensor, U: Tensor, pivot: bool
) -> Tensor | None:
    """The gradient through both triangles. The additional part of a wide or tall matrix is computed afterwards."""
    if gL is None and gU is None:
        return None
    m, n = L._size[-2], U._size[-1]
    if m == n:
        gA = _lu_backward_square(gL, gU, L, U)
    else:
        gA = _lu_backward_wide(gL, gU, L, U) if m < n else _lu_backward_tall(gL, gU, L, U)
    return matmul(P, gA) if pivot else gA


def _lu_backward_square(gL: Tensor | None, gU: Tensor | None, L: Tensor, U: Tensor) -> Tensor:
    gA = None if gL is None else ops.tril.call(matmul(mH(L), gL), -1)
    if gU is not None:
        of_u = ops.triu.call(matmul(gU, mH(U)), 0)
        gA = of_u if gA is None else add(gA, of_u)
    assert gA is not None, "one of them is there"
    gA = solve_triangular(mH(U), gA, False, False)
    return solve_triangular(mH(L), gA, True, True, True)


def _lu_backward_wide(gL: Tensor | None, gU: Tensor | None, L: Tensor, U: Tensor) -> Tensor:
    k, n = U._size[-2], U._size[-1]
    gA = None if gL is None else matmul(mH(L), gL)
    if gU is not None:
        of_u = matmul(ops.triu.call(gU, 0), mH(U))
        gA = ops.neg.call(of_u) if gA is None else sub(gA, of_u)
    assert gA is not None, "one of them is there"
    lower = ops.tril.call(gA, -1)
    gA = solve_triangular(mH(ops.narrow.call(U, -1, 0, k)), lower, False, False)
    if gU is not None:
        first = add(gA, ops.triu.call(ops.narrow.call(gU, -1, 0, k), 0))
        gA = ops.cat.call([first, ops.narrow.call(gU, -1, k, n - k)], -1)
    gA = solve_triangular(mH(L), gA, True, True, True)
    if gU is None:
        gA = _with_zeros(gA, ops.narrow.call(U, -1, k, n - k), -1)
    return gA


def _with_zeros(gA: Tensor, like: Tensor, dim: int) -> Tensor:
    return ops.cat.call([gA, ops.zeros_like.call(like, None, None, None, None, None)], dim)


def _lu_backward_tall(gL: Tensor | None, gU: Tensor | None, L: Tensor, U: Tensor) -> Tensor:
    m, k = L._size[-2], L._size[-1]
    gA = None if gU is None else matmul(gU, mH(U))
    if gL is not None:
        of_l = matmul(mH(L), ops.tril.call(gL, -1))
        gA = ops.neg.call(of_l) if gA is None else sub(gA, of_l)
    assert gA is not None, "one of them is there"
    upper = ops.triu.call(gA, 0)
    gA = solve_triangular(mH(ops.narrow.call(L, -2, 0, k)), upper, True, True, True)
    if gL is not None:
        first = add(gA, ops.tril.call(ops.narrow.call(gL, -2, 0, k), -1))
        gA = ops.cat.call([first, ops.narrow.call(gL, -2, k, m - k)], -2)
    gA = solve_triangular(mH(U), gA, False, False)
    if gL is None:
        gA = _with_zeros(gA, ops.narrow.call(L, -2, k, m - k), -2)
    return gA


def lu_factor_ex_backward(grad: Tensor, LU: Tensor, pivots: Tensor, pivot: bool) -> Tensor | None:
    """The gradient of A, from the packed gradient of both factors."""
    P, L, U = ops.lu_unpack.call(LU, pivots, True, pivot)
    k = min(LU._size[-2:])
    gL = ops.narrow.call(grad, -1, 0, k)
    gU = ops.narrow.call(grad, -2, 0, k)
    return linalg_lu_backward(gL, gU, P, L, U, pivot)


def linalg_lu_jvp(A_t: Tensor, P: Tensor, L: Tensor, U: Tensor, pivot: bool) -> tuple[Tensor, Tensor]:
    """The tangents of L and U."""
    m, n = A_t._size[-2:]
    k = min(m, n)
    PdA = matmul(ops.mT.call(P), A_t) if pivot else A_t
    PdA1, L1, U1 = (ops.narrow.call(ops.narrow.call(t, -2, 0, k), -1, 0, k) for t in (PdA, L, U))
    dK = solve_triangular(L1, PdA1, False, True, True)
    dK = solve_triangular(U1, dK, True, False)
    dL1 = matmul(L1, ops.tril.call(dK, -1))
    dU1 = matmul(ops.triu.call(dK, 0), U1)
    if m == n:
        return dL1, dU1
    if m < n:
        PdA2, U2 = ops.narrow.call(PdA, -1, k, n - k), ops.narrow.call(U, -1, k, n - k)
        taken = matmul(ops.tril.call(dK, -1), U2)
        dU2 = sub(solve_triangular(L1, PdA2, False, True, True), taken)
        return dL1, ops.cat.call([dU1, dU2], -1)
    PdA2, L2 = ops.narrow.call(PdA, -2, k, m - k), ops.narrow.call(L, -2, k, m - k)
    taken = matmul(L2, ops.triu.call(dK, 0))
    dL2 = sub(solve_triangular(U1, PdA2, True, False), taken)
    return ops.cat.call([dL1, dL2], -2), dU1


def lu_factor_ex_jvp(A_t: Tensor, LU: Tensor, pivots: Tensor, pivot: bool) -> Tensor:
    """Both tangents in one matrix."""
    P, L, U = ops.lu_unpack.call(LU, pivots, True, pivot)
    dL, dU = linalg_lu_jvp(A_t, P, L, U, pivot)
    m, n = A_t._size[-2:]
    if m >= n:
        ops.add__Tensor.call(ops.narrow.call(dL, -2, 0, n), dU, 1)
        return dL
    ops.add__Tensor.call(ops.narrow.call(dU, -1, 0, m), dL, 1)
    return dU


def lu_unpack_backward(gL: Tensor | None, gU: Tensor | None, m: int, n: int) -> Tensor | None:
    """Both gradients in one matrix."""
    if gL is None and gU is None:
        return None
    if gL is None:
        assert gU is not None, "one of them is there"
        upper = ops.triu.call(gU, 0)
        return upper if n >= m else ops.cat.call([upper, _zeros(gU, (*gU._size[:-2], m - n, gU._size[-1]))], -2)
    if gU is None:
        lower = ops.tril.call(gL, -1)
        return lower if m >= n else ops.cat.call([lower, _zeros(gL, (*gL._size[:-1], n - m))], -1)
    if m == n:
        upper = ops.triu.call(gU, 0)
        return add(ops.tril.call(gL, -1), upper)
    return _unpacked_together(gL, gU, m, n)


def _unpacked_together(gL: Tensor, gU: Tensor, m: int, n: int) -> Tensor:
    k = min(m, n)
    upper = ops.triu.call(gU if n == k else ops.narrow.call(gU, -1, 0, k), 0)
    lower = ops.tril.call(gL if m == k else ops.narrow.call(gL, -2, 0, k), -1)
    first = add(lower, upper)
    if m > n:
        return ops.cat.call([first, ops.narrow.call(gL, -2, k, m - k)], -2)
    return ops.cat.call([first, ops.narrow.call(gU, -1, k, n - k)], -1)


def _zeros(like: Tensor, size: Size) -> Tensor:
    return ops.zeros.call(size, like._dtype, "strided", like._device, None)


# -- lu_solve ----------------------------------------------------------------------------------------------------------


def linalg_lu_solve_LU(gX: Tensor, LU: Tensor, pivots: Tensor, X: Tensor, left: bool, adjoint: bool) -> Tensor:
    """The gradient of both factors, by the equation that was solved or by its adjoint."""
    P, L, U = ops.lu_unpack.call(LU, pivots, True, left == adjoint)
    if left != adjoint:
        product = ops.neg.call(matmul(gX if left else mH(gX), mH(X) if left else X))
        gR = solve_triangular(mH(U), product, False)
        right = matmul(gR, mH(U))
        gL = ops.tril.call(solve_triangular(mH(L), right, True, True, True), -1)
        return add(gL, ops.triu.call(gR, 0))
    gR = ops.mT.call(P)
    gR = matmul(gR, X if left else mH(X))
    gR = matmul(gR, mH(gX) if left else gX)
    gR = ops.neg.call(matmul(gR, P))
    gR = solve_triangular(mH(L), gR, True, False, True)
    right = matmul(mH(L), gR)
    gU = ops.triu.call(solve_triangular(mH(U), right, False, False), 0)
    return add(ops.tril.call(gR, -1), gU)


def linalg_lu_solve_jvp(
    X: Tensor, LU: Tensor, pivots: Tensor, LU_t: Tensor, B_t: Tensor, left: bool, adjoint: bool
) -> Tensor:
    """The solution for B_t, plus the contribution of the factors' tangents."""
    S = ops.linalg_lu_solve.call(LU, pivots, B_t, left, adjoint)
    if left != adjoint:
        R = solve_triangular(LU, ops.tril.call(LU_t, -1), False, True, True)
        U = ops.triu.call(LU, 0)
        product = matmul(R, U)
        R = ops.neg.call(solve_triangular(U, add(ops.triu.call(LU_t, 0), product), True))
        return add(matmul(R, X) if left else matmul(X, mH(R)), S)
    P, L, U = ops.lu_unpack.call(LU, pivots, True, True)
    V = mH(X) if left else X
    lower = ops.tril.call(LU_t, -1)
    R = add(solve_triangular(U, matmul(L, ops.triu.call(LU_t, 0)), True, False), lower)
    product = ops.neg.call(matmul(matmul(V, P), R))
    R = matmul(solve_triangular(L, product, False, False, True), ops.mT.call(P))
    return add(mH(R) if left else R, S)


def lu_solve_of(LU: Tensor, pivots: Tensor, grad: Tensor, left: bool, adjoint: bool) -> Tensor:
    """The gradient of B, by the adjoint equation."""
    return ops.linalg_lu_solve.call(LU, pivots, grad, left, not adjoint)


# -- lu_unpack, forward ------------------------------------------------------------------------------------------------


def lower_of_lu(LU_t: Tensor) -> Tensor:
    """The tangent of L."""
    m, n = LU_t._size[-2:]
    return ops.tril.call(LU_t if m >= n else ops.narrow.call(LU_t, -1, 0, m), -1)


def upper_of_lu(LU_t: Tensor) -> Tensor:
    """The tangent of U."""
    m, n = LU_t._size[-2:]
    return ops.triu.call(LU_t if n >= m else ops.narrow.call(LU_t, -2, 0, n), 0)
