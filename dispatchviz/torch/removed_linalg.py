"""Linear algebra functions that PyTorch removed. The errors name their replacements (``torch/_linalg_utils.py``)."""

from __future__ import annotations

from typing import Any, NoReturn

from dispatchviz.core.tensor.tensor import Tensor

_GONE = "This function was deprecated since version 1.9 and is now removed."


def matrix_rank(input: Tensor, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(
        f"{_GONE}\nPlease use the `torch.linalg.matrix_rank` function instead. "
        "The parameter 'symmetric' was renamed in `torch.linalg.matrix_rank()` to 'hermitian'."
    )


def solve(input: Tensor, A: Tensor, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(
        f"{_GONE} `torch.solve` is deprecated in favor of `torch.linalg.solve`. "
        "`torch.linalg.solve` has its arguments reversed and does not return the LU factorization.\n\n"
        "To get the LU factorization see `torch.lu`, which can be used with `torch.lu_solve` or `torch.lu_unpack`.\n"
        "X = torch.solve(B, A).solution should be replaced with:\nX = torch.linalg.solve(A, B)"
    )


def lstsq(input: Tensor, A: Tensor, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(
        f"{_GONE} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n"
        "`torch.linalg.lstsq` has reversed arguments and does not return the QR decomposition in the returned tuple "
        "(although it returns other information about the problem).\n\n"
        "To get the QR decomposition consider using `torch.linalg.qr`.\n\n"
        "The returned solution in `torch.lstsq` stored the residuals of the solution in the last m - n columns of the "
        "returned value whenever m > n. In torch.linalg.lstsq, the residuals are in the field 'residuals' of the "
        "returned named tuple.\n\n"
        "The unpacking of the solution, as in\nX, _ = torch.lstsq(B, A).solution[:A.size(1)]\n"
        "should be replaced with:\nX = torch.linalg.lstsq(A, B).solution"
    )


def symeig(input: Tensor, eigenvectors: bool = False, upper: bool = True, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(
        f"{_GONE} The default behavior has changed from using the upper triangular portion of the matrix by default to "
        "using the lower triangular portion.\n\n"
        "L, _ = torch.symeig(A, upper=upper) should be replaced with:\n"
        "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\n\nand\n\n"
        "L, V = torch.symeig(A, eigenvectors=True) should be replaced with:\n"
        "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"
    )


def eig(self: Tensor, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(
        f"{_GONE} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors "
        "mimicking complex tensors.\n\n"
        "L, _ = torch.eig(A) should be replaced with:\nL_complex = torch.linalg.eigvals(A)\n\nand\n\n"
        "L, V = torch.eig(A, eigenvectors=True) should be replaced with:\nL_complex, V_complex = torch.linalg.eig(A)"
    )


def cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(
        f"{_GONE} `torch.cholesky` is deprecated in favor of `torch.linalg.cholesky`.\n"
        "L = torch.cholesky(A) should be replaced with:\nL = torch.linalg.cholesky(A)\n"
        "U = torch.cholesky(A, upper=True) should be replaced with:\nU = torch.linalg.cholesky(A).mH"
    )


def qr(input: Tensor, some: bool = True, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError."""
    raise RuntimeError(
        f"{_GONE} `torch.qr` is deprecated in favor of `torch.linalg.qr` and the boolean parameter `some` has been "
        "replaced with a string parameter `mode`.\n\n"
        "Q, R = torch.qr(A) should be replaced with:\nQ, R = torch.linalg.qr(A, mode='reduced')\n\nand\n\n"
        "Q, R = torch.qr(A, some=False) should be replaced with:\nQ, R = torch.linalg.qr(A, mode='complete')\n\n"
        f"Since `some` was set to {some}, use mode='{'reduced' if some else 'complete'}'."
    )


FUNCTIONS = {function.__name__: function for function in (cholesky, eig, lstsq, qr, matrix_rank, solve, symeig)}
METHODS = {name: function for name, function in FUNCTIONS.items() if name != "matrix_rank"}
