"""Divergences of transformed distributions (``torch/distributions/kl.py``)."""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.distributions.gumbel_pareto_weibull import EULER, Gumbel, Pareto
from dispatchviz.torch.distributions.kl import kl_divergence, register_kl
from dispatchviz.torch.distributions.normal_uniform import Normal, Uniform
from dispatchviz.torch.distributions.transformed_distribution import HalfNormal, TransformedDistribution


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: Any, q: Any) -> Any:
    """Return the divergence of the base distributions, if both have the same transforms."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _kl_half_normals(p: Any, q: Any) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Any, q: Any) -> Any:
    scales, own, other = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    first = -scales.log() - own + other
    second = scales * EULER
    third = torch.exp(own + (1 + scales).lgamma() - other)
    return first + second + third - (1 + EULER)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Any, q: Any) -> Any:
    scales, alphas = p.scale / q.scale, q.alpha / p.alpha
    first = q.alpha * scales.log()
    second = -alphas.log()
    result = first + second + alphas - 1
    result[p.support.lower_bound < q.support.lower_bound] = math.inf
    return result


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Any, q: Any) -> Any:
    means = p.loc / q.scale
    variances = (p.scale / q.scale).pow(2)
    ratio = q.loc / q.scale
    first = variances.log() * 0.5
    second = means - ratio
    third = torch.exp(-means + 0.5 * variances + ratio)
    return -first + second + third - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Any, q: Any) -> Any:
    common = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    first = common.log() + 0.5 * (high + low)
    second = common * (torch.exp(-high) - torch.exp(-low))
    return first - second
