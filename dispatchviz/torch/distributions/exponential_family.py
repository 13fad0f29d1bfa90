"""``ExponentialFamily`` (``torch/distributions/exp_family.py``) and its members on positive numbers: ``Exponential``,
``Gamma``, ``Chi2`` (files of their names).
"""

from __future__ import annotations

from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions import constraints
from dispatchviz.torch.distributions.distribution import NONE, Distribution, broadcast_all, is_number
from dispatchviz.torch.size import Size

__all__ = ["Chi2", "Exponential", "ExponentialFamily", "Gamma"]


class ExponentialFamily(Distribution):
    """Densities exp(t(x) . theta - F(theta) + k(x)), whose entropy follows from F by differentiation."""

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Any:
        """Return the entropy, from the gradient of the log normalizer."""
        result: Any = -self._mean_carrier_measure
        params = [param.detach().requires_grad_() for param in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
        result += normalizer
        for param, gradient in zip(params, gradients, strict=True):
            result -= (param * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result


class Exponential(ExponentialFamily):
    """Exponential distribution: waiting times of events that occur at ``rate``."""

    arg_constraints: ClassVar[dict[str, Any]] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(Size() if is_number(rate) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """1 / ``rate``"""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        """0"""
        return torch.zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        """1 / ``rate``"""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """``1 / rate ** 2``"""
        return self.rate.pow(-2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("rate",), _instance)

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Standard samples divided by ``rate``."""
        return self.rate.new(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        """Return the probability of at most this waiting time."""
        if self._validate_args:
            self._validate_sample(value)
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value: Any) -> Any:
        """Return the waiting time for a probability."""
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Any:
        """1 - log ``rate``"""
        return 1.0 - torch.log(self.rate)

    @property
    def _natural_params(self) -> Any:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        return -torch.log(-natural_params[0])


class Gamma(ExponentialFamily):
    """Gamma distribution with shape ``concentration`` and scale 1 / ``rate``."""

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        numbers = is_number(concentration) and is_number(rate)
        super().__init__(Size() if numbers else self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``concentration / rate``"""
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        """The most likely value, 0 for a concentration below 1."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        """``concentration / rate ** 2``"""
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        return self._expanded(batch_shape, ("concentration", "rate"), _instance)

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return standard samples divided by ``rate``, none of them 0."""
        shape = self._extended_shape(sample_shape)
        value = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        scaled = torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value)
        return scaled - self.rate * value - torch.lgamma(self.concentration)

    def entropy(self) -> Any:
        """Return the entropy, from the gamma function and its derivative."""
        start = self.concentration - torch.log(self.rate) + torch.lgamma(self.concentration)
        return start + (1.0 - self.concentration) * torch.digamma(self.concentration)

    def cdf(self, value: Any) -> Any:
        """Return the regularized incomplete gamma function."""
        if self._validate_args:
            self._validate_sample(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    @property
    def _natural_params(self) -> Any:
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())


class Chi2(Gamma):
    """Chi-squared distribution: sums of the squares of ``df`` standard normal variables."""

    arg_constraints: ClassVar[dict[str, Any]] = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self.concentration * 2
