"""``pad``, ``fold`` and ``unfold``, ``grid_sample`` and ``affine_grid``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn._ntuple import ntuple
from dispatchviz.torch.overrides import overridable


@overridable
def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """Pad an input, the last dimension first."""
    return torch._C._nn.pad(input, pad, mode, value)


@overridable
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Return every window of an image as a column."""
    sizes = [ntuple(size, 2) for size in (kernel_size, dilation, padding, stride)]
    return torch._C._nn.im2col(input, *sizes)


@overridable
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Sum columns into an image."""
    sizes = [ntuple(size, 2) for size in (output_size, kernel_size, dilation, padding, stride)]
    return torch._C._nn.col2im(input, *sizes)


# -- grids -------------------------------------------------------------------------------------------------------------

_MODES = ("bilinear", "nearest", "bicubic")
_PADDING_MODES = ("zeros", "border", "reflection")


@overridable
def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """Return an input's values at the points of a grid. Raise ValueError for unknown modes."""
    if mode not in _MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    numbers = (_MODES.index(mode), _PADDING_MODES.index(padding_mode))
    return torch.grid_sampler(input, grid, *numbers, _corners(align_corners))


def _corners(align_corners: bool | None) -> bool:
    """Return ``align_corners``; for None, warn and return False."""
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=4,
        )
        return False
    return align_corners


@overridable
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """Return a grid for ``grid_sample`` from affine maps. Raise ValueError for maps and sizes that do not fit."""
    align_corners = _corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    dims = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=3,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners)
