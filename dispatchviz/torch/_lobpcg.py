"""A few eigenvalues of a large symmetric matrix by conjugate gradients (``torch/_lobpcg.py``, ``_linalg_utils.py``).

PyTorch's functions are Python too, so logs list their operators one after the other. The algorithm is from Knyazev
2001; the orthogonal bases are from Stathopoulos and Wu 2002, Duersch 2015, and Duersch and others 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.torch import _lobpcg_bases as bases
from dispatchviz.torch import _lobpcg_bases as products
from dispatchviz.torch import _lobpcg_gradient as gradient
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import handle_torch_function, has_torch_function

Pair = tuple[Any, Any]

LEAST_STEP = {dtypes.float32: 1.2e-07, dtypes.float64: 2.23e-16}
"""The machine epsilon of each dtype that is supported. The default tolerance is its square root."""
ORTHO_COUNTS = {"ortho_i_max": 3, "ortho_j_max": 3}


def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> Pair:
    """Return the k largest (or smallest) eigenvalues [*, k] and eigenvectors [*, m, k] of A x = lambda B x.

    A, B: [*, m, m]; X: [*, m, n], the first guess, random if None; iK: a preconditioner. ``tracker`` is called with the
    worker after each iteration. Raise ValueError if m < 3 n, AssertionError for shapes that do not fit.
    """
    given = (A, B, X, iK)
    options = (niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams)
    if has_torch_function(given):
        names = ("niter", "tol", "largest", "method", "tracker", "ortho_iparams", "ortho_fparams", "ortho_bparams")
        named = {"k": k, "B": B, "X": X, "n": n, "iK": iK, **dict(zip(names, options, strict=True))}
        return handle_torch_function(lobpcg, given, A, **named)  # type: ignore[no-any-return]
    if A.requires_grad or (B is not None and B.requires_grad):
        A = (A + A.mT) / 2
        B = (B + B.mT) / 2 if B is not None else None
        return gradient.LOBPCGAutogradFunction.apply(A, k, B, X, n, iK, *options)  # type: ignore[no-any-return]
    return _lobpcg(A, k, B, X, n, iK, *options)


def _lobpcg(
    A: Any,
    k: int | None,
    B: Any,
    X: Any,
    n: int | None,
    iK: Any,
    niter: int | None,
    tol: float | None,
    largest: bool | None,
    method: str | None,
    tracker: Callable[[Any], None] | None,
    ortho_iparams: dict[str, int] | None,
    ortho_fparams: dict[str, float] | None,
    ortho_bparams: dict[str, bool] | None,
) -> Pair:
    _check_shapes(A, B)
    dtype = A.dtype if A.dtype in (dtypes.float16, dtypes.float32, dtypes.float64) else dtypes.float32
    tol = LEAST_STEP[dtype] ** 0.5 if tol is None else tol
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    iparams = {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter}
    fparams = {"tol": tol}
    bparams = {"largest": True if largest is None else largest}
    method = "ortho" if method is None else method
    if method == "ortho":
        iparams = ORTHO_COUNTS | iparams | (ortho_iparams or {})
        tolerances = dict.fromkeys(("ortho_tol", "ortho_tol_drop", "ortho_tol_replace"), tol)
        fparams = tolerances | fparams | (ortho_fparams or {})
        bparams = {"ortho_use_drop": False} | bparams | (ortho_bparams or {})
    how = (iK, iparams, fparams, bparams, method, tracker)
    if len(A.shape) > 2:
        return _solve_each(A, B, X, dtype, *how)
    X = _beginning(X, "X", m, n, dtype, A.device)
    worker = LOBPCG(A, B, X, *how)
    worker.run()
    return worker.E[:k], worker.X[:, :k]


def _check_shapes(A: Any, B: Any) -> None:
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")


def _beginning(X: Any, name: str, m: int, n: int, dtype: Any, device: Any) -> Any:
    X = torch.randn((m, n), dtype=dtype, device=device) if X is None else X
    if not (len(X.shape) == 2 and X.shape == (m, n)):
        raise AssertionError(f"{name} shape mismatch: got {X.shape}, expected {(m, n)}")
    return X


def _solve_each(A: Any, B: Any, X: Any, dtype: Any, iK: Any, iparams: dict[str, int], *how: Any) -> Pair:
    """Solve for one matrix of the batch after the other."""
    m, n, k = iparams["m"], iparams["n"], iparams["k"]
    count = int(torch.prod(torch.tensor(A.shape[:-2])))
    matrices = A.reshape((count, *A.shape[-2:]))
    others = B.reshape((count, *A.shape[-2:])) if B is not None else None
    beginnings = X.reshape((count, *X.shape[-2:])) if X is not None else None
    values = torch.empty((count, k), dtype=dtype, device=A.device)
    vectors = torch.empty((count, m, k), dtype=dtype, device=A.device)
    for i in range(count):
        matrix = matrices[i]
        other = others[i] if others is not None else None
        first = None if beginnings is None else beginnings[i]
        first = _beginning(first, "X_", m, n, dtype, A.device)
        iparams["batch_index"] = i
        worker = LOBPCG(matrix, other, first, iK, iparams, *how)
        worker.run()
        values[i] = worker.E[:k]
        vectors[i] = worker.X[:, :k]
    return values.reshape((*A.shape[:-2], k)), vectors.reshape((*A.shape[:-2], m, k))


class LOBPCG:
    """The state of one search, which a tracker may read.

    ``X``: eigenvectors so far, ``E``: their eigenvalues, ``R``: residuals, ``S``: the space that is searched.
    ``iparams``, ``fparams``, ``bparams``: the options; ``ivars``, ``fvars``, ``bvars``, ``tvars``: the state of the
    iteration.
    """

    def __init__(
        self,
        A: Any,
        B: Any,
        X: Any,
        iK: Any,
        iparams: dict[str, int],
        fparams: dict[str, float],
        bparams: dict[str, bool],
        method: str,
        tracker: Callable[[Any], None] | None,
    ) -> None:
        self.A, self.B, self.iK = A, B, iK
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        self.method, self.tracker = method, tracker
        m, n = iparams["m"], iparams["n"]
        self.X = X
        self.E = torch.zeros((n,), dtype=X.dtype, device=X.device)
        self.R = torch.zeros((m, n), dtype=X.dtype, device=X.device)
        self.S = torch.zeros((m, 3 * n), dtype=X.dtype, device=X.device)
        self.tvars: dict[str, Any] = {}
        self.ivars: dict[str, int] = {"istep": 0}
        self.fvars: dict[str, float] = {"_": 0.0}
        self.bvars: dict[str, bool] = {"_": False}

    def __str__(self) -> str:
        """Return every attribute, one per line."""
        names = ("iparams", "fparams", "bparams", "ivars", "fvars", "bvars", "tvars", "A", "B", "iK", "X", "E")
        return "".join(f"{line}\n" for line in ("LOBPCG:", *(f"  {name}={getattr(self, name)}" for name in names)))

    def run(self) -> None:
        """Iterate until enough pairs have converged, the iteration limit is reached, or the tracker stops the
        search.
        """
        self._step()
        while not self.stop_iteration():
            self._step()

    def _step(self) -> None:
        self.update()
        if self.tracker is not None:
            self.tracker(self)

    def stop_iteration(self) -> bool:
        """Return whether the last iteration was the final one. A tracker sets ``bvars["force_stop"]``."""
        enough = self.ivars["converged_count"] >= self.iparams["k"]
        return self.bvars.get("force_stop", False) or self.ivars["iterations_left"] == 0 or enough

    def update(self) -> None:
        """Do one iteration."""
        if self.ivars["istep"] == 0:
            self._measure()
        methods = {"ortho": (self._begin_ortho, self._go_on_ortho)}
        begin, go_on = methods.get(self.method, (self._begin_basic, self._go_on_basic))
        (go_on if self.ivars["istep"] else begin)()
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1

    def _measure(self) -> None:
        X_norm = float(torch.linalg.vector_norm(self.X))
        scale = X_norm**-1
        A_norm = float(torch.linalg.vector_norm(products.matmul(self.A, self.X))) * scale
        B_norm = float(torch.linalg.vector_norm(products.matmul(self.B, self.X))) * scale
        self.fvars.update(X_norm=X_norm, A_norm=A_norm, B_norm=B_norm)
        self.ivars.update(iterations_left=self.iparams["niter"], converged_count=0, converged_end=0)

    def update_residual(self) -> None:
        """A X - B X E"""
        self.R = products.matmul(self.A, self.X) - products.matmul(self.B, self.X) * self.E

    def update_converged_count(self) -> int:
        """Return the number of leading pairs with a small residual. Raise AssertionError if it has decreased."""
        before = self.ivars["converged_count"]
        residual = torch.linalg.vector_norm(self.R, ord=2, dim=(0,))
        length = torch.linalg.vector_norm(self.X, ord=2, dim=(0,))
        error = residual / (
            length * (self.fvars["A_norm"] + torch.abs(self.E[: self.X.shape[-1]]) * self.fvars["B_norm"])
        )
        count = 0
        for small in error < self.fparams["tol"]:
            if not small:
                break
            count += 1
        if count < before:
            raise AssertionError(f"the number of converged eigenpairs (was {before}, got {count}) cannot decrease")
        self.ivars["converged_count"] = count
        self.tvars["rerr"] = error
        return count

    def _begin_basic(self) -> None:
        n = self.iparams["n"]
        transform = bases.rayleigh_ritz(self.B, self.X)
        E, Z = products.symeig(products.qform(products.qform(self.A, self.X), transform), self.bparams["largest"])
        self.X[:] = torch.matmul(self.X, torch.matmul(transform, Z))
        self.E[:] = E
        self.update_residual()
        self.update_converged_count()
        self.S[..., :n] = self.X
        self._search_along(products.matmul(self.iK, self.R), n)

    def _go_on_basic(self) -> None:
        n, found, end = self.iparams["n"], self.ivars["converged_count"], self.ivars["converged_end"]
        S = self.S[:, found:end]
        transform = bases.rayleigh_ritz(self.B, S)
        E, Z = products.symeig(products.qform(products.qform(self.A, S), transform), self.bparams["largest"])
        self.X[:, found:] = torch.matmul(S, torch.matmul(transform, Z[:, : n - found]))
        self.E[found:] = E[: n - found]
        P = torch.matmul(S, torch.matmul(transform, Z[:, n : 2 * n - found]))
        self.update_residual()
        found = self.update_converged_count()
        self.S[..., :n] = self.X
        self.S[:, n : n + P.shape[-1]] = P
        self._search_along(products.matmul(self.iK, self.R[:, found:]), n + P.shape[-1])

    def _begin_ortho(self) -> None:
        n = self.iparams["n"]
        transform = bases.rayleigh_ritz(self.B, self.X)
        _, Z = products.symeig(products.qform(products.qform(self.A, self.X), transform), self.bparams["largest"])
        self.X = torch.matmul(self.X, torch.matmul(transform, Z))
        self.update_residual()
        self.update_converged_count()
        self.S[:, :n] = self.X
        self._search_along(bases.orthogonalized(self, self.R, self.X), n)

    def _go_on_ortho(self) -> None:
        n, found, end = self.iparams["n"], self.ivars["converged_count"], self.ivars["converged_end"]
        S = self.S[:, found:end]
        E, Z = products.symeig(products.qform(self.A, S), self.bparams["largest"])
        self.X[:, found:] = torch.matmul(S, Z[:, : n - found])
        self.E[found:] = E[: n - found]
        P = torch.matmul(S, torch.matmul(Z[:, n - found :], products.basis(Z[: n - found, n - found :].mT)))
        self.update_residual()
        found = self.update_converged_count()
        self.S[:, :n] = self.X
        self.S[:, n : n + P.shape[-1]] = P
        columns = n + P.shape[-1]
        self._search_along(bases.orthogonalized(self, self.R[:, found:], self.S[:, :columns]), columns)

    def _search_along(self, W: Any, start: int) -> None:
        """Append new directions after the columns that the space already has."""
        end = self.ivars["converged_end"] = start + W.shape[-1]
        self.S[:, start:end] = W
