"""LAPACK routines for arrays of one or many matrices. NumPy or CuPy computes most of them; the missing ones are loops
over columns.

Matrices are in the last two dimensions. ``info`` is LAPACK's: 0, or the number of the column (from 1) that failed. NB:
PyTorch calls MKL. Numbers agree up to rounding. So do the signs and the order of results that are otherwise ambiguous,
except for some eigenvectors and singular vectors, where the libraries take different steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.native.iterator.tensor_iterator import quiet

Array = Any
"""A NumPy or CuPy array."""


def module_of(array: Array) -> Any:
    """The library that an array belongs to."""
    return numpy if isinstance(array, numpy.ndarray) else array_module("cuda")


def hermitian(a: Array) -> Array:
    """The conjugate transpose."""
    return a.swapaxes(-1, -2).conj()


# -- triangles ---------------------------------------------------------------------------------------------------------


def solve_triangular(a: Array, b: Array, upper: bool, unitriangular: bool = False) -> Array:
    """The X with a @ X = b; only one triangle of a is read. A zero on the diagonal is divided by."""
    return quiet.run(_substitution, a, b, upper, unitriangular)


def _substitution(a: Array, b: Array, upper: bool, unitriangular: bool) -> Array:
    x, n = b.copy(), a.shape[-1]
    for row in reversed(range(n)) if upper else range(n):
        known = slice(row + 1, None) if upper else slice(0, row)
        x[..., row, :] -= (a[..., row : row + 1, known] @ x[..., known, :])[..., 0, :]
        if not unitriangular:
            x[..., row, :] /= a[..., row, row, None]
    return x


# -- LU ----------------------------------------------------------------------------------------------------------------


def xgetrf(a: Array, pivot: bool) -> tuple[Array, Array, Array]:
    """Both factors in one matrix, the swapped rows (from 1), and info: the first zero on the diagonal."""
    return quiet.run(_getrf, a.copy(), pivot)  # type: ignore[no-any-return]


def _getrf(lu: Array, pivot: bool) -> tuple[Array, Array, Array]:
    xp, (m, n) = module_of(lu), lu.shape[-2:]
    pivots = xp.zeros((*lu.shape[:-2], min(m, n)), dtype=xp.int32)
    info = xp.zeros(lu.shape[:-2], dtype=xp.int32)
    for k in range(min(m, n)):
        pivot_row = _i_amax(lu[..., k:, k]) + k if pivot else xp.full(lu.shape[:-2], k)
        pivots[..., k] = pivot_row + 1
        _swap_rows(lu, k, pivot_row)
        diagonal = lu[..., k, k]
        zero = diagonal == 0
        info[...] = xp.where((info == 0) & zero, k + 1, info)
        lu[..., k + 1 :, k] /= xp.where(zero, 1, diagonal)[..., None]
        lu[..., k + 1 :, k + 1 :] -= lu[..., k + 1 :, k, None] * lu[..., k, None, k + 1 :]
    return lu, pivots, info


def _i_amax(column: Array) -> Array:
    """The index of the largest element by the sum of its parts' absolute values, like BLAS's ``i_amax``."""
    size = abs(column.real) + abs(column.imag) if column.dtype.kind == "c" else abs(column)
    return size.argmax(axis=-1)


def _swap_rows(a: Array, k: int, other: Array) -> None:
    """Swap row k with another one in each matrix, in place."""
    xp = module_of(a)
    index = xp.broadcast_to(other[..., None, None], (*a.shape[:-2], 1, a.shape[-1]))
    row = a[..., k : k + 1, :].copy()
    a[..., k : k + 1, :] = xp.take_along_axis(a, index, axis=-2)
    xp.put_along_axis(a, index, row, axis=-2)


def permutation(pivots: Array, m: int) -> Array:
    """The order of m rows after the swaps."""
    xp = module_of(pivots)
    order = xp.broadcast_to(xp.arange(m), (*pivots.shape[:-1], m)).copy()[..., None]
    for k in range(pivots.shape[-1]):
        _swap_rows(order, k, pivots[..., k].astype(numpy.int64) - 1)
    return order[..., 0]


def xgetrs(lu: Array, pivots: Array, b: Array, transposed: bool) -> Array:
    """The X with A @ X = b, or A^H @ X = b, from the factors of A."""
    xp = module_of(lu)
    order = permutation(pivots, lu.shape[-1])
    index = xp.broadcast_to(order[..., None], b.shape)
    if not transposed:
        y = solve_triangular(lu, xp.take_along_axis(b, index, axis=-2), False, True)
        return solve_triangular(lu, y, True)
    y = solve_triangular(hermitian(lu), b, False)
    y = solve_triangular(hermitian(lu), y, True, True)
    x = xp.empty_like(y)
    xp.put_along_axis(x, index, y, axis=-2)
    return x


# -- Cholesky ----------------------------------------------------------------------------------------------------------


def xpotrf(a: Array, upper: bool) -> tuple[Array, Array]:
    """The factor, and info: the order of the first leading minor that is not positive-definite."""
    lower, info = quiet.run(_potrf, hermitian(a) if upper else a)
    return (hermitian(lower) if upper else lower), info


def _potrf(a: Array) -> tuple[Array, Array]:
    """Factorize column by column; elements above the diagonal are left unchanged."""
    xp, low, n = module_of(a), a.copy(), a.shape[-1]
    info = xp.zeros(a.shape[:-2], dtype=xp.int32)
    for k in range(n):
        row = low[..., k, None, :k]
        left = (low[..., k:, :k] @ hermitian(row))[..., 0]
        column = low[..., k:, k] - left
        bad = ~(column[..., 0].real > 0)
        info[...] = xp.where((info == 0) & bad, k + 1, info)
        alive = (info == 0)[..., None]
        root = xp.sqrt(xp.where(bad, 1, column[..., 0].real))[..., None]
        column = column / root
        column[..., 0] = root[..., 0]
        low[..., k:, k] = xp.where(alive, column, low[..., k:, k])
    return low, info


def xpotrs(factor: Array, b: Array, upper: bool) -> Array:
    """The X with A @ X = b, from the factor of A."""
    lower = hermitian(factor) if upper else factor
    return solve_triangular(hermitian(lower), solve_triangular(lower, b, False), True)


# -- QR ----------------------------------------------------------------------------------------------------------------


def xgeqrf(a: Array) -> tuple[Array, Array]:
    """R on and above the diagonal with the reflectors' directions below it, and the reflectors' factors."""
    xp, a = module_of(a), a.copy()
    m, n = a.shape[-2:]
    if xp is numpy and min(a.shape):
        reflectors, factors = numpy.linalg.qr(a, mode="raw")
        return reflectors.swapaxes(-1, -2), factors
    tau = xp.zeros((*a.shape[:-2], min(m, n)), dtype=a.dtype)
    for k in range(min(m, n)):
        tau[..., k] = quiet.run(_larfg, a, k)
    return a, tau


def _larfg(a: Array, k: int) -> Array:
    """Zero column k below its diagonal and reflect the columns after it, in place; return the factor (``larfg``)."""
    xp = module_of(a)
    alpha, below = a[..., k, k].copy(), a[..., k + 1 :, k]
    size = xp.sqrt((abs(below) ** 2).sum(axis=-1))
    flat = (size == 0) & (alpha.imag == 0 if alpha.dtype.kind == "c" else True)
    beta = -xp.copysign(xp.hypot(abs(alpha), size), alpha.real)
    tau = xp.where(flat, 0, (beta - alpha) / xp.where(flat, 1, beta)).astype(a.dtype)
    v = below / xp.where(flat, 1, alpha - beta)[..., None]
    whole = xp.concatenate([xp.ones((*v.shape[:-1], 1), dtype=v.dtype), v], axis=-1)[..., None]
    a[..., k:, k + 1 :] -= tau.conj()[..., None, None] * (whole @ (hermitian(whole) @ a[..., k:, k + 1 :]))
    a[..., k, k] = xp.where(flat, alpha, beta)
    a[..., k + 1 :, k] = v
    return tau


def xorgqr(a: Array, tau: Array) -> Array:
    """The first columns of the product of the reflectors below the diagonal of a, as many as a has."""
    xp, (m, n) = module_of(a), a.shape[-2:]
    q = xp.broadcast_to(xp.eye(m, n, dtype=a.dtype), a.shape).copy()
    for k in reversed(range(tau.shape[-1])):
        v, rest, factor = a[..., k:, k, None].copy(), q[..., k:, k + 1 :], tau[..., k, None]
        v[..., 0, 0] = 1
        rest -= factor[..., None] * (v @ (hermitian(v) @ rest))
        q[..., k:, k] = -factor * v[..., 0]
        q[..., k, k] = 1 - factor[..., 0]
    return q


def xormqr(a: Array, tau: Array, c: Array, left: bool, transposed: bool) -> Array:
    """Q @ c, Q^H @ c, c @ Q or c @ Q^H, where Q is the product of the reflectors below the diagonal of a."""
    if not left:
        return hermitian(xormqr(a, tau, hermitian(c), True, not transposed))
    c, count = c.copy(), tau.shape[-1]
    for k in range(count) if transposed else reversed(range(count)):
        v = a[..., k:, k, None].copy()
        v[..., 0, 0] = 1
        factor = tau[..., k].conj() if transposed else tau[..., k]
        c[..., k:, :] -= factor[..., None, None] * (v @ (hermitian(v) @ c[..., k:, :]))
    return c


# -- singular values and eigenvalues -----------------------------------------------------------------------------------


def xgesdd(a: Array, full_matrices: bool, compute_uv: bool) -> tuple[Array | None, Array, Array | None]:
    """U, S and Vh. Raise LinAlgError if the iteration does not converge.

    The signs of the vectors are those of MKL for real numbers: it decomposes R of a tall matrix, and flips the sign of
    the first row of a much wider one.
    """
    xp, (m, n) = module_of(a), a.shape[-2:]
    if not compute_uv:
        return None, xp.linalg.svd(a, compute_uv=False), None
    if a.dtype.kind != "c" and m > n:
        return _by_qr(a, full_matrices)
    if a.dtype.kind != "c" and n > m and n >= m * 11 // 6:
        flipped = a.copy()
        flipped[..., 0, :] *= -1
        u, s, vh = xp.linalg.svd(flipped, full_matrices=full_matrices)
        u[..., 0, :] *= -1
        return u, s, vh
    return xp.linalg.svd(a, full_matrices=full_matrices)  # type: ignore[no-any-return]


def _by_qr(a: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    xp, n = module_of(a), a.shape[-1]
    packed, tau = xgeqrf(a)
    u, s, vh = xp.linalg.svd(xp.triu(packed[..., :n, :]))
    columns = a.shape[-2] if full_matrices else n
    whole = xp.broadcast_to(xp.eye(a.shape[-2], columns, dtype=a.dtype), (*a.shape[:-1], columns)).copy()
    whole[..., :n, :n] = u
    return xormqr(packed, tau, whole, True, False), s, vh


def xsyevd(a: Array, upper: bool, compute_v: bool) -> tuple[Array, Array | None]:
    """The eigenvalues in ascending order and the eigenvectors; one triangle is read.

    Raise LinAlgError if the iteration does not converge.
    """
    linalg, uplo = module_of(a).linalg, "U" if upper else "L"
    return linalg.eigh(a, uplo) if compute_v else (linalg.eigvalsh(a, uplo), None)


def xgeev(a: Array, compute_v: bool) -> tuple[Array, Array | None]:
    """The complex eigenvalues and eigenvectors of any square matrix, computed on the host as in PyTorch."""
    host: Callable[[Array], Array] = (lambda array: array) if isinstance(a, numpy.ndarray) else module_of(a).asnumpy
    values, vectors = numpy.linalg.eig(host(a)) if compute_v else (numpy.linalg.eigvals(host(a)), None)
    return values, vectors
