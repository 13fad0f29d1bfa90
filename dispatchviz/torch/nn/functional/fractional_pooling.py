"""Fractional max pooling. The number of windows is chosen instead of their stride; their positions are random."""

from __future__ import annotations

from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.overrides import overridable


def _pool(dims: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, random_samples: Any) -> Any:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if dims == 2 and len(output_ratio) > 2:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        ratios = ntuple(output_ratio, dims)
        output_size = [int(input.size(d - dims) * ratios[d]) for d in range(dims)]
    if random_samples is None:
        count = 1 if input.dim() == dims + 1 else input.size(0)
        size = (count, input.size(-dims - 1), dims)
        random_samples = torch.rand(*size, dtype=input.dtype, device=input.device)
    return getattr(torch._C._nn, name)(input, kernel_size, output_size, random_samples)


@overridable
def fractional_max_pool2d_with_indices(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Return the maximum of each window of an image, and its index. Raise ValueError without a size and a ratio."""
    return _pool(2, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool3d_with_indices(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Return the maximum of each window of a volume, and its index. Raise ValueError without a size and a ratio."""
    return _pool(3, input, kernel_size, output_size, output_ratio, _random_samples)


@overridable
def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Return the maximum of each window of an image; with ``return_indices`` also its index."""
    args = (input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
    found = fractional_max_pool2d_with_indices(*args)
    return found if return_indices else found[0]


@overridable
def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Return the maximum of each window of a volume; with ``return_indices`` also its index."""
    args = (input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
    found = fractional_max_pool3d_with_indices(*args)
    return found if return_indices else found[0]
