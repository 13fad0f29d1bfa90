"""More Kullback-Leibler divergences (``torch/distributions/kl.py``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions.dirichlet_beta import Beta, Dirichlet
from dispatchviz.torch.distributions.exponential_family import Exponential, Gamma
from dispatchviz.torch.distributions.independent_one_hot import Independent, OneHotCategorical, sum_rightmost
from dispatchviz.torch.distributions.kl import kl_divergence, register_kl
from dispatchviz.torch.distributions.laplace_cauchy_student_t import Cauchy, Laplace
from dispatchviz.torch.distributions.multivariate_normal import (
    MultivariateNormal,
    half_log_determinant,
    mahalanobis,
)
from dispatchviz.torch.distributions.poisson_binomial_geometric import Binomial, Geometric, Poisson


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    above = q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
    below = p.concentration1.lgamma() + p.concentration0.lgamma() + total_q.lgamma()
    first = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    second = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    totals = (total_q - total_p) * torch.digamma(total_p)
    return above - below + first + second + totals


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    totals = total_p.lgamma() - total_q.lgamma()
    norms = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    apart = p.concentration - q.concentration
    slopes = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return totals - norms + (apart * slopes).sum(-1)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    more = p.total_count > q.total_count
    kl[more] = torch.full_like(kl[more], math.inf)
    return kl


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Any, q: Any) -> Any:
    apart = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return apart - (4 * p.scale * q.scale).log()


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Any, q: Any) -> Any:
    rates = q.concentration * (p.rate / q.rate).log()
    norms = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    shapes = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    means = (q.rate - p.rate) * (p.concentration / p.rate)
    return rates + norms + shapes + means


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    narrower, apart = -ratio.log(), distance / q.scale
    between = ratio * torch.exp(-distance / p.scale)
    return narrower + apart + between - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        spaces = " " * 26
        raise ValueError(
            f"KL-divergence between two Multivariate Normals with{spaces}different event shapes cannot be computed"
        )
    half_term = half_log_determinant(q) - half_log_determinant(p)
    theirs, ours = q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril
    n, shape = p.event_shape[0], torch.broadcast_shapes(theirs.shape[:-2], ours.shape[:-2])
    solved = torch.linalg.solve_triangular(theirs.expand((*shape, n, n)), ours.expand((*shape, n, n)), upper=False)
    trace = solved.reshape(-1, n * n).pow(2).sum(-1).reshape(solved.shape[:-2])
    distance = mahalanobis(theirs, (q.loc - p.loc))
    return half_term + 0.5 * (trace + distance - n)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: Any, q: Any) -> Any:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)
