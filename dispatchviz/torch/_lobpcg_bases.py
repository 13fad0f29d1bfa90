"""Bases of the space that ``lobpcg`` searches (``torch/_lobpcg.py``), and products in which None represents the
identity. B represents the inner product.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch


def rayleigh_ritz(B: Any, S: Any) -> Any:
    """Return the upper triangular [n, n] that makes the columns of S [m, n] orthonormal."""
    SBS = qform(B, S)
    row = SBS.diagonal(0, -2, -1) ** -0.5
    column = row.reshape(row.shape[0], 1)
    R = torch.linalg.cholesky((SBS * row) * column, upper=True)
    return torch.linalg.solve_triangular(R, row.diag_embed(), upper=True, left=False)


def _svqb(B: Any, U: Any, drop: bool, tau: float) -> Any:
    """Return orthonormal columns for U, without zero columns and, with ``drop``, without those that add almost
    nothing.
    """
    if torch.numel(U) == 0:
        return U
    UBU = qform(B, U)
    lengths = UBU.diagonal(0, -2, -1)
    nonzero = torch.where(abs(lengths) != 0.0)
    if len(nonzero[0]) < len(lengths):
        U = U[:, nonzero[0]]
        if torch.numel(U) == 0:
            return U
        UBU = qform(B, U)
        lengths = UBU.diagonal(0, -2, -1)
        nonzero = torch.where(abs(lengths) != 0.0)
        if len(nonzero[0]) != len(lengths):
            raise AssertionError(f"expected nz[0] length {len(lengths)}, got {len(nonzero[0])}")
    column = (lengths**-0.5).reshape(lengths.shape[0], 1)
    values, vectors = symeig((UBU * column) * column.mT)
    least = tau * abs(values).max()
    if drop:
        kept = torch.where(values > least)[0]
        values, vectors, column = values[kept], vectors[:, kept], column[kept]
    else:
        values[(torch.where(values < least))[0]] = least
    return torch.matmul(U * column.mT, vectors * values**-0.5)


def orthogonalized(worker: Any, U: Any, V: Any) -> Any:
    """Return orthonormal columns for U that are orthogonal to V, which is orthonormal; none if U lies within V.

    Raise ValueError if there are more columns than rows.
    """
    fvars, ivars = worker.fvars, worker.ivars
    for key in [key for key in fvars if key.startswith("ortho_") and key.endswith("_rerr")]:
        fvars.pop(key)
    ivars.pop("ortho_i", 0)
    ivars.pop("ortho_j", 0)
    V_norm = torch.linalg.vector_norm(matmul(worker.B, V))
    VBU = torch.matmul(V.mT, matmul(worker.B, U))
    i = j = 0
    for i in range(worker.iparams["ortho_i_max"]):
        U, BU, j = _normalized(worker, U - torch.matmul(V, VBU), i)
        if BU is None:
            break
        VBU = torch.matmul(V.mT, BU)
        VBU_norm = torch.linalg.vector_norm(VBU)
        U_norm = torch.linalg.vector_norm(U)
        error = float(VBU_norm) * float(V_norm * U_norm) ** -1
        fvars[f"ortho_VBU_rerr[{i}]"] = error
        if error < worker.fparams["ortho_tol"]:
            break
        _check_room(worker, U, V)
    ivars["ortho_i"] = i
    ivars["ortho_j"] = j
    return U


def _normalized(worker: Any, U: Any, i: int) -> tuple[Any, Any, int]:
    """Return U orthonormal, B U (None if no column of U is left), and the number of iterations less one."""
    drop = use_drop = worker.bparams["ortho_use_drop"]
    tau = worker.fparams["ortho_tol_drop" if use_drop else "ortho_tol_replace"]
    drop, BU, j = False, None, 0
    for j in range(worker.iparams["ortho_j_max"]):
        U = _svqb(worker.B, U, drop, tau)
        drop, tau = use_drop, worker.fparams["ortho_tol_replace"]
        if torch.numel(U) == 0:
            return U, None, j
        BU = matmul(worker.B, U)
        UBU = torch.matmul(U.mT, BU)
        U_norm, BU_norm = torch.linalg.vector_norm(U), torch.linalg.vector_norm(BU)
        R = UBU - torch.eye(UBU.shape[-1], device=UBU.device, dtype=UBU.dtype)
        error = float(torch.linalg.vector_norm(R)) * float(BU_norm * U_norm) ** -1
        worker.fvars[f"ortho_UBUmI_rerr[{i}, {j}]"] = error
        if error < worker.fparams["ortho_tol"]:
            break
    return U, BU, j


def _check_room(worker: Any, U: Any, V: Any) -> None:
    if worker.iparams["m"] < U.shape[-1] + V.shape[-1]:
        if worker.B is None:
            raise AssertionError("B must not be None")
        raise ValueError(
            f"Overdetermined shape of U: #B-cols(={worker.B.shape[-1]}) >= #U-cols(={U.shape[-1]}) + "
            f"#V-cols(={V.shape[-1]}) must hold"
        )


def matmul(A: Any, B: Any) -> Any:
    """Return A B."""
    return B if A is None else torch.matmul(A, B)


def qform(A: Any, S: Any) -> Any:
    """Return S^T A S."""
    columns = S.mT
    return matmul(columns, matmul(A, S))


def basis(A: Any) -> Any:
    """Return orthonormal columns that span the columns of A."""
    return torch.linalg.qr(A).Q


def symeig(A: Any, largest: bool = False) -> tuple[Any, Any]:
    """Return eigenvalues and eigenvectors of a symmetric matrix, the smallest first, or the largest first."""
    E, Z = torch.linalg.eigh(A, UPLO="U")
    return (torch.flip(E, dims=(-1,)), torch.flip(Z, dims=(-1,))) if largest else (E, Z)
