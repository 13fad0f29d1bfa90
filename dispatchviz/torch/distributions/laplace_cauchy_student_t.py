"""``Laplace``, ``Cauchy`` and ``StudentT`` (files of their names in ``torch/distributions``)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.distribution import NONE, Distribution, broadcast_all, is_number
from dispatchviz.torch.distributions.exponential_family import Chi2
from dispatchviz.torch.size import Size

__all__ = ["Cauchy", "Laplace", "StudentT"]


class _LocScale(Distribution):
    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        numbers = is_number(loc) and is_number(scale)
        super().__init__(Size() if numbers else self.loc.size(), validate_args=validate_args)

    @property
    def mode(self) -> Any:
        """``loc``"""
        return self.loc

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("loc", "scale"), _instance)


class Laplace(_LocScale):
    """Laplace distribution: two exponential ones, back to back."""

    @property
    def mean(self) -> Any:
        """``loc``"""
        return self.loc

    @property
    def variance(self) -> Any:
        """``2 * scale ** 2``"""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return (2**0.5) * self.scale

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return samples, from logarithms of uniform samples."""
        shape = self._extended_shape(sample_shape)
        u = self.loc.new(shape).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value: Any) -> Any:
        """The cumulative distribution function."""
        if self._validate_args:
            self._validate_sample(value)
        side = 0.5 * (value - self.loc).sign()
        return 0.5 - side * torch.expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        """The inverse cumulative distribution function (quantile)."""
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self) -> Any:
        """``1 + log(2 * scale)``"""
        return 1 + torch.log(2 * self.scale)


class Cauchy(_LocScale):
    """Cauchy distribution: the ratio of two normal variables, which has no mean."""

    @property
    def mean(self) -> Any:
        """nan"""
        return torch.full(self._extended_shape(), math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def variance(self) -> Any:
        """Infinity."""
        return torch.full(self._extended_shape(), math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return ``loc`` plus standard samples times ``scale``."""
        shape = self._extended_shape(sample_shape)
        eps = self.loc.new(shape).cauchy_()
        return self.loc + eps * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        """Return the cumulative distribution function, by the arc tangent."""
        if self._validate_args:
            self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        """Return the inverse cumulative distribution function, by the tangent."""
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        """``log(4 * pi * scale)``"""
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(Distribution):
    """Student's t: a normal variable divided by the square root of a chi-squared one."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``loc``; nan for up to 1 degree of freedom."""
        mean = self.loc.clone(memory_format=torch.contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self) -> Any:
        """``loc``"""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variance: infinite for up to 2 degrees of freedom, nan for up to 1."""
        result = self.df.clone(memory_format=torch.contiguous_format)
        result[self.df > 2] = self.scale[self.df > 2].pow(2) * self.df[self.df > 2] / (self.df[self.df > 2] - 2)
        result[(self.df <= 2) & (self.df > 1)] = math.inf
        result[self.df <= 1] = math.nan
        return result

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = self._expanded(batch_shape, ("df", "loc", "scale"), _instance)
        new._chi2 = self._chi2.expand(Size(batch_shape))
        return new

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return samples, from a normal sample and one of ``Chi2``."""
        shape = self._extended_shape(sample_shape)
        x = torch.empty(shape, dtype=self.df.dtype, device=self.df.device).normal_()
        z = self._chi2.rsample(sample_shape)
        y = x * torch.rsqrt(z / self.df)
        return self.loc + self.scale * y

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * self.df)
        norm = norm - torch.lgamma(0.5 * (self.df + 1.0))
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Any:
        """Return the entropy, from the beta function and the derivative of gamma."""
        beta = torch.lgamma(0.5 * self.df) + math.lgamma(0.5) - torch.lgamma(0.5 * (self.df + 1))
        start = self.scale.log()
        slope = 0.5 * (self.df + 1) * (torch.digamma(0.5 * (self.df + 1)) - torch.digamma(0.5 * self.df))
        return start + slope + 0.5 * self.df.log() + beta
