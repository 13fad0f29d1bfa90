"""Quickselect, which determines the index that ``kthvalue`` returns among equal elements (``quick_select_template`` in
``native/Sorting.cpp``).
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.tensor.dtype import bfloat16


def index_of_rank(row: Any, rank: int) -> int:
    """The index of the k-th smallest element of a 1-dim array; nan is larger than all numbers."""
    order = stable_argsort(row)
    index = int(order[rank])
    if (row == row[index]).sum() == 1:
        return index
    return _selected(row.tolist(), list(range(len(row))), rank)


def _selected(values: list[Any], indices: list[int], rank: int) -> int:
    """Partition both lists until the element of the rank is at its position, and return its index."""
    left, right = 0, len(values) - 1
    while right > left + 1:
        low, high = _partition(values, indices, left, right)
        if high <= rank:
            left = low
        if high >= rank:
            right = high - 1
    if right == left + 1 and _is_greater(values[left], values[right]):
        _swap(values, indices, left, right)
    return indices[rank]


def _partition(values: list[Any], indices: list[int], left: int, right: int) -> tuple[int, int]:
    """Partition around the median of the first, the middle and the last element; return the positions where the two
    walks met.
    """
    _swap(values, indices, (left + right) // 2, left + 1)
    for one, other in ((left + 1, right), (left, right), (left + 1, left)):
        if _is_greater(values[one], values[other]):
            _swap(values, indices, one, other)
    low, high, pivot = left + 1, right, values[left]
    while True:
        low += 1
        while _is_greater(pivot, values[low]):
            low += 1
        high -= 1
        while _is_greater(values[high], pivot):
            high -= 1
        if high < low:
            break
        _swap(values, indices, low, high)
    _swap(values, indices, left, high)
    return low, high


def _is_greater(one: Any, other: Any) -> bool:
    return bool((one != one and other == other) or one > other)


def _swap(values: list[Any], indices: list[int], one: int, other: int) -> None:
    values[one], values[other] = values[other], values[one]
    indices[one], indices[other] = indices[other], indices[one]


def stable_argsort(array: Any, axis: int = -1) -> Any:
    """The indices that sort an array stably, nan last, for NumPy's and CuPy's arrays.

    bfloat16 is sorted as float32, which represents all its numbers: CuPy does not sort bfloat16, and NumPy does not
    sort its nans last.
    """
    comparable = array.astype(numpy.float32) if array.dtype.name == bfloat16.name else array
    return comparable.argsort(axis=axis, kind="stable")
