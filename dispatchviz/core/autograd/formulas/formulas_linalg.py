"""Backward and jvp of ``linalg_inv``, ``linalg_solve``, ``linalg_det``, ``slogdet``, ``solve_triangular``
(``FunctionsManual.cpp``).

The functions call operators in PyTorch's order; C++ evaluates the arguments of a call from right to left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from dispatchviz.core.autograd.formulas.formulas_reductions import prod_safe_zeros_backward
from dispatchviz.core.autograd.formulas.functions_manual import conjugated
from dispatchviz.core.autograd.variables.variable import requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.tensor_indexing import bool_as_tensor
from dispatchviz.core.native.linalg.matrix_checks import is_vector_rhs
from dispatchviz.core.native.linalg.matrix_exp import block
from dispatchviz.core.tensor.dtype import real_type
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.thread_state import thread

Gradients = tuple[Tensor | None, ...]

# -- C++ helpers -------------------------------------------------------------------------------------------------------


def mH(tensor: Tensor) -> Tensor:
    """``Tensor::mH``"""
    return ops.mH.call(tensor)


def matmul(left: Tensor, right: Tensor) -> Tensor:
    """``at::matmul``"""
    return ops.matmul.call(left, right)


def diagonal(tensor: Tensor) -> Tensor:
    """The diagonal of the last two dimensions."""
    return ops.diagonal.call(tensor, 0, -2, -1)


def diag_embed(tensor: Tensor) -> Tensor:
    """A tensor with the diagonal in the last two dimensions."""
    return ops.diag_embed.call(tensor, 0, -2, -1)


def add(one: Tensor, other: Tensor) -> Tensor:
    """``one + other``"""
    return ops.add_Tensor.call(one, other, 1)


def sub(one: Tensor, other: Tensor) -> Tensor:
    """``one - other``"""
    return ops.sub_Tensor.call(one, other, 1)


def solve_triangular(A: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """``at::linalg_solve_triangular``"""
    return ops.linalg_solve_triangular.call(A, B, upper, left, unitriangular)


def _epsilon(tensor: Tensor) -> float:
    return float(numpy.finfo(real_type(tensor._dtype).numpy).eps)


def _uses_transposed(A: Tensor) -> bool:
    """Return whether the forward factorized the transpose of A."""
    return A._is_contiguous and not A._dtype.is_complex


# -- inv, solve --------------------------------------------------------------------------------------------------------


def linalg_inv_backward(grad: Tensor, inverse: Tensor) -> Tensor:
    """-inverse^H grad inverse^H"""
    inner = matmul(grad, mH(inverse))
    return ops.neg.call(matmul(mH(inverse), inner))


def linalg_inv_jvp(inverse: Tensor, A_t: Tensor) -> Tensor:
    """-inverse A_t inverse"""
    return ops.neg.call(matmul(matmul(inverse, A_t), inverse))


def linalg_solve_backward(
    grad: Tensor, X: Tensor, A: Tensor, LU: Tensor, pivots: Tensor, left: bool, B_requires_grad: bool
) -> Gradients:
    """The gradient of B, the solution of the adjoint equation, and that of A, minus it times X^H. The saved factors are
    used unless a graph is needed.
    """
    A_requires_grad = requires_grad(A)
    if not A_requires_grad and not B_requires_grad:
        return None, None
    vector_case = is_vector_rhs(LU, X)
    matrix = ops.unsqueeze.call(grad, -1) if vector_case else grad
    if thread.state.grad_mode:
        gB = ops.linalg_solve.call(mH(A), matrix, left)
    else:
        gB = ops.linalg_lu_solve.call(LU, pivots, matrix, left, True)
    gA = None
    if A_requires_grad:
        adjoint = mH(ops.unsqueeze.call(X, -1) if vector_case else X)
        gA = ops.neg.call(matmul(gB, adjoint) if left else matmul(adjoint, gB))
    return gA, (ops.squeeze_dim.call(gB, -1) if vector_case else gB) if B_requires_grad else None


def linalg_solve_jvp(A_t: Tensor, B_t: Tensor, X: Tensor, LU: Tensor, pivots: Tensor, left: bool) -> Tensor:
    """The solution for B_t - A_t X."""
    vector_case = is_vector_rhs(LU, X)
    solution = ops.unsqueeze.call(X, -1) if vector_case else X
    right = ops.unsqueeze.call(B_t, -1) if vector_case else B_t
    product = matmul(A_t, solution) if left else matmul(solution, A_t)
    found = ops.linalg_lu_solve.call(LU, pivots, sub(right, product), left, False)
    return ops.squeeze_dim.call(found, -1) if vector_case else found


# -- det, slogdet ------------------------------------------------------------------------------------------------------


def linalg_det_backward(grad: Tensor, det: Tensor, A: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """det^H grad times the inverse of A^H. A singular matrix is perturbed, or decomposed by ``svd``.

    The gradient of a 1x1 matrix is that of its element.
    """
    if 0 in A._size:
        return ops.zeros_like.call(A, None, None, None, None, None)
    if A._size[-1] == 1:
        return ops.expand_as.call(ops.unsqueeze.call(ops.unsqueeze.call(grad, -1), -1), A)
    wide = ops.unsqueeze.call(ops.mul_Tensor.call(grad, conjugated(det)), -1)
    d = ops.mT.call(diag_embed(ops.expand_as.call(wide, pivots)))
    if not thread.state.grad_mode:
        return ops.linalg_lu_solve.call(_regular(LU), pivots, d, True, not _uses_transposed(A))
    if any(map(is_tensor_subclass_like, (A, d, grad))):
        return _singular_det_backward(A, grad)
    return _det_backward_by_mask(A, d, grad, ops.lt_Scalar.call(ops.abs.call(det), 100.0 * _epsilon(LU)))


def _regular(LU: Tensor) -> Tensor:
    """The factors, with epsilon instead of zeros on the diagonal."""
    zero = ops.eq_Scalar.call(diagonal(LU), 0.0)
    return add(LU, diag_embed(ops.where_Scalar.call(zero, _epsilon(LU), 0.0)))


def _det_backward_by_mask(A: Tensor, d: Tensor, grad: Tensor, singular: Tensor) -> Tensor:
    """The gradient by one formula for singular matrices and another one for regular ones (``masked_fmap``)."""
    selected = ops.index_Tensor.call(A, [singular]) if singular._size else _all_or_nothing(A, singular)
    count = numel(selected._size)
    if count == numel(A._size):
        return _singular_det_backward(A, grad)
    if count == 0:
        return ops.linalg_solve.call(mH(A), d, True)
    regular = ops.logical_not.call(singular)
    rest = ops.index_Tensor.call(d, [regular])
    kept = ops.index_Tensor.call(A, [regular])
    solved = ops.linalg_solve.call(mH(kept), rest, True)
    result = ops.empty_like.call(A, None, None, None, None, None)
    found = _singular_det_backward(selected, ops.index_Tensor.call(grad, [singular]))
    result = ops.index_put_.call(result, [singular], found, False)
    return ops.index_put_.call(result, [regular], solved, False)


def _all_or_nothing(A: Tensor, mask: Tensor) -> Tensor:
    """The result of ``A[mask]`` for a mask with one element."""
    one = ops.unsqueeze.call(A, 0)
    return ops.index_Tensor.call(one, [bool_as_tensor(one, bool(ops.item.call(mask)))])


def _singular_det_backward(A: Tensor, grad: Tensor) -> Tensor:
    """The gradient from the adjugate, by singular values."""
    U, S, Vh = ops.linalg_svd.call(A, True, None)
    det_vh = ops.linalg_det.call(Vh)
    alpha = ops.mul_Tensor.call(conjugated(ops.mul_Tensor.call(ops.linalg_det.call(U), det_vh)), grad)
    D = prod_safe_zeros_backward(ops.unsqueeze.call(alpha, -1), S, len(S._size) - 1)
    return matmul(ops.mul_Tensor.call(U, ops.unsqueeze.call(D, -2)), Vh)


def linalg_det_jvp(A_t: Tensor, det: Tensor, LU: Tensor, pivots: Tensor, A: Tensor) -> Tensor:
    """The trace of A^-1 A_t, times det."""
    solved = ops.linalg_lu_solve.call(_regular(LU), pivots, A_t, True, _uses_transposed(A))
    return ops.mul_Tensor.call(ops.sum_dim_IntList.call(diagonal(solved), (-1,), False, None), det)


def slogdet_backward(
    grad_sign: Tensor | None,
    grad_logabsdet: Tensor | None,
    A: Tensor,
    signdet: Tensor,
    LU: Tensor,
    pivots: Tensor,
) -> Tensor | None:
    """The gradient of the logarithm, minus that of a complex sign, times the inverse of A^H."""
    if grad_sign is None and grad_logabsdet is None:
        return None
    g = grad_logabsdet
    if A._dtype.is_complex:
        g = _slogdet_gradient(grad_sign, grad_logabsdet, A, signdet)
    if g is None:
        return None
    d = ops.mT.call(diag_embed(ops.expand_as.call(ops.unsqueeze.call(g, -1), pivots)))
    if thread.state.grad_mode:
        return ops.linalg_solve.call(mH(A), d, True)
    return ops.linalg_lu_solve.call(LU, pivots, d, True, not _uses_transposed(A))


def _slogdet_gradient(grad_sign: Tensor | None, g: Tensor | None, A: Tensor, signdet: Tensor) -> Tensor | None:
    if grad_sign is None:
        return None if g is None else ops.to_dtype.call(g, A._dtype, False, False, None)
    imaginary = ops.imag.call(ops.mul_Tensor.call(conjugated(grad_sign), signdet))
    if g is None:
        return ops.mul_Scalar.call(imaginary, -1j)
    return sub(g, ops.mul_Scalar.call(imaginary, 1j))


def slogdet_jvp(LU: Tensor, pivots: Tensor, A_t: Tensor, sign: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    """The trace of A^-1 A_t; a real sign has no tangent."""
    solved = ops.linalg_lu_solve.call(LU, pivots, A_t, True, _uses_transposed(A))
    trace = ops.sum_dim_IntList.call(diagonal(solved), (-1,), False, None)
    if LU._dtype.is_complex:
        imaginary = ops.mul_Tensor.call(ops.imag.call(trace), ops.mul_Scalar.call(sign, 1j))
        return imaginary, ops.real.call(trace)
    return ops._efficientzerotensor.call(sign._size, sign._dtype, None, sign._device, None), trace


# -- triangular --------------------------------------------------------------------------------------------------------


def linalg_solve_triangular_backward(
    grad: Tensor, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool, output_mask: Sequence[bool]
) -> Gradients:
    """The gradients as in ``linalg_solve_backward``; that of A only for the triangle that was read."""
    if not any(output_mask):
        return None, None
    gB = solve_triangular(mH(A), grad, not upper, left, unitriangular)
    if not output_mask[0]:
        return None, gB
    adjoint = mH(X)
    product = ops.neg.call(matmul(gB, adjoint) if left else matmul(adjoint, gB))
    return _triangle(product, upper, unitriangular), gB if output_mask[1] else None


def _triangle(tensor: Tensor, upper: bool, strict: bool) -> Tensor:
    return ops.triu.call(tensor, int(strict)) if upper else ops.tril.call(tensor, -int(strict))


def linalg_solve_triangular_forward_AD(
    A_t: Tensor, B_t: Tensor, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """The solution for B_t - A_t X."""
    projected = _triangle(A_t, upper, unitriangular)
    right = sub(B_t, matmul(projected, X) if left else matmul(X, projected))
    return solve_triangular(A, right, upper, left, unitriangular)


def triangular_solve_backward(
    grad_x: Tensor | None,
    grad_m: Tensor | None,
    b: Tensor,
    a: Tensor,
    x: Tensor,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    output_mask: Sequence[bool],
) -> Gradients:
    """The gradients of ``triangular_solve``. The copy of A that it returns has a gradient too."""
    if grad_x is None and grad_m is None:
        return None, None
    grad_a = grad_b = None
    if grad_x is not None:
        grad_b = ops.triangular_solve.call(grad_x, conjugated(a), upper, not transpose, unitriangular)[0]
        if output_mask[1]:
            grad_a = _of_coefficient(grad_b, x, transpose)
            grad_a = _triangle(grad_a, upper, unitriangular)
    if grad_a is None:
        grad_a = _expanded_zeros(a)
    if grad_b is None:
        grad_b = _expanded_zeros(b)
    if output_mask[1] and grad_m is not None:
        grad_a = add(grad_a, grad_m)
    return grad_b, grad_a


def _of_coefficient(grad_b: Tensor, x: Tensor, transpose: bool) -> Tensor:
    if transpose:
        return ops.neg.call(matmul(conjugated(x), ops.mT.call(grad_b)))
    return ops.neg.call(matmul(grad_b, mH(x)))


def _expanded_zeros(like: Tensor) -> Tensor:
    return ops.expand_as.call(ops.zeros.call((1,), like._dtype, "strided", like._device, None), like)


def triangular_solve_jvp(
    X: Tensor, A: Tensor, A_t: Tensor, B_t: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Tensor:
    """The solution for B_t - A_t X."""
    right = sub(B_t, matmul(A_t, X))
    return ops.triangular_solve.call(right, A, upper, transpose, unitriangular)[0]


def linalg_matrix_exp_differential(self: Tensor, grad: Tensor, adjoint: bool) -> Tensor:
    """The upper right block of the exponential of [[A, grad], [0, A]]; A is self, or its adjoint for a gradient."""
    A = conjugated(ops.transpose_int.call(self, -2, -1)) if adjoint else self
    n = A._size[-1]
    whole = _joined(A, grad) if any(map(is_tensor_subclass_like, (A, grad))) else _copied(A, grad)
    return block(ops.linalg_matrix_exp.call(whole), 0, n, n)


def _joined(A: Tensor, grad: Tensor) -> Tensor:
    upper = ops.cat.call([A, grad], -1)
    lower = ops.cat.call([ops.zeros_like.call(A, None, None, None, None, None), A], -1)
    return ops.cat.call([upper, lower], -2)


def _copied(A: Tensor, grad: Tensor) -> Tensor:
    n = A._size[-1]
    whole = ops.zeros.call((*A._size[:-2], 2 * n, 2 * n), grad._dtype, "strided", grad._device, None)
    for row, column, part in ((0, 0, A), (n, n, A), (0, n, grad)):
        ops.copy_.call(block(whole, row, column, n), part, False)
    return whole
