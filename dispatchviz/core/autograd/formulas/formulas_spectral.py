"""Backward and jvp of ``svd``, ``eig``, ``eigh``, ``pinv`` (``FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from dispatchviz.core.autograd.formulas.formulas_linalg import add, diag_embed, diagonal, matmul, mH, sub
from dispatchviz.core.autograd.formulas.functions_manual import conjugated, handle_r_to_c
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import DType, complex64, complex128, float32, float64
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like


def _row(vector: Tensor) -> Tensor:
    return ops.unsqueeze.call(vector, -2)


def _column(vector: Tensor) -> Tensor:
    return ops.unsqueeze.call(vector, -1)


def _times(one: Tensor, other: Tensor) -> Tensor:
    return ops.mul_Tensor.call(one, other)


# -- svd ---------------------------------------------------------------------------------------------------------------


def linalg_svd_backward(
    gU: Tensor | None,
    gS: Tensor | None,
    gVh: Tensor | None,
    U: Tensor,
    S: Tensor,
    Vh: Tensor,
    full_matrices: bool,
    k: int,
) -> Tensor | None:
    """The gradient by ``svd_backward``, with as many vectors as there are singular values."""
    if full_matrices:
        Vh = ops.narrow.call(Vh, -2, 0, k)
        U = ops.narrow.call(U, -1, 0, k)
        gVh = None if gVh is None else ops.narrow.call(gVh, -2, 0, k)
        gU = None if gU is None else ops.narrow.call(gU, -1, 0, k)
    return svd_backward(gU, gS, gVh, U, S, Vh)


def svd_backward(
    gU: Tensor | None, gS: Tensor | None, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor
) -> Tensor | None:
    """U (...) Vh; for a tall or wide matrix, plus the part that turns the vectors out of their space."""
    m, n = U._size[-2], Vh._size[-1]
    if gU is None and gVh is None:
        if gS is None:
            return None
        return matmul(U, _times(_column(gS), Vh)) if m >= n else matmul(_times(U, _row(gS)), Vh)
    UhgU = None if gU is None else _skew(matmul(mH(U), gU))
    VhgV = None if gVh is None else _skew(matmul(Vh, mH(gVh)))
    if U._dtype.is_complex:
        _check_phase(UhgU, VhgV, S)
    gA = _svd_inner(UhgU, VhgV, gS, S)
    if m > n and gU is not None:
        return _svd_tall(gA, gU, U, S, Vh)
    if m < n and gVh is not None:
        return _svd_wide(gA, gVh, U, S, Vh)
    return matmul(U, matmul(gA, Vh)) if m >= n else matmul(matmul(U, gA), Vh)


def _skew(A: Tensor) -> Tensor:
    return sub(A, mH(A))


def _check_phase(UhgU: Tensor | None, VhgV: Tensor | None, S: Tensor) -> None:
    """Raise RuntimeError if the loss depends on the phases of singular vectors."""
    of_u, of_v = (
        ops.zeros_like.call(S, None, None, None, None, None) if g is None else ops.imag.call(diagonal(g))
        for g in (UhgU, VhgV)
    )
    if not ops.allclose.call(of_u, ops.neg.call(of_v), 1e-2, 1e-2, False):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
            "The specified loss function depends on this phase term, making it ill-defined."
        )


def _distances(S: Tensor) -> Tensor:
    """S_k^2 - S_j^2, 1 on the diagonal."""
    squares = _times(S, S)
    column = _column(squares)
    E = sub(_row(squares), column)
    ops.fill__Scalar.call(diagonal(E), 1)
    return E


def _svd_inner(UhgU: Tensor | None, VhgV: Tensor | None, gS: Tensor | None, S: Tensor) -> Tensor:
    E = _distances(S)
    if UhgU is not None and VhgV is not None:
        second = _times(_column(S), VhgV)
        gA = ops.div_Tensor.call(add(_times(UhgU, _row(S)), second), E)
    elif UhgU is not None:
        row = _row(S)
        gA = _times(ops.div_Tensor.call(UhgU, E), row)
    else:
        assert VhgV is not None, "one of them is there"
        quotient = ops.div_Tensor.call(VhgV, E)
        gA = _times(_column(S), quotient)
    if gS is not None:
        gA = add(gA, diag_embed(gS))
    if UhgU is not None and VhgV is not None and UhgU._dtype.is_complex:
        twice = ops.mul_Scalar.call(S, 2.0)
        gA = add(gA, diag_embed(ops.div_Tensor.call(diagonal(UhgU), twice)))
    return gA


def _svd_tall(gA: Tensor, gU: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    gA = matmul(U, gA)
    scaled = ops.div_Tensor.call(gU, _row(S))
    inside = matmul(U, matmul(mH(U), scaled))
    return matmul(sub(add(gA, scaled), inside), Vh)


def _svd_wide(gA: Tensor, gVh: Tensor, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    gA = matmul(gA, Vh)
    scaled = ops.div_Tensor.call(gVh, _column(S))
    inside = matmul(matmul(scaled, mH(Vh)), Vh)
    return matmul(U, sub(add(gA, scaled), inside))


def linalg_svd_jvp(A_t: Tensor, U: Tensor, S: Tensor, Vh: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The tangents of U, S and Vh. NB: as in PyTorch, the vectors that fill up U or Vh have none."""
    is_complex = A_t._dtype.is_complex
    (m, n), k = A_t._size[-2:], S._size[-1]
    if full_matrices:
        U, Vh = ops.narrow.call(U, -1, 0, k), ops.narrow.call(Vh, -2, 0, k)
    V = mH(Vh)
    if m < n:
        inner = matmul(A_t, V)
        dP = matmul(mH(U), inner)
    else:
        dP = matmul(matmul(mH(U), A_t), V)
    dS = ops.real.call(diagonal(dP)) if is_complex else diagonal(dP)
    dP = sub(dP, diag_embed(dS))
    E = _distances(S)
    phase = ops.div_Tensor.call(diagonal(dP), ops.mul_Scalar.call(S, 2.0)) if is_complex else None
    dU = matmul(U, _rotated(_times(dP, _row(S)), E, phase))
    if m > n:
        dU = _more_rows(dU, A_t, U, S, V, full_matrices)
    dVh = matmul(_rotated(_times(dP, _column(ops.neg.call(S))), E, phase), Vh)
    if m < n:
        dVh = _more_columns(dVh, A_t, U, S, (V, Vh), full_matrices)
    return dU, dS, dVh


def _rotated(product: Tensor, E: Tensor, phase: Tensor | None) -> Tensor:
    rotated = ops.div_Tensor.call(add(product, mH(product)), E)
    return rotated if phase is None else add(rotated, diag_embed(phase))


def _more_rows(dU: Tensor, A_t: Tensor, U: Tensor, S: Tensor, V: Tensor, full_matrices: bool) -> Tensor:
    scaled = matmul(A_t, ops.div_Tensor.call(V, _row(S)))
    inside = matmul(U, matmul(mH(U), scaled))
    dU = sub(add(dU, scaled), inside)
    if not full_matrices:
        return dU
    size = (*dU._size[:-1], A_t._size[-2] - A_t._size[-1])
    return ops.cat.call([dU, ops.new_zeros.call(dU, size, None, None, None, None)], -1)


def _more_columns(
    dVh: Tensor, A_t: Tensor, U: Tensor, S: Tensor, right: tuple[Tensor, Tensor], full_matrices: bool
) -> Tensor:
    column = _column(S)
    scaled = matmul(ops.div_Tensor.call(mH(U), column), A_t)
    inside = matmul(matmul(scaled, right[0]), right[1])
    dVh = sub(add(dVh, scaled), inside)
    if not full_matrices:
        return dVh
    size = (*dVh._size[:-2], A_t._size[-1] - A_t._size[-2], dVh._size[-1])
    return ops.cat.call([dVh, ops.new_zeros.call(dVh, size, None, None, None, None)], -2)


# -- eig, eigh ---------------------------------------------------------------------------------------------------------


def linalg_eig_backward(
    gL: Tensor | None, gV: Tensor | None, L: Tensor, V: Tensor, is_hermitian: bool
) -> Tensor | None:
    """V^-H (...) V^H; for a Hermitian matrix V^-H is V."""
    if gV is None:
        if gL is None:
            return None
        if is_hermitian:
            adjoint = mH(V)
            return matmul(_times(V, _row(gL)), adjoint)
        adjoint = mH(V)
        right = _times(_column(gL), adjoint)
        return ops.linalg_solve.call(mH(V), right, True)
    VhgV = matmul(mH(V), gV)
    own = diagonal(VhgV)
    if V._dtype.is_complex and not is_tensor_subclass_like(own):
        _check_eigenvectors(own, is_hermitian)
    if is_hermitian:
        VhgV = ops.mul_Scalar.call(sub(VhgV, mH(VhgV)), 0.5)
    else:
        scaled = _times(V, _row(ops.real.call(own)))
        VhgV = sub(VhgV, matmul(mH(V), scaled))
    gA = _eig_inner(VhgV, gL, L)
    if is_hermitian:
        return matmul(V, matmul(gA, mH(V)))
    right = matmul(gA, mH(V))
    return ops.linalg_solve.call(mH(V), right, True)


def _check_eigenvectors(own: Tensor, is_hermitian: bool) -> None:
    """Raise RuntimeError if the loss depends on the phases of eigenvectors."""
    phase = ops.imag.call(own)
    zeros = ops.zeros_like.call(phase, None, None, None, None, None)
    if not ops.allclose.call(phase, zeros, 1e-2, 1e-2, False):
        function = "linalg_eigh_backward" if is_hermitian else "linalg_eig_backward"
        raise RuntimeError(
            f"{function}: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )


def _eig_inner(VhgV: Tensor, gL: Tensor | None, L: Tensor) -> Tensor:
    conj = conjugated(L)
    column = _column(conj)
    E = sub(_row(conj), column)
    ops.fill__Scalar.call(diagonal(E), 1.0)
    gA = ops.div__Tensor.call(VhgV, E)
    if gL is None:
        return gA
    if is_tensor_subclass_like(gL):
        return ops.diagonal_scatter.call(gA, gL, 0, -2, -1)
    ops.copy_.call(diagonal(gA), gL, False)
    return gA


def linalg_eig_jvp(A_t: Tensor, L: Tensor, V: Tensor, is_hermitian: bool) -> tuple[Tensor, Tensor]:
    """The tangents of eigenvalues and eigenvectors. Eigenvectors keep the norm 1."""
    if is_hermitian:
        dP = matmul(matmul(mH(V), A_t), V)
    else:
        dtype = {float32: complex64, float64: complex128}.get(A_t._dtype, A_t._dtype)
        right = matmul(ops.to_dtype.call(A_t, dtype, False, False, None), V)
        dP = ops.linalg_solve.call(V, right, True)
    dL = ops.real.call(diagonal(dP)) if is_hermitian and A_t._dtype.is_complex else diagonal(dP)
    column = _column(L)
    inner = ops.div_Tensor.call(dP, sub(_row(L), column))
    ops.zero_.call(diagonal(inner))
    dX = matmul(V, inner)
    if is_hermitian:
        return dL, dX
    own = ops.real.call(diagonal(matmul(mH(V), dX)))
    return dL, sub(dX, _times(V, _row(own)))


def linalg_eig_r_to_c(target: DType, grad: Tensor | None) -> Tensor | None:
    """The gradient by ``handle_r_to_c``, for a gradient that may be undefined."""
    return None if grad is None else handle_r_to_c(target, grad)


# -- pinv --------------------------------------------------------------------------------------------------------------


def pinv_backward(grad: Tensor, pinvA: Tensor, A: Tensor) -> Tensor:
    """The gradient, by products of the smaller size."""
    m, n = A._size[-2:]
    pinvAh = mH(pinvA)
    gradh = mH(grad)
    if m <= n:
        K = matmul(gradh, pinvA)
        KpinvAh = matmul(K, pinvAh)
        last = matmul(matmul(pinvAh, pinvA), sub(gradh, matmul(K, A)))
        inside = matmul(matmul(A, pinvA), KpinvAh)
        first = add(ops.neg.call(mH(matmul(pinvA, K))), KpinvAh)
        return add(sub(first, inside), last)
    K = matmul(pinvA, gradh)
    pinvAhK = matmul(pinvAh, K)
    inside = matmul(matmul(pinvAhK, pinvA), A)
    outside = matmul(matmul(sub(gradh, matmul(A, K)), pinvA), pinvAh)
    first = ops.neg.call(mH(matmul(K, pinvA)))
    return sub(add(add(first, outside), pinvAhK), inside)


def pinv_jvp(A: Tensor, pinvA: Tensor, A_t: Tensor) -> Tensor:
    """The tangent, by products of the smaller size."""
    m, n = A._size[-2:]
    dAh = mH(A_t)
    pinvAh = mH(pinvA)
    if m <= n:
        K = matmul(pinvAh, dAh)
        second = matmul(sub(dAh, matmul(pinvA, matmul(A, dAh))), matmul(pinvAh, pinvA))
        inside = matmul(K, matmul(A, pinvA))
        return add(matmul(pinvA, sub(sub(K, mH(K)), inside)), second)
    K = matmul(pinvA, A_t)
    Kh = mH(K)
    second = matmul(matmul(pinvA, pinvAh), sub(dAh, matmul(matmul(dAh, A), pinvA)))
    inside = matmul(matmul(pinvA, A), Kh)
    return add(matmul(sub(sub(Kh, K), inside), pinvA), second)
