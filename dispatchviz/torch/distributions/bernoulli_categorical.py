"""``Bernoulli`` and ``Categorical`` (``torch/distributions/bernoulli.py``, ``categorical.py``)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.distribution import (
    NONE,
    Distribution,
    broadcast_all,
    is_number,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from dispatchviz.torch.size import Size

__all__ = ["Bernoulli", "Categorical"]


class ProbsOrLogits(Distribution):
    """A distribution with ``probs`` or ``logits``; the other one is computed when it is read."""

    has_enumerate_support = True
    probs: Any
    logits: Any
    _param: Any

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._param.size()

    def _check_one(self, probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")

    def _values(self, count: int, dtype: Any, expand: bool) -> Any:
        values = torch.arange(count, dtype=dtype, device=self._param.device)
        values = values.view((-1, *(1 for _ in self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class BinaryTrials(ProbsOrLogits):
    """Binary trials with ``probs`` or ``logits``; the other one is computed when it is first read."""

    @lazy_property
    def logits(self) -> Any:
        """Logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities of success."""
        return logits_to_probs(self.logits, is_binary=True)


class Bernoulli(BinaryTrials):
    """Bernoulli distribution: 1 with probability ``probs``, else 0."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._check_one(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._param = self.probs if probs is not None else self.logits
        given = logits if probs is None else probs
        super().__init__(Size() if is_number(given) else self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``probs``"""
        return self.probs

    @property
    def mode(self) -> Any:
        """0 or 1; nan if both are equally likely."""
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    @property
    def variance(self) -> Any:
        """``probs * (1 - probs)``"""
        return self.probs * (1 - self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = self._expanded(batch_shape, ("probs", "logits"), _instance)
        new._param = new.__dict__["probs"] if "probs" in new.__dict__ else new.__dict__["logits"]
        return new

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples of ``torch.bernoulli``."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        """Return the entropy, by binary cross entropy."""
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return 0 and 1."""
        return self._values(2, self._param.dtype, expand)


class Categorical(ProbsOrLogits):
    """Categorical distribution: classes from 0, with probabilities along the last dimension."""

    arg_constraints: ClassVar[dict[str, Any]] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._check_one(probs, logits)
        name, given = ("probs", probs) if probs is not None else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._param = self.probs if probs is not None else self.logits
        self._num_events = self._param.size()[-1]
        batch_shape = self._param.size()[:-1] if self._param.ndimension() > 1 else Size()
        super().__init__(batch_shape, validate_args=validate_args)

    @lazy_property
    def logits(self) -> Any:
        """Logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits)

    @property
    def support(self) -> Any:
        """The numbers below the number of categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        """nan: categories have no mean."""
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Any:
        """The most likely category."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        """nan: categories have no variance."""
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        new = self._expanded(batch_shape, ("probs", "logits"), _instance, (self._num_events,))
        new._param = new.__dict__["probs"] if "probs" in new.__dict__ else new.__dict__["logits"]
        new._num_events = self._num_events
        return new

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples of ``torch.multinomial``."""
        shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        samples = torch.multinomial(rows, shape.numel(), True).T
        return samples.reshape(self._extended_shape(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        if self._validate_args:
            self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        value, log_pmf = torch.broadcast_tensors(value, self.logits)
        value = value[..., :1]
        return log_pmf.gather(-1, value).squeeze(-1)

    def entropy(self) -> Any:
        """Return the entropy of the probabilities."""
        least = torch.finfo(self.logits.dtype).min
        logits = torch.clamp(self.logits, min=least)
        products = logits * self.probs
        return -products.sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return every category."""
        return self._values(self._num_events, torch.long, expand)
