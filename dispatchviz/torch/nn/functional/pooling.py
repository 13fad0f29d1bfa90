"""Pooling. ``return_indices`` chooses another operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn._ntuple import list_with_default, ntuple
from dispatchviz.torch.nn.functional.activations import relu
from dispatchviz.torch.overrides import overridable


def _max_pool(name: str, with_indices: Callable[[], Any], without: Callable[[], Any]) -> Callable[..., Any]:
    def max_pool(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        """The maximum of each window; with ``return_indices`` also its index."""
        function = (with_indices if return_indices else without)()
        return function(input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = name
    return overridable(max_pool)


max_pool1d = _max_pool("max_pool1d", lambda: torch.max_pool1d_with_indices, lambda: torch.max_pool1d)
max_pool2d = _max_pool("max_pool2d", lambda: torch._C._nn.max_pool2d_with_indices, lambda: torch.max_pool2d)
max_pool3d = _max_pool("max_pool3d", lambda: torch._C._nn.max_pool3d_with_indices, lambda: torch.max_pool3d)


def max_pool1d_with_indices(*args: Any, **kwargs: Any) -> Any:
    """``max_pool1d`` with ``return_indices``."""
    return max_pool1d(*args, **{**kwargs, "return_indices": True})


def max_pool2d_with_indices(*args: Any, **kwargs: Any) -> Any:
    """``max_pool2d`` with ``return_indices``."""
    return max_pool2d(*args, **{**kwargs, "return_indices": True})


def max_pool3d_with_indices(*args: Any, **kwargs: Any) -> Any:
    """``max_pool3d`` with ``return_indices``."""
    return max_pool3d(*args, **{**kwargs, "return_indices": True})


def avg_pool1d(*args: Any, **kwargs: Any) -> Any:
    """The mean of each window of a sequence."""
    return torch.avg_pool1d(*args, **kwargs)


def avg_pool2d(*args: Any, **kwargs: Any) -> Any:
    """The mean of each window of an image."""
    return torch._C._nn.avg_pool2d(*args, **kwargs)


def avg_pool3d(*args: Any, **kwargs: Any) -> Any:
    """The mean of each window of a volume."""
    return torch._C._nn.avg_pool3d(*args, **kwargs)


def adaptive_avg_pool1d(*args: Any, **kwargs: Any) -> Any:
    """The means of a given number of windows."""
    return torch.adaptive_avg_pool1d(*args, **kwargs)


@overridable
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The means of a given number of windows of an image; None keeps a size."""
    return torch._C._nn.adaptive_avg_pool2d(input, list_with_default(output_size, input.size()))


@overridable
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The means of a given number of windows of a volume; None keeps a size."""
    return torch._C._nn.adaptive_avg_pool3d(input, list_with_default(output_size, input.size()))


@overridable
def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of a given number of windows."""
    found = torch.adaptive_max_pool1d(input, output_size)
    return found if return_indices else found[0]


@overridable
def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of a given number of windows of an image; None keeps a size."""
    found = torch._C._nn.adaptive_max_pool2d(input, list_with_default(output_size, input.size()))
    return found if return_indices else found[0]


@overridable
def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of a given number of windows of a volume; None keeps a size."""
    found = torch._C._nn.adaptive_max_pool3d(input, list_with_default(output_size, input.size()))
    return found if return_indices else found[0]


def adaptive_max_pool1d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """``adaptive_max_pool1d`` with ``return_indices``."""
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """``adaptive_max_pool2d`` with ``return_indices``."""
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """``adaptive_max_pool3d`` with ``return_indices``."""
    return adaptive_max_pool3d(input, output_size, True)


# -- p-norms ----------------------------------------------------------------------------------------------------------


def _lp_pool(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool, dims: int, mean: Any, largest: Any
) -> Any:
    if isinstance(norm_type, (int, float)) and norm_type == 0:
        raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")
    if isinstance(norm_type, (int, float)) and math.isinf(norm_type):
        window = (kernel_size, stride, 0, 1, ceil_mode)
        return largest(input.abs(), *window) if norm_type > 0 else -largest(-input.abs(), *window)
    powers = input.pow(norm_type)
    if stride is not None:
        out = mean(powers, kernel_size, stride, 0, ceil_mode)
    else:
        out = mean(powers, kernel_size, padding=0, ceil_mode=ceil_mode)
    count = math.prod(ntuple(kernel_size, dims)) if dims > 1 else kernel_size
    return (torch.sign(out) * relu(torch.abs(out))).mul(count).pow(1.0 / norm_type)


@overridable
def lp_pool1d(input: Any, norm_type: Any, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of a sequence."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1, avg_pool1d, max_pool1d)


@overridable
def lp_pool2d(input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of an image."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2, avg_pool2d, max_pool2d)


@overridable
def lp_pool3d(input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm of each window of a volume."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3, avg_pool3d, max_pool3d)
