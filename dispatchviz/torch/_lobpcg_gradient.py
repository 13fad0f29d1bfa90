"""The derivative of ``lobpcg``: differentiate a matrix through some of its eigenpairs (``torch/_lobpcg.py``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.autograd.function import Function


class LOBPCGAutogradFunction(Function):
    """The autograd function of ``lobpcg``. Its backward raises ValueError for complex matrices and if B is given."""

    @staticmethod
    def forward(ctx: Any, A: Any, k: int | None, B: Any, *more: Any) -> tuple[Any, Any]:
        """Return the eigenvalues and eigenvectors."""
        A = A.contiguous()
        if B is not None:
            B = B.contiguous()
        D, U = torch._lobpcg._lobpcg(A, k, B, *more)
        ctx.save_for_backward(A, B, D, U)
        ctx.largest = more[5]
        return D, U

    @staticmethod
    def backward(ctx: Any, D_grad: Any, U_grad: Any) -> tuple[Any, ...]:
        """Return the gradient of A; no other input gets one."""
        A, B, D, U = ctx.saved_tensors
        if any(matrix is not None and matrix.is_complex() for matrix in (A, B)):
            raise ValueError(
                "lobpcg.backward does not support complex input yet. Note that lobpcg.forward does though."
            )
        if B is not None:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        largest = True if ctx.largest is None else ctx.largest
        if U.size(-1) == U.size(-2):
            gradient = _from_all_pairs(D_grad, U_grad, D, U)
        else:
            gradient = _from_some_pairs(D_grad, U_grad, A, D, U, largest)
        return (gradient, *[None] * 13)


def _from_all_pairs(D_grad: Any, U_grad: Any, D: Any, U: Any) -> Any:
    """Return the gradient if all eigenvectors are known."""
    F = D.unsqueeze(-2) - D.unsqueeze(-1)
    F.diagonal(dim1=-2, dim2=-1).fill_(float("inf"))
    F.pow_(-1)
    Ut = U.mT.contiguous()
    return torch.matmul(U, torch.matmul(torch.diag_embed(D_grad) + torch.matmul(Ut, U_grad) * F, Ut))


def _from_some_pairs(D_grad: Any, U_grad: Any, A: Any, D: Any, U: Any, largest: bool) -> Any:
    """Return the gradient from some eigenpairs, with the characteristic polynomial of the known eigenvalues for the
    others.
    """
    Ut = U.mT.contiguous()
    projection = -U.matmul(Ut)
    projection.diagonal(dim1=-2, dim2=-1).add_(1)
    generator = torch.Generator(A.device)
    size = (*A.shape[:-1], A.size(-1) - D.size(-1))
    others = projection.matmul(torch.randn(size, dtype=A.dtype, device=A.device, generator=generator))
    others_t = others.mT.contiguous()
    polynomial = _polynomial_of_roots(D)
    series = _series(polynomial, U_grad, A, D)
    at_A = _value_at_matrix(polynomial, A)
    within = torch.matmul(others_t, torch.matmul(at_A, others))
    sign = -1 if largest and (polynomial.size(-1) - 1) % 2 == 1 else +1
    L = torch.linalg.cholesky(sign * within)
    result = _from_all_pairs(D_grad, U_grad, D, U)
    result -= others.matmul(sign * torch.cholesky_solve(others_t.matmul(series), L)).matmul(Ut)
    return result


def _series(polynomial: Any, U_grad: Any, A: Any, D: Any) -> Any:
    power = U_grad
    total = power.new_zeros(power.shape)
    for k in range(1, polynomial.size(-1)):
        total += power * _values_at_vector(polynomial[..., k:], D).unsqueeze(-2)
        power = A.matmul(power)
    return total


def _polynomial_of_roots(roots: Any) -> Any:
    """Return the coefficients of (x - r_1) ... (x - r_n), the constant one first."""
    order = roots.shape[-1]
    shape = list(roots.shape)
    shape[-1] += 2
    coefficients = roots.new_zeros(shape)
    coefficients[..., 0] = 1
    coefficients[..., -1] = 1
    for i in range(1, order + 1):
        new = coefficients.clone() if roots.requires_grad else coefficients
        out = new.narrow(-1, order - i, i + 1)
        out -= roots.narrow(-1, i - 1, 1) * coefficients.narrow(-1, order - i + 1, i + 1)
        coefficients = new
    return coefficients.narrow(-1, 1, order + 1)


def _by_horner(polynomial: Any, one: Any, step: Callable[[Any, Any], Any]) -> Any:
    result = one.clone()
    for k in range(polynomial.size(-1) - 2, -1, -1):
        result = step(result, polynomial[..., k])
    return result


def _value_at_matrix(polynomial: Any, x: Any) -> Any:
    def step(result: Any, coefficient: Any) -> Any:
        result = x.matmul(result)
        result.diagonal(dim1=-2, dim2=-1).add_(coefficient.unsqueeze(-1))
        return result

    rows = x.size(-1)
    one = torch.eye(rows, x.size(-1), dtype=x.dtype, device=x.device)
    return _by_horner(polynomial, one.view(*([1] * len(list(x.shape[:-2]))), rows, rows), step)


def _values_at_vector(polynomial: Any, x: Any) -> Any:
    def step(result: Any, coefficient: Any) -> Any:
        return torch.addcmul(coefficient.unsqueeze(-1), x, result)

    return _by_horner(polynomial, x.new_ones(1).expand(x.shape), step)
