"""``Gumbel``, ``Pareto``, ``Weibull`` and ``InverseGamma`` (files of their names in ``torch/distributions``)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.distribution import broadcast_all, is_number
from dispatchviz.torch.distributions.exponential_family import Exponential, Gamma
from dispatchviz.torch.distributions.normal_uniform import Uniform
from dispatchviz.torch.distributions.transformed_distribution import TransformedDistribution
from dispatchviz.torch.distributions.transforms import AffineTransform, ExpTransform, PowerTransform

__all__ = ["Gumbel", "InverseGamma", "Pareto", "Weibull"]

EULER = 0.57721566490153286060
"""Euler's constant."""


class Gumbel(TransformedDistribution):
    """Gumbel distribution: the maximum of many samples."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        info = torch.finfo(self.loc.dtype)
        ends: tuple[Any, Any] = (info.tiny, 1 - info.eps)
        if not (is_number(loc) and is_number(scale)):
            ends = torch.full_like(self.loc, ends[0]), torch.full_like(self.loc, ends[1])
        base = Uniform(*ends, validate_args=validate_args)
        negated = AffineTransform(loc=0, scale=-torch.ones_like(self.scale))
        transforms = [ExpTransform().inv, negated, ExpTransform().inv, AffineTransform(loc=loc, scale=-self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        new.loc = self.loc.expand(batch_shape)
        new.scale = self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Any:
        """``loc + scale * 0.577...``"""
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Any:
        """``loc``"""
        return self.loc

    @property
    def stddev(self) -> Any:
        """``pi / sqrt(6) * scale``"""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        """The square of the standard deviation."""
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        """``log(scale) + 1.577...``"""
        return self.scale.log() + (1 + EULER)


class Pareto(TransformedDistribution):
    """Pareto distribution: values from ``scale`` on, with a density that decreases as a power."""

    arg_constraints: ClassVar[dict[str, Any]] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        new.scale = self.scale.expand(batch_shape)
        new.alpha = self.alpha.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    @property
    def mean(self) -> Any:
        """The mean, infinite for ``alpha`` up to 1."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        """``scale``"""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance, infinite for ``alpha`` up to 2."""
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @property
    def support(self) -> Any:
        """The numbers from ``scale`` on."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        """The entropy."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """Weibull distribution: a power of an exponential variable."""

    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._powers(), validate_args=validate_args)

    def _powers(self) -> list[Any]:
        power = PowerTransform(exponent=self.concentration_reciprocal)
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        new.scale = self.scale.expand(batch_shape)
        new.concentration = self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        base = self.base_dist.expand(batch_shape)
        TransformedDistribution.__init__(new, base, new._powers(), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Any:
        """``scale * gamma(1 + 1 / concentration)``"""
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Any:
        """The most likely value."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Any:
        """The variance, from two values of the gamma function."""
        square = self.scale.pow(2)
        second = torch.exp(torch.lgamma(1 + 2 * self.concentration_reciprocal))
        return square * (second - torch.exp(2 * torch.lgamma(1 + self.concentration_reciprocal)))

    def entropy(self) -> Any:
        """The entropy."""
        first = EULER * (1 - self.concentration_reciprocal)
        return first + torch.log(self.scale * self.concentration_reciprocal) + 1


class InverseGamma(TransformedDistribution):
    """Inverse gamma distribution: the reciprocal of a gamma variable."""

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        minus_one = -base.rate.new_ones(())
        super().__init__(base, PowerTransform(minus_one), validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)

    @property
    def mean(self) -> Any:
        """The mean, infinite for ``concentration`` up to 1."""
        result = self.rate / (self.concentration - 1)
        return torch.where(self.concentration > 1, result, math.inf)

    @property
    def mode(self) -> Any:
        """``rate / (concentration + 1)``"""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """The variance, infinite for ``concentration`` up to 2."""
        result = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return torch.where(self.concentration > 2, result, math.inf)

    def entropy(self) -> Any:
        """The entropy."""
        first = self.concentration + self.rate.log() + self.concentration.lgamma()
        return first - (1 + self.concentration) * self.concentration.digamma()
