"""LAPACK's LDL factorization of symmetric or Hermitian matrices in the lower triangle: ``sytrf``, ``hetrf``,
``sytrs``.
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.native.iterator.tensor_iterator import quiet
from dispatchviz.core.native.linalg.lapack import Array, module_of


def xsytrf(a: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L and D of a symmetric or Hermitian matrix in its lower triangle, the pivots, and info (``sytf2``, ``hetf2``)."""
    xp, low = module_of(a), a.copy()
    pivots = xp.zeros(a.shape[:-1], dtype=xp.int32)
    info = xp.zeros(a.shape[:-2], dtype=xp.int32)
    for batch in numpy.ndindex(a.shape[:-2]):
        info[batch] = quiet.run(_factorized_symmetric, low[batch], pivots[batch], hermitian and a.dtype.kind == "c")
    return low, pivots, info


ALPHA = (1 + 17**0.5) / 8
"""The threshold of Bunch and Kaufman that decides between 1x1 and 2x2 pivots."""


def _factorized_symmetric(a: Array, pivots: Array, hermitian: bool) -> int:
    """Factorize one matrix in place; return info."""
    n, k, info = len(a), 0, 0
    while k < n:
        step, row, zero = _select_pivot(a, k, hermitian)
        if zero:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        last = k + step - 1
        if row != last:
            _swap_symmetric(a, last, row, k, hermitian)
        _eliminate_symmetric(a, k, step, hermitian)
        pivots[k : k + step] = row + 1 if step == 1 else -(row + 1)
        k += step
    return info


def _size(value: Any) -> float:
    return float(abs(value.real) + abs(value.imag))


def _select_pivot(a: Array, k: int, hermitian: bool) -> tuple[int, int, bool]:
    """The size of the pivot (1 or 2), the row with which its last row is swapped, and whether the column is zero."""
    diagonal = abs(a[k, k].real) if hermitian else _size(a[k, k])
    below = [_size(value) for value in a[k + 1 :, k]]
    maximum = max(below, default=0.0)
    if max(diagonal, maximum) == 0:
        return 1, k, True
    if diagonal >= ALPHA * maximum:
        return 1, k, False
    row = k + 1 + below.index(maximum)
    in_row = max([_size(value) for value in a[row, k:row]] + [_size(value) for value in a[row + 1 :, row]], default=0.0)
    if diagonal >= ALPHA * maximum * (maximum / in_row):
        return 1, k, False
    other = abs(a[row, row].real) if hermitian else _size(a[row, row])
    return (1, row, False) if other >= ALPHA * in_row else (2, row, False)


def _swap_symmetric(a: Array, one: int, other: int, k: int, hermitian: bool) -> None:
    """Swap two rows and columns of a lower triangle, from column k on."""
    whole = _full_from_lower(a, hermitian)
    order = list(range(len(a)))
    order[one], order[other] = other, one
    swapped = whole[order][:, order]
    a[k:, k:] = module_of(a).tril(swapped[k:, k:])


def _full_from_lower(a: Array, hermitian: bool) -> Array:
    """The whole matrix of a lower triangle."""
    xp = module_of(a)
    strict = xp.tril(a, -1)
    return xp.tril(a) + (strict.T.conj() if hermitian else strict.T)


def _eliminate_symmetric(a: Array, k: int, step: int, hermitian: bool) -> None:
    """Eliminate by a 1x1 or 2x2 pivot at k; the rest keeps its lower triangle."""
    xp, after = module_of(a), k + step
    pivot = _full_from_lower(a[k:after, k:after], hermitian)
    if hermitian:
        pivot[range(step), range(step)] = pivot.diagonal().real
    column = a[after:, k:after].copy()
    adjoint = column.conj() if hermitian else column
    factors = column @ xp.linalg.inv(pivot)
    a[after:, after:] -= xp.tril(factors @ adjoint.T)
    a[after:, k:after] = factors
    if hermitian:
        indices = list(range(k, len(a)))
        a[indices, indices] = a[indices, indices].real


def xsytrs(ld: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    """The X with A @ X = b, from the factors of A."""
    x = b.copy()
    for batch in numpy.ndindex(ld.shape[:-2]):
        x[batch] = quiet.run(_solved_symmetric, ld[batch], pivots[batch], x[batch], hermitian and ld.dtype.kind == "c")
    return x


def _steps(pivots: Array) -> list[tuple[int, int]]:
    """The first row and the size of each diagonal block."""
    found, k = [], 0
    while k < len(pivots):
        step = 1 if pivots[k] > 0 else 2
        found.append((k, step))
        k += step
    return found


def _solved_symmetric(ld: Array, pivots: Array, b: Array, hermitian: bool) -> Array:
    x, steps = b.copy(), _steps(pivots)
    for k, step in steps:
        last, row = k + step - 1, abs(int(pivots[k])) - 1
        x[[last, row]] = x[[row, last]]
        x[k + step :] -= ld[k + step :, k : k + step] @ x[k : k + step]
        block = _full_from_lower(ld[k : k + step, k : k + step], hermitian)
        x[k : k + step] = module_of(ld).linalg.solve(block, x[k : k + step])
    for k, step in reversed(steps):
        below = ld[k + step :, k : k + step]
        x[k : k + step] -= (below.conj() if hermitian else below).T @ x[k + step :]
        last, row = k + step - 1, abs(int(pivots[k])) - 1
        x[[last, row]] = x[[row, last]]
    return x
