"""``Distribution`` (``torch/distributions/distribution.py``) and helpers of all distributions (PyTorch's
``utils.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, ClassVar

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.size import Size

NONE = Size()
"""The shape of one sample, of one distribution, or of one number."""


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Return tensors of one shape. Raise ValueError for anything but tensors and numbers."""
    if not all(isinstance(value, (torch.Tensor, Number)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((value for value in values if isinstance(value, torch.Tensor)), None)
    options = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    given = [value if isinstance(value, torch.Tensor) else torch.tensor(value, **options) for value in values]
    return tuple(torch.broadcast_tensors(*given))


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Return the probabilities."""
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, dim=-1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Return the logarithms of probabilities, or of odds if binary."""
    eps = torch.finfo(probs.dtype).eps
    clamped = probs.clamp(min=eps, max=1 - eps)
    if is_binary:
        return torch.log(clamped) - torch.log1p(-clamped)
    return torch.log(clamped)


class lazy_property:
    """An attribute that is computed when it is first read."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class Distribution:
    """Base class: ``batch_shape`` independent distributions over events of ``event_shape``.

    Raise ValueError for parameters and values that do not fit, unless ``validate_args`` is False.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = True
    arg_constraints: ClassVar[Any]
    support: Any

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether all distributions validate their arguments. Raise ValueError for anything but a bool."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = NONE, event_shape: Any = NONE, validate_args: bool | None = None) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()

    def _check_arguments(self) -> None:
        for name, constraint in self.arg_constraints.items():
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue
            value = getattr(self, name)
            if not torch._is_all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Any:
        """The shape of the independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one event."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation: the root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = NONE) -> Any:
        """Return samples without a history."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = NONE) -> Any:
        """Return reparametrized samples, which are differentiable by the parameters."""
        raise NotImplementedError

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density or probability."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The cumulative distribution function."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse cumulative distribution function (quantile)."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return every value."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """Return e to the power of the entropy."""
        return torch.exp(self.entropy())

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the distribution expanded to a larger batch shape."""
        raise NotImplementedError

    def _expanded(self, batch_shape: Any, names: tuple[str, ...], instance: Any, event: tuple[int, ...] = ()) -> Any:
        new = type(self).__new__(type(self)) if instance is None else instance
        shape = Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(shape + Size(event)))
        Distribution.__init__(new, shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _extended_shape(self, sample_shape: Any = NONE) -> Any:
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        rank = len(value.size()) - len(self._event_shape)
        if value.size()[rank:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = Size(self._batch_shape + self._event_shape)
        for i, j in zip(reversed(value.size()), reversed(expected), strict=False):
            if i not in (1, j) and j != 1:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        support = self.support
        if not torch._is_all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        parameters = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in shown.items()]
        return f"{type(self).__name__}({', '.join(parameters)})"


def is_number(value: Any) -> bool:
    """Return whether the value is a Python number, not a tensor."""
    return isinstance(value, Number)
