"""Arguments that are one number, or one number per dimension (``torch/nn/modules/utils.py``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ntuple(value: Any, count: int) -> tuple[Any, ...]:
    """Return a number or a tuple as a tuple with one entry per dimension (``_ntuple``)."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def reverse_repeat(values: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the values with the last dimension first, each ``count`` times, as ``F.pad`` takes its padding."""
    return tuple(value for value in reversed(values) for _ in range(count))


def list_with_default(size: Any, defaults: list[int]) -> Any:
    """Return a size in which the input's sizes replace None. Raise ValueError for more dimensions than the input
    has.
    """
    if isinstance(size, int):
        return size
    if len(defaults) <= len(size):
        raise ValueError(f"Input dimension should be at least {len(size) + 1}")
    return [default if own is None else own for own, default in zip(size, defaults[-len(size) :], strict=False)]
