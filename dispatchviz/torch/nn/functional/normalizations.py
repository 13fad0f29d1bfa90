"""Normalization. PyTorch checks whether cuDNN may be used. The model has no cuDNN, but passes the same value on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.functional.pad_fold_grid_sample import pad
from dispatchviz.torch.nn.functional.pooling import avg_pool2d, avg_pool3d
from dispatchviz.torch.overrides import overridable

_CUDNN_ENABLED = True
"""The value of ``torch.backends.cudnn.enabled``."""


def _verify_batch_size(size: Sequence[int]) -> None:
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: Sequence[int]) -> None:
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


@overridable
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalize each channel over the batch; in training, update the running statistics. Raise ValueError for one value
    or a bad eps.
    """
    if training:
        _verify_batch_size(input.size())
    if training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    statistics = (running_mean, running_var)
    return torch.batch_norm(input, weight, bias, *statistics, training, momentum, eps, _CUDNN_ENABLED)


@overridable
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalize each channel of each sample. Raise ValueError for one value."""
    if use_input_stats:
        _verify_spatial_size(input.size())
    statistics = (running_mean, running_var)
    return torch.instance_norm(input, weight, bias, *statistics, use_input_stats, momentum, eps, _CUDNN_ENABLED)


@overridable
def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Normalize over the last dimensions."""
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, _CUDNN_ENABLED)


@overridable
def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """Divide by the root of the mean square over the last dimensions."""
    return torch.rms_norm(input, normalized_shape, weight, eps)


@overridable
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalize over groups of channels. Raise RuntimeError for an input without channels, ValueError for one value."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups, *input.size()[2:]])
    return torch.group_norm(input, num_groups, weight, bias, eps, _CUDNN_ENABLED)


@overridable
def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Divide by the neighboring channels' squares. Raise ValueError for fewer than three dimensions."""
    count = input.dim()
    if count < 3:
        raise ValueError(f"Expected 3D or higher dimensionality {'':25}input (got {count} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    around = (size // 2, (size - 1) // 2)
    if count == 3:
        squares = pad(squares.unsqueeze(1), (0, 0, *around))
        squares = avg_pool2d(squares, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        squares = pad(squares.view(sizes[0], 1, sizes[1], sizes[2], -1), (0, 0, 0, 0, *around))
        squares = avg_pool3d(squares, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / squares.mul(alpha).add(k).pow(beta)


@overridable
def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """Divide by the p-norm along ``dim``."""
    norm = input.norm(p, dim, keepdim=True)
    if out is None:
        return input / norm.clamp_min(eps).expand_as(input)
    return torch.div(input, norm.clamp_min_(eps).expand_as(input), out=out)
