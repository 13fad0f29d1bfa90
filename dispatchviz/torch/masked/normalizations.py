"""Functions under a mask that keep the shape (``torch/masked/_ops.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.masked.input_mask_fill import canonical_dim, filled
from dispatchviz.torch.masked.reductions import norm


def cumsum(input: Any, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    """Cumulative sums under a mask."""
    dtype, d = dtype or input.dtype, canonical_dim(dim, input.ndim)[0]
    return torch.cumsum(filled("sum", input, mask), d, dtype=dtype).to(dtype=dtype)


def cumprod(input: Any, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    """Cumulative products under a mask."""
    dtype, d = dtype or input.dtype, canonical_dim(dim, input.ndim)[0]
    return torch.cumprod(filled("prod", input, mask), d, dtype=dtype).to(dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    """Return the softmax under a mask, 0 where the mask is False."""
    d = canonical_dim(dim, input.ndim)[0]
    return torch.nn.functional.softmax(filled("amax", input, mask), d, dtype=dtype or input.dtype)


def log_softmax(input: Any, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    """Return the logarithm of the softmax under a mask, minus infinity where the mask is False."""
    d = canonical_dim(dim, input.ndim)[0]
    return torch.nn.functional.log_softmax(filled("amax", input, mask), d, dtype=dtype or input.dtype)


def softmin(input: Any, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Any:
    """Return the softmin under a mask, 0 where the mask is False."""
    d = canonical_dim(dim, input.ndim)[0]
    return torch.nn.functional.softmin(filled("amin", input, mask), d, dtype=dtype or input.dtype)


def normalize(
    input: Any,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the input divided by its norm, or by ``eps`` if that is larger."""
    values = filled("sum", input, mask)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return torch.divide(values, torch.maximum(length, length.new_full([], eps)))


def logaddexp(
    input: Any,
    other: Any,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Any:
    """Return the logarithm of the sum of two exponentials."""
    one, two = filled("logaddexp", input, input_mask), filled("logaddexp", other, other_mask)
    return torch.logaddexp(one, two).to(dtype=dtype or input.dtype)
