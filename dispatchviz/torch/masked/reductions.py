"""Reductions under a mask (``torch/masked/_ops.py``). Masked-out elements are replaced by the operation's identity.

``dtype`` is the dtype of the result, by default the input's.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.masked.input_mask_fill import Dims, canonical_dim, dtype_of_sum, filled


def sum(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the sum; int64 for small integers."""
    dtype = dtype_of_sum(input, dtype)
    dims = canonical_dim(dim, input.ndim)
    return torch.sum(filled("sum", input, mask), dims, bool(keepdim), dtype=dtype)


def prod(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the product, one dimension after the other; int64 for small integers."""
    dtype = dtype_of_sum(input, dtype)
    dims = canonical_dim(dim, input.ndim)
    result = filled("prod", input, mask).to(dtype=dtype)
    for d in reversed(dims):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def amax(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the largest element."""
    values = filled("amax", input, mask)
    return torch.amax(values, canonical_dim(dim, values.ndim), bool(keepdim)).to(dtype=dtype or input.dtype)


def amin(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the smallest element."""
    values = filled("amin", input, mask)
    return torch.amin(values, canonical_dim(dim, values.ndim), bool(keepdim)).to(dtype=dtype or input.dtype)


def argmax(
    input: Any,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """The index of the largest element, in the dtype of the input."""
    return torch.argmax(filled("argmax", input, mask), dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def argmin(
    input: Any,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """The index of the smallest element, in the dtype of the input."""
    return torch.argmin(filled("argmin", input, mask), dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def median(
    input: Any,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the median. A row that is masked out completely gives nan, and for integers raises ValueError."""
    given: DType = input.dtype
    d = canonical_dim(dim, input.ndim)[0]
    if not given.is_floating_point:
        input = input.to(dtype=torch.float)
    output = torch.nanmedian(filled("median", input, mask), d, keepdim).values
    if given.is_floating_point:
        return output
    if torch.isnan(output).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return output.to(dtype=dtype or given)


def logsumexp(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """The logarithm of the sum of exponentials."""
    dims = canonical_dim(dim, input.ndim)
    values = filled("logsumexp", input, mask)
    return torch.logsumexp(values, dims, keepdim=keepdim).to(dtype=dtype or input.dtype)


def norm(
    input: Any,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """The norm of vectors."""
    values = filled("norm", input, mask, ord)
    dims = canonical_dim(dim, input.ndim)
    return torch.linalg.vector_norm(values, ord, dims, bool(keepdim), dtype=dtype or input.dtype)
