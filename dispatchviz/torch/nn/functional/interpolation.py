"""Resizing of images."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.functional.pooling import adaptive_avg_pool2d, adaptive_avg_pool3d
from dispatchviz.torch.overrides import overridable

_WITHOUT_CORNERS = ("nearest", "area", "nearest-exact")
_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
"""The modes that take ``align_corners``, with the rank of their input."""


def _one_each(input: Any, given: Any, names: tuple[str, str, str, str]) -> Any:
    """Return a list with one entry per spatial dimension. Raise ValueError for another number of entries."""
    count = input.dim() - 2
    if not isinstance(given, (list, tuple)):
        return [given for _ in range(count)]
    if len(given) != count:
        argument, found, form, letters = names
        raise ValueError(
            f"Input and {argument} must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and {found} {given}. Please provide input tensor in (N, C, d1, d2, "
            f"...,dK) format and {form} in {letters} format."
        )
    return given


def _sizes(input: Any, size: Any) -> Any:
    """Return the size. Raise TypeError for anything but ints."""
    found = _one_each(input, size, ("output", "output size of", "output size", "(o1, o2, ...,oK)"))
    if isinstance(size, (list, tuple)) and not all(map(_is_whole, size)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
            f"with types {[type(length) for length in size]}"
        )
    return found


def _is_whole(length: Any) -> bool:
    if isinstance(length, Tensor):
        return not length._dtype.is_floating_point
    return isinstance(length, (int, numpy.integer))


def _sizes_and_factors(input: Any, size: Any, scale_factor: Any, recompute: bool) -> tuple[Any, Any]:
    """Return the sizes and the factors, one of which is None. Raise ValueError if both are given, or neither."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        sizes = _sizes(input, size)
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return sizes, None
    names = ("scale_factor", "scale_factor of shape", "scale_factor", "(s1, s2, ...,sK)")
    factors = _one_each(input, scale_factor, names)
    return None, factors


@overridable
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Resize sequences, images or volumes, to a size or by a factor.

    Raise ValueError, TypeError or NotImplementedError for arguments that do not go together.
    """
    if mode in _WITHOUT_CORNERS and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes, factors = _sizes_and_factors(input, size, scale_factor, bool(recompute_scale_factor))
    if factors is not None and (recompute_scale_factor or mode == "area"):
        sizes = [int(length * factor) for length, factor in zip(input.shape[2:], factors, strict=True)]
        factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    return _resized(input, sizes, factors, mode, bool(align_corners), antialias)


def _resized(input: Any, sizes: Any, factors: Any, mode: str, align_corners: bool, antialias: bool) -> Any:
    rank, nn = input.dim(), torch._C._nn
    if mode in _WITHOUT_CORNERS and rank in (3, 4, 5):
        if mode == "area":
            pool = {3: torch.adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}[rank]
            return pool(input, sizes)
        name = "upsample_nearest" if mode == "nearest" else "_upsample_nearest_exact"
        return getattr(nn, f"{name}{rank - 2}d")(input, sizes, factors)
    if _RANKS.get(mode) == rank:
        name = f"upsample_{mode}{rank - 2}d"
        function = getattr(nn, f"_{name}_aa" if antialias else name)
        return function(input, sizes, align_corners, factors)
    if mode == "lanczos" and rank == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        return nn._upsample_lanczos2d_aa(input, sizes, align_corners, factors)
    if mode in ("linear", "bilinear", "trilinear") and rank in (3, 4, 5):
        raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {_RANKS[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: nearest | linear | "
        f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """Run ``interpolate``, with a deprecation warning."""
    _warn("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Run ``interpolate`` with the nearest element, with a deprecation warning."""
    _warn("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Run bilinear ``interpolate`` with aligned corners, with a deprecation warning."""
    _warn("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
