"""Losses: checks, the reduction as a number, then one operator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn._reduction import enum_of, get_enum, legacy_get_string
from dispatchviz.torch.overrides import overridable

# -- differences ------------------------------------------------------------------------------------------------------


def _same_shape(input: Any, target: Any) -> Any:
    """Return both inputs broadcast to one shape. Warn if their shapes differ."""
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )
    return torch.broadcast_tensors(input, target)


def _check_weight(weight: Any, input: Any) -> None:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def _reduced(values: Any, reduction: str, mean: Callable[[], Any]) -> Any:
    if reduction == "none":
        return values
    if reduction == "sum":
        return torch.sum(values)
    if reduction == "mean":
        return mean()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def _weighted(errors: Any, weight: Any, reduction: str) -> Any:
    values = errors * weight
    return _reduced(values, reduction, lambda: torch.sum(values) / torch.sum(weight))


def _name(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    old = size_average is not None or reduce is not None
    return legacy_get_string(size_average, reduce) if old else reduction


@overridable
def l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """|input - target|. Raise ValueError for a weight of another shape."""
    expanded_input, expanded_target = _same_shape(input, target)
    reduction = _name(reduction, size_average, reduce)
    if weight is None:
        return torch._C._nn.l1_loss(expanded_input, expanded_target, get_enum(reduction))
    _check_weight(weight, input)
    return _weighted(torch.abs(expanded_input - expanded_target), weight, reduction)


@overridable
def mse_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """(input - target)². Raise ValueError for a weight of another shape."""
    expanded_input, expanded_target = _same_shape(input, target)
    reduction = _name(reduction, size_average, reduce)
    if weight is None:
        return torch._C._nn.mse_loss(expanded_input, expanded_target, get_enum(reduction))
    _check_weight(weight, input)
    return _weighted(torch.pow(expanded_input - expanded_target, 2), weight, reduction)


@overridable
def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """A loss that is quadratic near 0 and linear from beta on."""
    expanded_input, expanded_target = _same_shape(input, target)
    number = get_enum(_name(reduction, size_average, reduce))
    if beta == 0.0:
        return torch._C._nn.l1_loss(expanded_input, expanded_target, number)
    return torch._C._nn.smooth_l1_loss(expanded_input, expanded_target, number, beta)


@overridable
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """delta times the smooth loss with beta = delta. Raise ValueError for a weight of another shape."""
    expanded_input, expanded_target = _same_shape(input, target)
    if weight is None:
        return torch._C._nn.huber_loss(expanded_input, expanded_target, get_enum(reduction), delta)
    _check_weight(weight, input)
    values = torch._C._nn.huber_loss(expanded_input, expanded_target, get_enum("none"), delta) * weight
    return _reduced(values, reduction, values.mean)


# -- classes ----------------------------------------------------------------------------------------------------------


@overridable
def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log probability of the target class."""
    number = get_enum(_name(reduction, size_average, reduce))
    return torch._C._nn.nll_loss_nd(input, target, weight, number, ignore_index)


@overridable
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """``nll_loss`` of the log softmax; the target may also be probabilities."""
    number = get_enum(_name(reduction, size_average, reduce))
    return torch._C._nn.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


@overridable
def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Binary cross entropy of the probability of class 1. Raise ValueError for different shapes."""
    number = enum_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return torch._C._nn.binary_cross_entropy(input, target, weight, number)


@overridable
def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """Binary cross entropy of the sigmoid. Raise ValueError for different shapes."""
    number = enum_of(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


@overridable
def multilabel_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Penalize every wrong class that is not 1 below every right one."""
    return torch._C._nn.multilabel_margin_loss(input, target, enum_of(reduction, size_average, reduce))


@overridable
def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The binary cross entropy, averaged over the classes. Raise ValueError for an unknown reduction."""
    reduction = _name(reduction, size_average, reduce)
    log_sigmoid = torch._C._nn.log_sigmoid
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    dim = input.dim() - 1
    loss = loss.sum(dim=dim) / input.size(dim)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return loss if reduction == "none" else getattr(loss, reduction)()


@overridable
def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Penalize every wrong class that is not a margin below the right one. Raise ValueError for p other than 1 and
    2.
    """
    number = enum_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return torch._C._nn.multi_margin_loss(input, target, p, margin, weight, number)
