"""``Normal`` and ``Uniform`` (``torch/distributions/normal.py``, ``uniform.py``)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.distribution import NONE, Distribution, broadcast_all, is_number
from dispatchviz.torch.size import Size

__all__ = ["Normal", "Uniform"]


class Normal(Distribution):
    """Normal distribution: mean ``loc``, standard deviation ``scale``."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        batch_shape = Size() if is_number(loc) and is_number(scale) else self.loc.size()
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``loc``"""
        return self.loc

    @property
    def mode(self) -> Any:
        """``loc``"""
        return self.loc

    @property
    def stddev(self) -> Any:
        """``scale``"""
        return self.scale

    @property
    def variance(self) -> Any:
        """``scale ** 2``"""
        return self.stddev.pow(2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("loc", "scale"), _instance)

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples of ``torch.normal``."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return ``loc`` plus a standard normal sample times ``scale``."""
        shape = self._extended_shape(sample_shape)
        eps = torch.empty(shape, dtype=self.loc.dtype, device=self.loc.device).normal_()
        return self.loc + eps * self.scale

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        variance = self.scale**2
        log_scale = self.scale.log()
        return -((value - self.loc) ** 2) / (2 * variance) - log_scale - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Any:
        """Return the cumulative distribution function, by ``erf``."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Any:
        """Return the inverse cumulative distribution function, by ``erfinv``."""
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Any:
        """Return the entropy, from the logarithm of the standard deviation."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)


class Uniform(Distribution):
    """Uniform distribution between ``low`` and ``high``."""

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        batch_shape = Size() if is_number(low) and is_number(high) else self.low.size()
        super().__init__(batch_shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        """The constraints: each parameter bounds the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @property
    def support(self) -> Any:
        """The interval from ``low`` to ``high``."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """The middle of the interval."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """nan: every value is equally likely."""
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Any:
        """The variance."""
        return (self.high - self.low).pow(2) / 12

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("low", "high"), _instance)

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Uniform samples on [0, 1), scaled to the interval."""
        shape = self._extended_shape(sample_shape)
        fraction = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + fraction * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        above = self.low.le(value).type_as(self.low)
        below = self.high.gt(value).type_as(self.low)
        return torch.log(above.mul(below)) - torch.log(self.high - self.low)

    def cdf(self, value: Any) -> Any:
        """Return the fraction of the interval below the value."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """Return the value at a fraction of the interval."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """Return the logarithm of the interval's length."""
        return torch.log(self.high - self.low)
