"""Weights that are normalized, have spectral norm 1, or are orthogonal (``torch/nn/utils/parametrizations.py``)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.module import Module
from dispatchviz.torch.nn.utils import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(matrix: Any) -> bool:
    rows, columns = matrix.size(-2), matrix.size(-1)
    identity = torch.eye(columns, dtype=matrix.dtype, device=matrix.device)
    tolerance = 10.0 * rows * torch.finfo(matrix.dtype).eps
    return torch.allclose(matrix.mH @ matrix, identity, atol=tolerance)  # type: ignore[no-any-return]


def _make_orthogonal(matrix: Any) -> Any:
    """Return the Q of a QR decomposition whose R has a positive diagonal."""
    reflectors, tau = torch.geqrf(matrix)
    q = torch.linalg.householder_product(reflectors, tau)
    q *= reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return q


class _Orthogonal(Module):
    """A map from any matrix to an orthogonal one; ``base`` is the matrix that the preimage of the identity
    represents.
    """

    base: Any

    def __init__(self, weight: Any, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """Return an orthogonal matrix of the same shape."""
        transposed = X.size(-2) < X.size(-1)
        if transposed:
            X = X.mT
        if self.orthogonal_map is _OrthMaps.householder:
            below = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
            result = torch.linalg.householder_product(below, tau)
            result = result * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            result = self._from_skew_symmetric(X)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if transposed else result

    def _from_skew_symmetric(self, X: Any) -> Any:
        rows, columns = X.size(-2), X.size(-1)
        X = X.tril()
        if rows != columns:
            X = torch.cat([X, X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)], dim=-1)
        skew = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            result = torch.matrix_exp(skew)
        else:
            identity = torch.eye(rows, dtype=skew.dtype, device=skew.device)
            result = torch.linalg.solve(torch.add(identity, skew, alpha=-0.5), torch.add(identity, skew, alpha=0.5))
        return result[..., :columns] if rows != columns else result

    @torch.autograd.no_grad()  # type: ignore[untyped-decorator]
    def right_inverse(self, Q: Any) -> Any:
        """Return the preimage of ``Q`` under the map. Raise ValueError for another shape, NotImplementedError without
        inverse.
        """
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        given, (rows, columns) = Q, (Q.size(-2), Q.size(-1))
        transposed = rows < columns
        if transposed:
            Q, rows, columns = Q.mT, columns, rows
        if not hasattr(self, "base"):
            return self._reflectors(Q, transposed)
        if rows != columns:
            rest = torch.randn(*Q.size()[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(torch.cat([Q, rest], dim=-1))
        else:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        self.base = Q
        minus_identity = torch.zeros_like(given)
        minus_identity.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return minus_identity

    def _reflectors(self, Q: Any, transposed: bool) -> Any:
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        reflectors, tau = torch.geqrf(Q)
        reflectors.diagonal(dim1=-2, dim2=-1).sign_()
        reflectors.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return reflectors.mT if transposed else reflectors


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a weight orthogonal through optimizer steps. Raise ValueError for anything but a matrix, and for an unknown
    map.
    """
    weight = _tensor(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    map_ = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, map_, unsafe=True)


def _tensor(module: Module, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _WeightNorm(Module):
    """The product of length and direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """Return the weight."""
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        """Return length and direction."""
        return torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Replace a weight by its lengths along ``dim`` and its directions, which become parameters."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Rename the parameters that the older ``weight_norm`` saved."""
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            values = [state_dict.pop(key) for key in old]
            for i, value in enumerate(values):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = value

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """The weight divided by its largest singular value, which a power iteration tracks during training."""

    _u: Any
    _v: Any

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.size()
            u = matrix.new_empty(height).normal_(0, 1)
            v = matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", self._normalized(u))
            self.register_buffer("_v", self._normalized(v))
            self._power_method(matrix, 15)

    def _normalized(self, vector: Any, out: Any = None) -> Any:
        return torch.nn.functional.normalize(vector, dim=0, eps=self.eps, out=out)

    def _reshape_weight_to_matrix(self, weight: Any) -> Any:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(dim for dim in range(weight.dim()) if dim != self.dim))
        return weight.flatten(1)

    @torch.autograd.no_grad()  # type: ignore[untyped-decorator]
    def _power_method(self, weight_mat: Any, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u = self._normalized(torch.mv(weight_mat, self._v), out=self._u)
            self._v = self._normalized(torch.mv(weight_mat.H, self._u), out=self._v)

    def forward(self, weight: Any) -> Any:
        """Return the weight divided by its spectral norm; a vector divided by its length."""
        if weight.ndim == 1:
            return self._normalized(weight)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u = self._u.clone(memory_format=torch.contiguous_format)
        v = self._v.clone(memory_format=torch.contiguous_format)
        sigma = torch.vdot(u, torch.mv(matrix, v))
        return weight / sigma

    def right_inverse(self, value: Any) -> Any:
        """Return the value itself, which is normalized when it is read."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Keep the largest singular value of a weight at 1. Raise ValueError for a tensor that does not exist."""
    weight = _tensor(module, name)
    if dim is None:
        transposed = (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)
        dim = 1 if isinstance(module, transposed) else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
