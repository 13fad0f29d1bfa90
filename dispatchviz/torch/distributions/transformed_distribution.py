"""``TransformedDistribution``, whose samples pass through transforms, and the half and logarithmic distributions
(``torch/distributions/transformed_distribution.py``, ``log_normal.py``, ``half_normal.py``, ``half_cauchy.py``,
``logistic_normal.py``).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.distribution import NONE, Distribution
from dispatchviz.torch.distributions.independent_one_hot import Independent, sum_rightmost
from dispatchviz.torch.distributions.laplace_cauchy_student_t import Cauchy
from dispatchviz.torch.distributions.normal_uniform import Normal
from dispatchviz.torch.distributions.transforms import (
    AbsTransform,
    ComposeTransform,
    ExpTransform,
    StickBreakingTransform,
    Transform,
)
from dispatchviz.torch.size import Size

__all__ = ["HalfCauchy", "HalfNormal", "LogNormal", "LogisticNormal", "TransformedDistribution"]


class TransformedDistribution(Distribution):
    """A base distribution whose samples pass through ``transforms``. Raise ValueError for anything but transforms, and
    for shapes that are too small.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(part, Transform) for part in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        whole = ComposeTransform(self.transforms)
        forward_shape = self._expand_base(base_distribution, whole)
        given, taken, made = len(base_distribution.event_shape), whole.domain.event_dim, whole.codomain.event_dim
        cut = len(forward_shape) - max(made, given + made - taken)
        super().__init__(Size(forward_shape[:cut]), Size(forward_shape[cut:]), validate_args=validate_args)

    def _expand_base(self, base: Any, whole: Any) -> Any:
        """Expand the base to the shape and events that the transforms need; return the output shape."""
        shape, event_dim = base.batch_shape + base.event_shape, len(base.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {shape}."
            )
        forward_shape = whole.forward_shape(shape)
        expanded = whole.inverse_shape(forward_shape)
        if shape != expanded:
            base = base.expand(Size(expanded[: len(expanded) - event_dim]))
        more = whole.domain.event_dim - event_dim
        self.base_dist: Any = Independent(base, more) if more > 0 else base
        return forward_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        shape = Size(batch_shape) + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(Size(shape[: len(shape) - len(self.base_dist.event_shape)]))
        new.transforms = self.transforms
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def support(self) -> Any:
        """The codomain of the last transform, for whole events."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """True if the base distribution has it."""
        return bool(self.base_dist.has_rsample)

    def _through(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return transformed samples of the base distribution, without a history."""
        with torch.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return transformed samples of the base distribution."""
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """Return the base distribution's log probability of the inverse, minus the log determinants of the
        transforms.
        """
        if self._validate_args:
            self._validate_sample(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            stretched = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - sum_rightmost(stretched, event_dim - transform.domain.event_dim)
            y = x
        return log_prob + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonized(self, value: Any) -> Any:
        """Return the probability, or 1 minus it if the transforms are decreasing."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        """The cumulative distribution function."""
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonized(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        """The inverse cumulative distribution function (quantile)."""
        return self._through(self.base_dist.icdf(self._monotonized(value)))


class LogNormal(TransformedDistribution):
    """Log-normal distribution: its logarithm has a normal distribution."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)

    @property
    def mean(self) -> Any:
        """``exp(loc + scale ** 2 / 2)``"""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        """``exp(loc - scale ** 2)``"""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        """The variance of the value, not of its logarithm."""
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        """Return the entropy of the normal distribution plus ``loc``."""
        return self.base_dist.entropy() + self.loc


class _Half(TransformedDistribution):
    """The absolute value of a symmetric distribution."""

    arg_constraints: ClassVar[dict[str, Any]] = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    scale = property(lambda self: self.base_dist.scale)

    @property
    def mode(self) -> Any:
        """0"""
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of twice the whole distribution's density; minus infinity below 0."""
        if self._validate_args:
            self._validate_sample(value)
        value = self._as_value(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, log_prob, -math.inf)

    def _as_value(self, value: Any) -> Any:
        return value

    def cdf(self, value: Any) -> Any:
        """The cumulative distribution function."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        """The inverse cumulative distribution function (quantile)."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        """Return the entropy of the whole distribution minus the logarithm of 2."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """Half-normal distribution: the absolute value of a normal variable around 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``scale * sqrt(2 / pi)``"""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """``scale ** 2 * (1 - 2 / pi)``"""
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """Half-Cauchy distribution: the absolute value of a Cauchy variable around 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def _as_value(self, value: Any) -> Any:
        return torch.as_tensor(value, dtype=self.base_dist.scale.dtype, device=self.base_dist.scale.device)

    @property
    def mean(self) -> Any:
        """Infinity."""
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Any:
        """The variance of the whole distribution."""
        return self.base_dist.variance


class LogisticNormal(TransformedDistribution):
    """Logistic normal distribution: stick breaking of normal samples."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)
