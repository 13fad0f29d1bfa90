"""Distributions of whole vectors: ``Independent``, ``OneHotCategorical``, ``OneHotCategoricalStraightThrough``
(``torch/distributions/independent.py``, ``one_hot_categorical.py``).
"""

from __future__ import annotations

from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.bernoulli_categorical import Categorical
from dispatchviz.torch.distributions.distribution import NONE, Distribution
from dispatchviz.torch.size import Size

__all__ = ["Independent", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


def sum_rightmost(value: Any, dim: int) -> Any:
    """Sum over the last dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


class Independent(Distribution):
    """The last batch dimensions of a distribution as one event."""

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        rank = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > rank:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {rank}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = rank - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(Size(shape[:cut]), Size(shape[cut:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        shape = Size(batch_shape)
        new = type(self).__new__(type(self)) if _instance is None else _instance
        new.base_dist = self.base_dist.expand(Size(shape + self.event_shape[: self.reinterpreted_batch_ndims]))
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """True if the base distribution has it."""
        return bool(self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """True if the base distribution has it and no dimensions are combined."""
        return self.reinterpreted_batch_ndims <= 0 and bool(self.base_dist.has_enumerate_support)

    @property
    def support(self) -> Any:
        """The support of the base distribution, for whole events."""
        support = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(support, count) if count else support

    @property
    def mean(self) -> Any:
        """The mean of the base distribution."""
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        """The mode of the base distribution."""
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        """The variance of the base distribution."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples of the base distribution."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return reparametrized samples of the base distribution."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the probability, summed over an event."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """Return the entropy, summed over an event."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return the values of the base distribution. Raise NotImplementedError if dimensions are combined."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class OneHotCategorical(Distribution):
    """One-hot categorical distribution: rows of zeros with a single 1."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, Size(shape[-1:]), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = type(self).__new__(type(self)) if _instance is None else _instance
        new._categorical = self._categorical.expand(Size(batch_shape))
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Any:
        """``probs``"""
        return self._categorical.probs

    @property
    def mode(self) -> Any:
        """The most likely category."""
        probs = self._categorical.probs
        return torch.nn.functional.one_hot(probs.argmax(dim=-1), num_classes=probs.shape[-1]).to(probs)

    @property
    def variance(self) -> Any:
        """``probs * (1 - probs)``"""
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return categorical samples as one-hot rows."""
        probs = self._categorical.probs
        indices = self._categorical.sample(Size(sample_shape))
        return torch.nn.functional.one_hot(indices, self._categorical._num_events).to(probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Any:
        """Return the entropy of the categories."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return every row."""
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *(1 for _ in self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples with the straight-through gradient estimator."""

    has_rsample = True

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return a sample plus ``probs`` minus their detached values."""
        samples = self.sample(sample_shape)
        probs = self._categorical.probs
        return samples + (probs - probs.detach())
