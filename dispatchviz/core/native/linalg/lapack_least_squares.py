"""LAPACK's least-squares drivers: ``gels``, ``gelsy``, ``gelss``, ``gelsd`` (``BatchLinearAlgebraKernel.cpp``).

NB: ``gelsy`` also finds the rank from singular values here. LAPACK estimates it from a factorization with pivots.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.native.iterator.tensor_iterator import quiet
from dispatchviz.core.native.linalg.lapack import Array, hermitian, module_of, solve_triangular, xgeqrf, xorgqr, xormqr


class LeastSquaresResult(NamedTuple):
    """The results of a driver for one or many systems."""

    solution: Array
    """[*, max(m, n), k]; rows after the first n hold the part of b that the columns of A do not reach."""
    rank: Array | None
    singular_values: Array | None
    info: Array
    """0, or the number (from 1) of the first column that depends on earlier ones."""


def least_squares(a: Array, b: Array, rcond: float, driver: str) -> LeastSquaresResult:
    """The solution of a system with a: [*, m, n] and b: [*, max(m, n), k]; the first m rows of b are read."""
    m, n = a.shape[-2:]
    xp = module_of(a)
    if 0 in a.shape or 0 in b.shape:
        rank = None if driver == "gels" else xp.zeros(a.shape[:-2], dtype="int64")
        values = xp.zeros((*a.shape[:-2], min(m, n)), dtype=a.real.dtype)
        return LeastSquaresResult(
            xp.zeros_like(b) if driver == "gels" else b, rank, values, xp.zeros(a.shape[:-2], dtype="int32")
        )
    if driver == "gels":
        return _by_triangles(a, b)
    return quiet.run(_by_singular_values, a, b, rcond)  # type: ignore[no-any-return]


def _by_triangles(a: Array, b: Array) -> LeastSquaresResult:
    """``gels`` by QR, for full rank; a wide matrix uses the QR of its adjoint."""
    xp, (m, n) = module_of(a), a.shape[-2:]
    packed, tau = xgeqrf(a if m >= n else hermitian(a))
    R = xp.triu(packed[..., : min(m, n), :])
    zero = xp.diagonal(R, axis1=-2, axis2=-1) == 0
    info = xp.where(zero.any(axis=-1), zero.argmax(axis=-1) + 1, 0).astype("int32")
    if m >= n:
        reached = xormqr(packed, tau, b, True, True)
        top = solve_triangular(xp.broadcast_to(R, (*b.shape[:-2], n, n)), reached[..., :n, :], upper=True)
        return LeastSquaresResult(xp.concatenate([top, reached[..., n:, :]], axis=-2), None, None, info)
    below = solve_triangular(xp.broadcast_to(hermitian(R), (*b.shape[:-2], m, m)), b[..., :m, :], upper=False)
    return LeastSquaresResult(xorgqr(packed, tau) @ below, None, None, info)


def _by_singular_values(a: Array, b: Array, rcond: float) -> LeastSquaresResult:
    """The shortest solution; singular values up to ``rcond`` times the largest one count as 0."""
    xp, (m, n) = module_of(a), a.shape[-2:]
    limit = rcond if rcond >= 0 else float(xp.finfo(a.dtype).eps)
    u, s, vh = xp.linalg.svd(a, full_matrices=True)
    kept = s > limit * s[..., :1]
    reached = hermitian(u) @ b[..., :m, :]
    k = min(m, n)
    scaled = xp.where(kept[..., None], reached[..., :k, :] / s[..., None], 0)
    solution = xp.zeros_like(b)
    solution[..., n:m, :] = reached[..., n:m, :]
    solution[..., :n, :] = hermitian(vh[..., :k, :]) @ scaled
    return LeastSquaresResult(solution, kept.sum(axis=-1), s, xp.zeros(a.shape[:-2], dtype="int32"))
