"""Mean, variance and standard deviation under a mask (``torch/masked/_ops.py``): sums over counts."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.masked import reductions
from dispatchviz.torch.masked.input_mask_fill import Dims, input_mask


def mean(
    input: Any,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the mean. Raise ValueError unless the result has a floating or complex dtype."""
    source, chosen = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if not chosen.can_require_grad:
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {chosen}"
        )
    mask, count = _counted(input, dim, keepdim, mask)
    return reductions.sum(input, dim, keepdim=keepdim, dtype=chosen, mask=mask) / count


def _counted(input: Any, dim: Dims, keepdim: bool | None, mask: Any) -> tuple[Any, Any]:
    """Return the mask in the shape of the input, and the number of elements that it keeps."""
    if mask is None:
        ones = torch.ones(input.shape, dtype=torch.int64, device=input.device)
        return None, reductions.sum(ones, dim, keepdim=keepdim)
    mask = input_mask(input, mask)
    return mask, mask.sum(dim=dim, keepdim=bool(keepdim))


def var(
    input: Any,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the variance. The sum of squares is divided by the count minus ``correction``, by default 1.

    Raise AssertionError if both ``unbiased`` and ``correction`` are given.
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    if dtype is None:
        dtype = input.dtype if input.dtype.can_require_grad else torch.float32
    compute = dtype if dtype.can_require_grad else torch.float32
    mask, count = _counted(input, dim, True, mask)
    center = torch.divide(reductions.sum(input, dim, keepdim=True, dtype=dtype, mask=mask), count)
    x = torch.subtract(input, center)
    total = reductions.sum(x * x.conj(), dim, keepdim=keepdim, dtype=compute, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if correction != 0:
        count = torch.subtract(count.to(compute.to_real()), float(correction))
        count = torch.maximum(count, count.new_zeros([]))
    return torch.divide(total, count).to(dtype=dtype)


def std(
    input: Any,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Any:
    """Return the standard deviation, the square root of the variance."""
    return torch.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))
