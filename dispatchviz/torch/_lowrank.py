"""Singular values of matrices of low rank, by random projections (``torch/_lowrank.py``).

PyTorch's functions are Python too and call each other by name, so logs list their operators one after the other.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import handle_torch_function, has_torch_function

Parts = tuple[Any, Any, Any]


def get_approximate_basis(A: Any, q: int, niter: int | None = 2, M: Any = None) -> Any:
    """Return Q with q orthonormal columns, for which Q @ Q.mH @ (A - M) is close to A - M. A: [*, m, n]; Q: [*, m,
    q].
    """
    found = _floating(A) if not A.is_complex() else A.dtype
    columns = torch.randn(A.shape[-1], q, dtype=found, device=A.device)
    Q = torch.linalg.qr(_product(A, columns, M)).Q
    for _ in range(2 if niter is None else niter):
        back = _product(A.mH, Q, None if M is None else M.mH)
        Q = torch.linalg.qr(back).Q
        Q = torch.linalg.qr(_product(A, Q, M)).Q
    return Q


def _floating(A: Any) -> Any:
    """Return A's dtype if it is float16, float32 or float64, else float32."""
    return A.dtype if A.dtype in (dtypes.float16, dtypes.float32, dtypes.float64) else dtypes.float32


def _product(A: Any, X: Any, M: Any) -> Any:
    """Return (A - M) @ X."""
    product = torch.matmul(A, X)
    return product if M is None else product - torch.matmul(M, X)


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Parts:
    """Return U [*, m, q], S [*, q], V [*, n, q] of A - M, up to rank q, refined by ``niter`` iterations."""
    given = A, M
    if has_torch_function(given):
        return handle_torch_function(svd_lowrank, given, A, q=q, niter=niter, M=M)  # type: ignore[no-any-return]
    return _svd_lowrank(A, q, niter, M)


def _svd_lowrank(A: Any, q: int | None, niter: int | None, M: Any) -> Parts:
    m, n = A.shape[-2:]
    M = None if M is None else M.broadcast_to(A.size())
    wide = m < n
    if wide:
        A = A.mH
        M = None if M is None else M.mH
    Q = get_approximate_basis(A, 6 if q is None else q, niter, M)
    B = torch.matmul(Q.mH, A)
    if M is not None:
        B = B - torch.matmul(Q.mH, M)
    U, S, Vh = torch.linalg.svd(B, full_matrices=False)
    V = Vh.mH
    U = Q.matmul(U)
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Parts:
    """Return ``svd_lowrank`` of A minus the mean of its rows. Raise ValueError for a q beyond min(m, n) or a negative
    niter.
    """
    if has_torch_function((A,)):
        return handle_torch_function(  # type: ignore[no-any-return]
            pca_lowrank, (A,), A, q=q, center=center, niter=niter
        )
    least = min(A.shape[-2:])
    if q is None:
        q = min(6, least)
    elif not 0 <= q <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(dim=(-2,), keepdim=True)
    return _svd_lowrank(A, q, niter, None)
