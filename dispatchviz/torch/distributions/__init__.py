"""``torch.distributions``: the usual ones, and their divergences.

NB: in PyTorch, there are some twenty more, transformed ones among them.
"""

from __future__ import annotations

from typing import NoReturn

from dispatchviz.torch.distributions import constraints as constraints
from dispatchviz.torch.distributions import kl_more as _kl_more  # noqa: F401  registers them
from dispatchviz.torch.distributions.continuous import Normal as Normal
from dispatchviz.torch.distributions.continuous import Uniform as Uniform
from dispatchviz.torch.distributions.counts import Binomial as Binomial
from dispatchviz.torch.distributions.counts import Geometric as Geometric
from dispatchviz.torch.distributions.counts import Poisson as Poisson
from dispatchviz.torch.distributions.discrete import Bernoulli as Bernoulli
from dispatchviz.torch.distributions.discrete import Categorical as Categorical
from dispatchviz.torch.distributions.distribution import Distribution as Distribution
from dispatchviz.torch.distributions.events import Independent as Independent
from dispatchviz.torch.distributions.events import OneHotCategorical as OneHotCategorical
from dispatchviz.torch.distributions.events import OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough
from dispatchviz.torch.distributions.exponential_family import Chi2 as Chi2
from dispatchviz.torch.distributions.exponential_family import Exponential as Exponential
from dispatchviz.torch.distributions.exponential_family import ExponentialFamily as ExponentialFamily
from dispatchviz.torch.distributions.exponential_family import Gamma as Gamma
from dispatchviz.torch.distributions.kl import kl_divergence as kl_divergence
from dispatchviz.torch.distributions.kl import register_kl as register_kl
from dispatchviz.torch.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from dispatchviz.torch.distributions.shares import Beta as Beta
from dispatchviz.torch.distributions.shares import Dirichlet as Dirichlet
from dispatchviz.torch.distributions.symmetric import Cauchy as Cauchy
from dispatchviz.torch.distributions.symmetric import Laplace as Laplace
from dispatchviz.torch.distributions.symmetric import StudentT as StudentT

_MODULES: dict[type, str] = {
    Bernoulli: "bernoulli",
    Beta: "beta",
    Binomial: "binomial",
    Categorical: "categorical",
    Cauchy: "cauchy",
    Chi2: "chi2",
    Dirichlet: "dirichlet",
    Exponential: "exponential",
    ExponentialFamily: "exp_family",
    Gamma: "gamma",
    Geometric: "geometric",
    Independent: "independent",
    Laplace: "laplace",
    MultivariateNormal: "multivariate_normal",
    Normal: "normal",
    OneHotCategorical: "one_hot_categorical",
    OneHotCategoricalStraightThrough: "one_hot_categorical",
    Poisson: "poisson",
    StudentT: "studentT",
    Uniform: "uniform",
}
"""PyTorch's file of each class."""

__all__ = ["Distribution", "kl_divergence", "register_kl"]
__all__ += [_class.__name__ for _class in _MODULES]

for _class, _name in _MODULES.items():
    _class.__module__ = f"torch.distributions.{_name}"


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.distributions' has no attribute '{name}'")
    raise AttributeError(f"torch.distributions.{name} is not in dispatchviz's model of PyTorch")
