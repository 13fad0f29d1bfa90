"""``Poisson``, ``Binomial`` and ``Geometric`` (files of their names in ``torch/distributions``)."""

from __future__ import annotations

from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.bernoulli_categorical import BinaryTrials
from dispatchviz.torch.distributions.distribution import (
    NONE,
    broadcast_all,
    is_number,
)
from dispatchviz.torch.distributions.exponential_family import ExponentialFamily
from dispatchviz.torch.size import Size

__all__ = ["Binomial", "Geometric", "Poisson"]


class Poisson(ExponentialFamily):
    """Poisson distribution: counts of events, with ``rate`` expected events."""

    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(Size() if is_number(rate) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``rate``"""
        return self.rate

    @property
    def mode(self) -> Any:
        """``rate``, rounded down."""
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        """``rate``"""
        return self.rate

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("rate",), _instance)

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples of ``torch.poisson``."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.poisson(self.rate.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> Any:
        return (torch.log(self.rate),)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return torch.exp(natural_params[0])


class Binomial(BinaryTrials):
    """Binomial distribution: successes in ``total_count`` trials."""

    arg_constraints: ClassVar[dict[str, Any]] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._check_one(probs, logits)
        if probs is not None:
            count, self.probs = broadcast_all(total_count, probs)
            self.total_count = count.type_as(self.probs)
        else:
            count, self.logits = broadcast_all(total_count, logits)
            self.total_count = count.type_as(self.logits)
        self._param = self.probs if probs is not None else self.logits
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def support(self) -> Any:
        """The numbers from 0 to the count."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """``total_count * probs``"""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """The most likely count."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        """``total_count * probs * (1 - probs)``"""
        return self.total_count * self.probs * (1 - self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = self._expanded(batch_shape, ("total_count", "probs", "logits"), _instance)
        new._param = new.__dict__["probs"] if "probs" in new.__dict__ else new.__dict__["logits"]
        return new

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples of ``torch.binomial``."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        all_orders = torch.lgamma(self.total_count + 1)
        of_successes = torch.lgamma(value + 1)
        of_failures = torch.lgamma(self.total_count - value + 1)
        positive = (self.logits.clamp(min=0) + self.logits - self.logits.clamp(max=0)) / 2
        likelier = self.total_count * positive
        norm = likelier + self.total_count * torch.log1p(torch.exp(-torch.abs(self.logits))) - all_orders
        return value * self.logits - of_successes - of_failures - norm

    def entropy(self) -> Any:
        """Return the entropy, summed over all counts. Raise NotImplementedError for different values of
        ``total_count``.
        """
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def _one_count(self, name: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return every count. Raise NotImplementedError for different values of ``total_count``."""
        return self._values(1 + self._one_count("enumerate_support"), self._param.dtype, expand)


class Geometric(BinaryTrials):
    """Geometric distribution: failures before the first success."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    has_enumerate_support = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._check_one(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        given = logits if probs is None else probs
        super().__init__(Size() if is_number(given) else given.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._check_positive()

    def _check_positive(self) -> None:
        valid = self.probs > 0
        if not valid.all():
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs.data[~valid]}"
            )

    @property
    def mean(self) -> Any:
        """``1 / probs - 1``"""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """0"""
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """``(1 / probs - 1) / probs``"""
        return (1.0 / self.probs - 1.0) / self.probs

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("probs", "logits"), _instance)

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples, from logarithms of uniform samples."""
        shape = self._extended_shape(sample_shape)
        tiny = torch.finfo(self.probs.dtype).tiny
        with torch.no_grad():
            u = self.probs.new(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=torch.contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """Return the entropy, by binary cross entropy."""
        cross = torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return cross / self.probs
