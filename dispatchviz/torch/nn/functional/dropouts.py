"""Dropout of elements and of whole channels."""

from __future__ import annotations

import warnings
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import overridable


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@overridable
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero elements with probability p and scale the others. Raise ValueError for p outside [0, 1]."""
    _check(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


@overridable
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Drop elements and keep mean and variance."""
    _check(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


@overridable
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Drop whole channels and keep mean and variance."""
    _check(p)
    function = torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout
    return function(input, p, training)


def _channels(input: Any, p: float, training: bool, inplace: bool, without_batch: int | None) -> Any:
    """Apply feature dropout. An input with ``without_batch`` dimensions has no batch, so it gets one."""
    alone = input.dim() == without_batch
    if alone:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    function = torch.feature_dropout_ if inplace else torch.feature_dropout
    result = function(input, p, training)
    if alone:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result


@overridable
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero channels of (N, C, L) or (C, L). Raise RuntimeError for other inputs."""
    _check(p)
    count = input.dim()
    if count not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {count}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension (i.e. 2D or 3D inputs)."
        )
    return _channels(input, p, training, inplace, 2)


def _deprecated(name: str, count: int, spatial: int, sizes: str) -> str:
    return (
        f"{name}: Received a {count}-D input to {name}, which is deprecated and will result in an error in a future "
        f"release. To retain the behavior and silence this warning, please use dropout instead. Note that {name} "
        f"exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel dimension, and "
        f"an optional batch dimension (i.e. {sizes} inputs)."
    )


@overridable
def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero channels of (N, C, H, W) or (N, C, L). Warn of other inputs."""
    _check(p)
    count = input.dim()
    if count not in (3, 4):
        warnings.warn(_deprecated("dropout2d", count, 2, "3D or 4D"), stacklevel=3)
    if count == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=3,
        )
    return _channels(input, p, training, inplace, None)


@overridable
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero channels of (N, C, D, H, W) or (C, D, H, W). Warn of other inputs."""
    _check(p)
    count = input.dim()
    if count not in (4, 5):
        warnings.warn(_deprecated("dropout3d", count, 3, "4D or 5D"), stacklevel=3)
    return _channels(input, p, training, inplace, None if count == 5 else count)
