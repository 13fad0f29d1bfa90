"""``MultivariateNormal`` (``torch/distributions/multivariate_normal.py``)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.distribution import NONE, Distribution, lazy_property
from dispatchviz.torch.size import Size

__all__ = ["MultivariateNormal"]

_MATRICES = ("scale_tril", "covariance_matrix", "precision_matrix")


class MultivariateNormal(Distribution):
    """Multivariate normal: mean ``loc`` and a covariance, precision or Cholesky matrix."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        all_three = zip(_MATRICES, (scale_tril, covariance_matrix, precision_matrix), strict=True)
        given = [(name, matrix) for name, matrix in all_three if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, Size(self.loc.shape[-1:]), validate_args=validate_args)
        self._unbroadcasted_scale_tril = _FACTORS[name](matrix)

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance: the factor times its transpose."""
        return self._whole(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        """``loc``"""
        return self.loc

    @property
    def mode(self) -> Any:
        """``loc``"""
        return self.loc

    @property
    def variance(self) -> Any:
        """The diagonal of the covariance."""
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand((*self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        shape = Size(batch_shape)
        new.loc = self.loc.expand((*shape, *self.event_shape))
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand((*shape, *self.event_shape, *self.event_shape)))
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return ``loc`` plus the factor times standard normal samples."""
        shape = self._extended_shape(sample_shape)
        eps = torch.empty(shape, dtype=self.loc.dtype, device=self.loc.device).normal_()
        return self.loc + torch.matmul(self._unbroadcasted_scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half_log_det = half_log_determinant(self)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det

    def entropy(self) -> Any:
        """Return the entropy, from the determinant."""
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_determinant(self)
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


def half_log_determinant(normal: MultivariateNormal) -> Any:
    """Return half the logarithm of the covariance's determinant."""
    return normal._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(factor: Any, x: Any) -> Any:
    """Return squared Mahalanobis lengths of vectors. Each factor solves for all its vectors at once."""
    n, batch = x.size(-1), x.shape[:-1]
    inner = factor.dim() - 2
    outer = len(batch) - inner
    split = [
        part for ours, theirs in zip(factor.shape[:-2], batch[outer:], strict=True) for part in (theirs // ours, ours)
    ]
    last = outer + 2 * inner
    x = x.reshape((*x.shape[:outer], *split, n))
    x = x.permute((*range(outer), *range(outer, last, 2), *range(outer + 1, last, 2), last))
    factors = factor.reshape(-1, n, n)
    columns = x.reshape(-1, factors.size(0), n).permute(1, 2, 0)
    lengths = torch.linalg.solve_triangular(factors, columns, upper=False).pow(2).sum(-2).t()
    back = [dim for i in range(inner) for dim in (outer + i, outer + inner + i)]
    return lengths.reshape(x.shape[:-1]).permute((*range(outer), *back)).reshape(batch)


def _factor_of_precision(matrix: Any) -> Any:
    flipped = torch.linalg.cholesky(torch.flip(matrix, (-2, -1)))
    inverse = torch.transpose(torch.flip(flipped, (-2, -1)), -2, -1)
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return torch.linalg.solve_triangular(inverse, identity, upper=False)


_FACTORS: dict[str, Any] = {
    "scale_tril": lambda matrix: matrix,
    "covariance_matrix": lambda matrix: torch.linalg.cholesky(matrix),
    "precision_matrix": _factor_of_precision,
}
"""The matrix parameter -> a function that computes the Cholesky factor of the covariance."""
