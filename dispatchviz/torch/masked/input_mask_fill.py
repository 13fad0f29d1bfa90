"""Masks in the input's shape, and the fill values of masked-out elements (``torch/masked/_ops.py``).

A mask is True for elements that take part, and broadcasts to the input.
"""

from __future__ import annotations

import math
from typing import Any

from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch

Dims = int | tuple[int, ...] | None

_SMALL = ("uint8", "bool", "int8", "int16", "int32")
"""Dtypes that are summed and multiplied as int64."""


def dtype_of_sum(input: Any, dtype: DType | None) -> DType:
    """Return the requested dtype, or that of the input; small integers are summed as int64."""
    chosen: DType = dtype or input.dtype
    return torch.int64 if dtype is None and chosen.name in _SMALL else chosen


def canonical_dim(dim: Dims, ndim: int) -> tuple[int, ...]:
    """Return the dimensions in order, all of them for None and (). Raise RuntimeError for a repeated one, IndexError
    for an invalid one.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    dims: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        dims.append(d % ndim)
    return tuple(sorted(dims))


def input_mask(input: Any, mask: Any) -> Any:
    """Return the mask in the shape of the input. Raise IndexError for a mask with more dimensions."""
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = torch.broadcast_to(mask.clone(), input.shape).to(dtype=torch.bool)
    return mask.to(dtype=torch.bool)


def filled(op: str, input: Any, mask: Tensor | None, *args: Any) -> Any:
    """Return the input with masked-out elements replaced by the operation's identity."""
    if mask is None:
        return input
    mask = input_mask(input, mask)
    return torch.where(mask, input, _identity(op, input, *args))


def _identity(op: str, input: Any, *args: Any) -> Any:
    """Return the identity as a tensor of no dimensions. Raise NotImplementedError if an operation has none for a
    dtype.
    """
    dtype: DType = input.dtype
    if op == "norm" and args and args[0] == -math.inf and not dtype.is_floating_point:
        raise AssertionError(f"input must be floating point, got {dtype}")
    value = _identity_number(op, dtype, *args)
    if value is None:
        raise NotImplementedError(f"identity of {op} on {dtype} input")
    if op == "median" and not dtype.is_floating_point:
        dtype = torch.float
    return torch.tensor(value, dtype=dtype, device=input.device)


def _identity_number(op: str, dtype: DType, *args: Any) -> int | float | complex | None:
    match op:
        case "sum" | "cumsum":
            return 0
        case "prod" | "cumprod":
            return 1
        case "amax" | "argmax" | "logaddexp" | "logsumexp":
            return -math.inf + 0j if op == "logsumexp" and dtype.is_complex else _least(dtype)
        case "amin" | "argmin":
            return _greatest(dtype)
        case "norm":
            return math.inf if args and args[0] == -math.inf else 0
        case _:
            return math.nan


def _least(dtype: DType) -> int | float | None:
    if dtype.is_floating_point:
        return -math.inf
    return torch.iinfo(dtype).min if _has_range(dtype) else None


def _greatest(dtype: DType) -> int | float | None:
    if dtype.is_floating_point:
        return math.inf
    return torch.iinfo(dtype).max if _has_range(dtype) else None


def _has_range(dtype: DType) -> bool:
    return (dtype.is_signed or dtype is torch.uint8) and not dtype.is_complex
