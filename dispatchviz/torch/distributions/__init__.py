"""``torch.distributions``: common distributions, their transforms and divergences.

NB: in PyTorch, there are also ``ContinuousBernoulli``, ``FisherSnedecor``, ``GeneralizedPareto``, ``Kumaraswamy``,
``LKJCholesky``, ``LowRankMultivariateNormal``, ``VonMises`` and ``Wishart``, and ``biject_to`` and ``transform_to``.
"""

from __future__ import annotations

from dispatchviz.torch.distributions import constraints as constraints
from dispatchviz.torch.distributions import kl_more as _kl_more  # noqa: F401  registers them
from dispatchviz.torch.distributions import kl_transformed as _kl_transformed  # noqa: F401  registers them too
from dispatchviz.torch.distributions import transforms as transforms
from dispatchviz.torch.distributions.bernoulli_categorical import Bernoulli as Bernoulli
from dispatchviz.torch.distributions.bernoulli_categorical import Categorical as Categorical
from dispatchviz.torch.distributions.dirichlet_beta import Beta as Beta
from dispatchviz.torch.distributions.dirichlet_beta import Dirichlet as Dirichlet
from dispatchviz.torch.distributions.distribution import Distribution as Distribution
from dispatchviz.torch.distributions.exponential_family import Chi2 as Chi2
from dispatchviz.torch.distributions.exponential_family import Exponential as Exponential
from dispatchviz.torch.distributions.exponential_family import ExponentialFamily as ExponentialFamily
from dispatchviz.torch.distributions.exponential_family import Gamma as Gamma
from dispatchviz.torch.distributions.gumbel_pareto_weibull import Gumbel as Gumbel
from dispatchviz.torch.distributions.gumbel_pareto_weibull import InverseGamma as InverseGamma
from dispatchviz.torch.distributions.gumbel_pareto_weibull import Pareto as Pareto
from dispatchviz.torch.distributions.gumbel_pareto_weibull import Weibull as Weibull
from dispatchviz.torch.distributions.independent_one_hot import Independent as Independent
from dispatchviz.torch.distributions.independent_one_hot import OneHotCategorical as OneHotCategorical
from dispatchviz.torch.distributions.independent_one_hot import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from dispatchviz.torch.distributions.kl import kl_divergence as kl_divergence
from dispatchviz.torch.distributions.kl import register_kl as register_kl
from dispatchviz.torch.distributions.laplace_cauchy_student_t import Cauchy as Cauchy
from dispatchviz.torch.distributions.laplace_cauchy_student_t import Laplace as Laplace
from dispatchviz.torch.distributions.laplace_cauchy_student_t import StudentT as StudentT
from dispatchviz.torch.distributions.mixture_multinomial import MixtureSameFamily as MixtureSameFamily
from dispatchviz.torch.distributions.mixture_multinomial import Multinomial as Multinomial
from dispatchviz.torch.distributions.mixture_multinomial import NegativeBinomial as NegativeBinomial
from dispatchviz.torch.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from dispatchviz.torch.distributions.normal_uniform import Normal as Normal
from dispatchviz.torch.distributions.normal_uniform import Uniform as Uniform
from dispatchviz.torch.distributions.poisson_binomial_geometric import Binomial as Binomial
from dispatchviz.torch.distributions.poisson_binomial_geometric import Geometric as Geometric
from dispatchviz.torch.distributions.poisson_binomial_geometric import Poisson as Poisson
from dispatchviz.torch.distributions.relaxed_bernoulli_categorical import RelaxedBernoulli as RelaxedBernoulli
from dispatchviz.torch.distributions.relaxed_bernoulli_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from dispatchviz.torch.distributions.transformed_distribution import HalfCauchy as HalfCauchy
from dispatchviz.torch.distributions.transformed_distribution import HalfNormal as HalfNormal
from dispatchviz.torch.distributions.transformed_distribution import LogisticNormal as LogisticNormal
from dispatchviz.torch.distributions.transformed_distribution import LogNormal as LogNormal
from dispatchviz.torch.distributions.transformed_distribution import TransformedDistribution as TransformedDistribution
from dispatchviz.torch.distributions.transforms import *  # noqa: F403

_MODULES: dict[type, str] = {
    Bernoulli: "bernoulli",
    Beta: "beta",
    Binomial: "binomial",
    Categorical: "categorical",
    Cauchy: "cauchy",
    Chi2: "chi2",
    Dirichlet: "dirichlet",
    Distribution: "distribution",
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
    Gumbel: "gumbel",
    InverseGamma: "inverse_gamma",
    Pareto: "pareto",
    Weibull: "weibull",
    MixtureSameFamily: "mixture_same_family",
    Multinomial: "multinomial",
    NegativeBinomial: "negative_binomial",
    RelaxedBernoulli: "relaxed_bernoulli",
    RelaxedOneHotCategorical: "relaxed_categorical",
    HalfCauchy: "half_cauchy",
    HalfNormal: "half_normal",
    LogisticNormal: "logistic_normal",
    LogNormal: "log_normal",
    TransformedDistribution: "transformed_distribution",
}
"""PyTorch's file of each class."""

__all__ = ["kl_divergence", "register_kl"]
__all__ += [_class.__name__ for _class in _MODULES]
__all__ += transforms.__all__

for _class, _name in _MODULES.items():
    _class.__module__ = f"torch.distributions.{_name}"

for _name in transforms.__all__:
    if _name != "identity_transform":
        getattr(transforms, _name).__module__ = "torch.distributions.transforms"
