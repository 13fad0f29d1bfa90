"""Products and factors of matrices where None represents the identity (``torch/_linalg_utils.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch


def matmul(A: Any, B: Any) -> Any:
    """A B"""
    return B if A is None else torch.matmul(A, B)


def qform(A: Any, S: Any) -> Any:
    """S^T A S"""
    columns = S.mT
    return matmul(columns, matmul(A, S))


def basis(A: Any) -> Any:
    """Orthonormal columns that span those of A."""
    return torch.linalg.qr(A).Q


def symeig(A: Any, largest: bool = False) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a symmetric matrix, the smallest first or the largest."""
    E, Z = torch.linalg.eigh(A, UPLO="U")
    return (torch.flip(E, dims=(-1,)), torch.flip(Z, dims=(-1,))) if largest else (E, Z)
