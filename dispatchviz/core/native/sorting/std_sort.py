"""``std::sort``, ``std::nth_element`` and ``std::partial_sort`` of GCC's C++ library, which PyTorch's CPU kernels use.
None of them is stable; these versions reproduce the order of equal elements.

All work on a list of indices, compared by their ``ranks``.
"""

from __future__ import annotations

from collections.abc import Sequence

Indices = list[int]
Ranks = Sequence[int]

SHORT = 16
"""The length up to which ranges are left to the final insertion sort, which keeps the order of equal elements."""


def standard_sort(indices: Indices, ranks: Ranks, end: int | None = None) -> None:
    """Sort the first ``end`` indices like ``std::sort``, in place."""
    end = len(indices) if end is None else end
    _introsort(indices, ranks, 0, end, 2 * (end.bit_length() - 1))
    indices[:end] = sorted(indices[:end], key=ranks.__getitem__)


def sorted_indices(ranks: Ranks) -> Indices:
    """The indices sorted by ``std::sort``."""
    indices = list(range(len(ranks)))
    standard_sort(indices, ranks)
    return indices


def standard_nth_element(
    indices: Indices, ranks: Ranks, nth: int, first: int = 0, last: int | None = None
) -> None:  # fmt: skip
    """Put the nth index of a range into its sorted position, with nothing larger before it (``std::nth_element``)."""
    last = len(indices) if last is None else last
    depth = 2 * ((last - first).bit_length() - 1)
    while last - first > 3:
        if not depth:
            _heap_select(indices, ranks, first, nth + 1, last)
            _swap(indices, first, nth)
            return
        depth -= 1
        cut = _partition(indices, ranks, first, last)
        first, last = (cut, last) if cut <= nth else (first, cut)
    indices[first:last] = sorted(indices[first:last], key=ranks.__getitem__)


def standard_partial_sort(indices: Indices, ranks: Ranks, middle: int) -> None:
    """Sort the first ``middle`` indices; the others follow in any order (``std::partial_sort``)."""
    _partial_sort(indices, ranks, 0, middle, len(indices))


def _introsort(indices: Indices, ranks: Ranks, first: int, last: int, depth: int) -> None:
    while last - first > SHORT:
        if not depth:
            _partial_sort(indices, ranks, first, last, last)
            return
        depth -= 1
        cut = _partition(indices, ranks, first, last)
        _introsort(indices, ranks, cut, last, depth)
        last = cut


def _partition(indices: Indices, ranks: Ranks, first: int, last: int) -> int:
    """Partition around the median of the second, the middle and the last element, which is swapped to the front."""
    _swap(indices, first, _median(indices, ranks, first + 1, first + (last - first) // 2, last - 1))
    pivot, low, high = ranks[indices[first]], first + 1, last
    while True:
        while ranks[indices[low]] < pivot:
            low += 1
        high -= 1
        while pivot < ranks[indices[high]]:
            high -= 1
        if low >= high:
            return low
        _swap(indices, low, high)
        low += 1


def _median(indices: Indices, ranks: Ranks, a: int, b: int, c: int) -> int:
    x, y, z = ranks[indices[a]], ranks[indices[b]], ranks[indices[c]]
    if x < y:
        return b if y < z else c if x < z else a
    return a if x < z else c if y < z else b


def _swap(indices: Indices, one: int, other: int) -> None:
    indices[one], indices[other] = indices[other], indices[one]


# -- heaps -------------------------------------------------------------------------------------------------------------


def _partial_sort(indices: Indices, ranks: Ranks, first: int, middle: int, last: int) -> None:
    _heap_select(indices, ranks, first, middle, last)
    for end in range(middle - 1, first, -1):
        _pop(indices, ranks, first, end, end)


def _heap_select(indices: Indices, ranks: Ranks, first: int, middle: int, last: int) -> None:
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        _sink(indices, ranks, first, parent, length, indices[first + parent])
    for i in range(middle, last):
        if ranks[indices[i]] < ranks[indices[first]]:
            _pop(indices, ranks, first, middle, i)


def _pop(indices: Indices, ranks: Ranks, first: int, last: int, result: int) -> None:
    value, indices[result] = indices[result], indices[first]
    _sink(indices, ranks, first, 0, last - first, value)


def _sink(indices: Indices, ranks: Ranks, first: int, hole: int, length: int, value: int) -> None:
    """Move an element down to the bottom along the larger children, then up to its position."""
    top = child = hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if ranks[indices[first + child]] < ranks[indices[first + child - 1]]:
            child -= 1
        indices[first + hole], hole = indices[first + child], child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        indices[first + hole], hole = indices[first + child], child
    while hole > top and ranks[indices[first + (hole - 1) // 2]] < ranks[value]:
        parent = (hole - 1) // 2
        indices[first + hole], hole = indices[first + parent], parent
    indices[first + hole] = value
