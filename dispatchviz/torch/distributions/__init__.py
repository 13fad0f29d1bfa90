"""``torch.distributions``: normal, uniform, Bernoulli and categorical, and their divergences.

NB: in PyTorch, there are some forty more, transformed and independent ones among them.
"""

from __future__ import annotations

from typing import NoReturn

from dispatchviz.torch.distributions import constraints as constraints
from dispatchviz.torch.distributions.continuous import Normal as Normal
from dispatchviz.torch.distributions.continuous import Uniform as Uniform
from dispatchviz.torch.distributions.discrete import Bernoulli as Bernoulli
from dispatchviz.torch.distributions.discrete import Categorical as Categorical
from dispatchviz.torch.distributions.distribution import Distribution as Distribution
from dispatchviz.torch.distributions.kl import kl_divergence as kl_divergence
from dispatchviz.torch.distributions.kl import register_kl as register_kl

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence", "register_kl"]

for _class in (Bernoulli, Categorical, Normal, Uniform):
    _class.__module__ = f"torch.distributions.{_class.__name__.lower()}"


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.distributions' has no attribute '{name}'")
    raise AttributeError(f"torch.distributions.{name} is not in dispatchviz's model of PyTorch")
