"""``maybe_wrap_dim``, ``dim_list_to_bitset``: negative dimensions count from the end
(``c10/core/WrapDimMinimal.h``)."""

from __future__ import annotations

from collections.abc import Sequence


def wrap_dim(dim: int, rank: int) -> int:
    """A dimension counted from 0; a 0-dim tensor is treated as 1-dim. Raise IndexError if it is out of range."""
    width = max(rank, 1)
    if not -width <= dim < width:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-width}, {width - 1}], but got {dim})")
    return dim % width


def dim_mask(dims: Sequence[int] | None, rank: int) -> list[bool]:
    """A mask of the listed dimensions. Raise RuntimeError if one is listed twice."""
    mask = [False] * max(rank, 1)
    for dim in dims or ():
        dim = wrap_dim(dim, rank)
        if mask[dim]:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
        mask[dim] = True
    return mask[:rank]


def reduced_mask(dims: Sequence[int] | None, rank: int) -> list[bool]:
    """The mask of the dimensions of a reduction: without any listed, all of them."""
    return dim_mask(dims, rank) if dims else [True] * rank
