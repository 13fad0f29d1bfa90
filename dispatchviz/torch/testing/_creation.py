"""``torch.testing.make_tensor``: a tensor of random numbers within bounds (``torch/testing/_creation.py``)."""

from __future__ import annotations

import math
import warnings
from typing import Any

from dispatchviz.core.tensor.dtype import DType
from dispatchviz.torch._namespace import torch

_DEFAULT = {"bool": (0, 2), "uint8": (0, 10), "integral": (-9, 10), "floating": (-9, 9)}
"""The default bounds. For integers the upper one is excluded."""


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """Return random integers in ``[low, high)``, or uniform floats. Bounds that the dtype cannot hold are clamped.

    Raise ValueError for bounds that leave no value, and for options that do not go together.
    """
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}"
        )
    if requires_grad and not dtype.can_require_grad:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    noncontiguous = noncontiguous and math.prod(size) > 1
    if noncontiguous:
        size = (*size[:-1], 2 * size[-1])
    made = _filled(size, dtype, device, *_bounds(dtype, low, high))
    if noncontiguous:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = torch.finfo(dtype).tiny if dtype.can_require_grad else 1
    if requires_grad:
        made.requires_grad_()
    return made


def _filled(size: tuple[int, ...], dtype: DType, device: Any, low: Any, high: Any) -> Any:
    if not dtype.can_require_grad:
        return torch.randint(low, high, size, device=device, dtype=dtype)
    made = torch.empty(size, device=device, dtype=dtype)
    numbers = torch.view_as_real(made) if dtype.is_complex else made
    if high - low >= torch.finfo(numbers.dtype).max:
        numbers.uniform_(low / 2, high / 2).mul_(2)
    elif low == high:
        numbers.fill_(low)
    else:
        numbers.uniform_(low, high)
    return made


def _bounds(dtype: DType, low: float | None, high: float | None) -> tuple[Any, Any]:
    """Return the bounds within the range of the dtype. Raise ValueError if no value is left between them."""
    kind = "floating" if dtype.can_require_grad else dtype.name if dtype.name in _DEFAULT else "integral"
    least, most = _DEFAULT[kind]
    low, high = least if low is None else low, most if high is None else high
    if any(math.isnan(bound) for bound in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and kind == "floating":
        warnings.warn(_ONE_VALUE, FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    smallest, largest = _limits(dtype)
    if high < smallest or low >= largest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{smallest}, {largest})"
        )
    low, high = max(low, smallest), min(high, largest)
    return (low, high) if kind == "floating" else (math.ceil(low), math.ceil(high))


def _limits(dtype: DType) -> tuple[Any, Any]:
    if dtype.name == "bool":
        return 0, 2
    if dtype.can_require_grad:
        found = torch.finfo(dtype)
        return found.min, found.max
    whole = torch.iinfo(dtype)
    return whole.min, whole.max + (0 if dtype.name == "int64" else 1)


_ONE_VALUE = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will "
    "be removed in 2.3. Use `torch.full(...)` instead."
)
