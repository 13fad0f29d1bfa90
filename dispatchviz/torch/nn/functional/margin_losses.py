"""Losses of distributions and of distances."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn._reduction import enum_of, get_enum, legacy_get_enum
from dispatchviz.torch.overrides import overridable

_NAMES = ("none", "mean", "sum")

# -- distributions ----------------------------------------------------------------------------------------------------


@overridable
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Negative log likelihood of a Poisson distribution, for counts. Raise ValueError for an unknown reduction."""
    number = enum_of(reduction, size_average, reduce)
    return torch.poisson_nll_loss(input, target, log_input, full, eps, number)


@overridable
def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Gaussian negative log likelihood. Raise ValueError for negative variances and shapes that do not fit."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    var = _variances(input, var)
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return loss if reduction == "none" else getattr(loss, reduction)()


def _variances(input: Any, var: Any) -> Any:
    """Return the variances in a shape that broadcasts along at most one dimension."""
    if var.size() == input.size():
        return var
    if input.size()[:-1] == var.size():
        return torch.unsqueeze(var, -1)
    different = [own for size, own in zip(input.size(), var.size(), strict=False) if size != own]
    if input.ndim == var.ndim and sum(different) == 1:
        return var
    raise ValueError("var is of incorrect size")


@overridable
def kl_div(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """Return the Kullback-Leibler divergence. Warn that its mean is over all elements."""
    if size_average is not None or reduce is not None:
        number = legacy_get_enum(size_average, reduce)
    else:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                stacklevel=3,
            )
        number = get_enum("sum" if reduction == "batchmean" else reduction)
    reduced = torch.kl_div(input, target, number, log_target=log_target)
    return reduced / input.size()[0] if reduction == "batchmean" and input.dim() != 0 else reduced


@overridable
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Connectionist temporal classification, for sequences of unknown alignment."""
    lengths = (input_lengths, target_lengths)
    return torch.ctc_loss(log_probs, targets, *lengths, blank, get_enum(reduction), zero_infinity)


# -- distances --------------------------------------------------------------------------------------------------------


@overridable
def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The amount by which the input that should rank higher is below the other. Raise RuntimeError for different
    dimensions.
    """
    number = enum_of(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


@overridable
def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Hinge embedding loss: x, or the amount by which x is below the margin."""
    return torch.hinge_embedding_loss(input, target, margin, enum_of(reduction, size_average, reduce))


@overridable
def soft_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """log(1 + exp(-y x))."""
    return torch._C._nn.soft_margin_loss(input, target, enum_of(reduction, size_average, reduce))


@overridable
def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """1 - cosine, or the amount by which the cosine is above the margin."""
    return torch.cosine_embedding_loss(input1, input2, target, margin, enum_of(reduction, size_average, reduce))


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


@overridable
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Penalize a positive that is not a margin nearer to the anchor than the negative. Raise ValueError unless the
    margin is positive.
    """
    number = enum_of(reduction, size_average, reduce)
    _check_margin(margin)
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


@overridable
def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """``triplet_margin_loss`` with any distance. Raise ValueError for a bad reduction or margin, RuntimeError for
    different dimensions.
    """
    if reduction not in _NAMES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _check_margin(margin)
    counts = (anchor.ndim, positive.ndim, negative.ndim)
    if len(set(counts)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            "anchor {}D, positive {}D, and negative {}D inputs".format(*counts)
        )
    distance = torch.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    loss = torch.clamp_min(margin + near - far, 0)
    return loss if reduction == "none" else getattr(torch, reduction)(loss)
