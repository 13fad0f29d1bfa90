"""``MixtureSameFamily``, ``Multinomial`` and ``NegativeBinomial`` (files of their names in ``torch/distributions``)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.bernoulli_categorical import Categorical
from dispatchviz.torch.distributions.distribution import (
    NONE,
    Distribution,
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from dispatchviz.torch.distributions.exponential_family import Gamma
from dispatchviz.torch.distributions.poisson_binomial_geometric import Binomial
from dispatchviz.torch.size import Size

__all__ = ["MixtureSameFamily", "Multinomial", "NegativeBinomial"]


class MixtureSameFamily(Distribution):
    """Mixture: choose a component, then sample it. The components are the last batch dimension of one distribution.

    Raise ValueError for distributions that do not fit together.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        batch, own = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for one, other in zip(reversed(batch), reversed(own), strict=False):
            if one not in (1, other) and other != 1:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({batch}) is not compatible with "
                    f"`component_distribution.batch_shape`({own})"
                )
        count, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(Size(own), component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        shape = Size(batch_shape)
        new.component_distribution = self.component_distribution.expand(shape + Size((self._num_component,)))
        new.mixture_distribution = self.mixture_distribution.expand(shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, shape, new.component_distribution.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def support(self) -> Any:
        """The support of the components."""
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    @property
    def mean(self) -> Any:
        """The weighted mean of the components' means."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return torch.sum(probs * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self) -> Any:
        """The mean of the variances plus the variance of the means."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        dim = -1 - self._event_ndims
        within = torch.sum(probs * self.component_distribution.variance, dim=dim)
        apart = (self.component_distribution.mean - self._pad(self.mean)).pow(2.0)
        return within + torch.sum(probs * apart, dim=dim)

    def cdf(self, value: Any) -> Any:
        """Return the weighted mean of the components' cumulative distribution functions."""
        cdf = self.component_distribution.cdf(self._pad(value))
        return torch.sum(cdf * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the weighted sum of the components' probabilities."""
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.component_distribution.log_prob(self._pad(value))
        weights = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(log_prob + weights, dim=-1)

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples: sample all components, and gather one of them."""
        with torch.no_grad():
            dim, event = len(sample_shape) + len(self.batch_shape), self.event_shape
            chosen = self.mixture_distribution.sample(sample_shape)
            shape = chosen.shape
            samples = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape(shape + Size([1] * (len(event) + 1)))
            chosen = chosen.repeat(Size([1] * len(shape)) + Size([1]) + event)
            return torch.gather(samples, dim, chosen).squeeze(dim)

    def _pad(self, value: Any) -> Any:
        return value.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, value: Any) -> Any:
        own = len(self.mixture_distribution.batch_shape)
        more = 0 if own == 1 else len(self.batch_shape) - own
        shape = value.shape
        return value.reshape(shape[:-1] + Size(more * [1]) + shape[-1:] + Size(self._event_ndims * [1]))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


class Multinomial(Distribution):
    """Multinomial: counts of categories in ``total_count`` samples. Raise NotImplementedError for counts in a
    tensor.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, Size(event_shape), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(Size(batch_shape))
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)
    param_shape = property(lambda self: self._categorical.param_shape)

    @property
    def mean(self) -> Any:
        """``total_count * probs``"""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """``total_count * probs * (1 - probs)``"""
        return self.total_count * self.probs * (1 - self.probs)

    @property
    def support(self) -> Any:
        """The counts that sum to at most ``total_count``."""
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return counts of categorical samples."""
        shape = Size(sample_shape)
        samples = self._categorical.sample(Size((self.total_count,)) + shape)
        order = list(range(samples.dim()))
        order.append(order.pop(0))
        samples = samples.permute(*order)
        counts = samples.new(self._extended_shape(shape)).zero_()
        counts.scatter_add_(-1, samples, torch.ones_like(samples))
        return counts.type_as(self.probs)

    def entropy(self) -> Any:
        """The entropy."""
        n = torch.tensor(self.total_count)
        entropy = self._categorical.entropy()
        whole = n * entropy - torch.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        probs = torch.exp(self._binomial.log_prob(support))
        weights = torch.lgamma(support + 1)
        return whole + (probs * weights).sum([0, -1])

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=torch.contiguous_format)
        whole = torch.lgamma(value.sum(-1) + 1)
        parts = torch.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0
        powers = (logits * value).sum(-1)
        return whole - parts + powers


class NegativeBinomial(Distribution):
    """Negative binomial: successes before ``total_count`` failures. Raise ValueError unless exactly one of probs and
    logits is given.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        self.total_count, param = broadcast_all(total_count, given)
        setattr(self, name, param)
        self.total_count = self.total_count.type_as(param)
        super().__init__(param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("total_count", "probs", "logits"), _instance)

    @property
    def mean(self) -> Any:
        """``total_count * exp(logits)``"""
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Any:
        """The most likely count."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        """The mean divided by the probability of a failure."""
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The probability of a success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters."""
        return (self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]).size()

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return Poisson samples whose rates are gamma samples."""
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        logsigmoid = torch.nn.functional.logsigmoid
        whole = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        return whole - norm.masked_fill(self.total_count + value == 0.0, 0.0)
