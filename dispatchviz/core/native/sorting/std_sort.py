"""``std::sort``, ``std::nth_element`` and ``std::partial_sort`` of GCC's C++ library: the order that they give equal
elements, with which PyTorch's CPU sorts; none of them is stable.

All work on a list of places, compared by their ``ranks``.
"""

from __future__ import annotations

from collections.abc import Sequence

Places = list[int]
Ranks = Sequence[int]

SHORT = 16
"""Ranges up to this length are left to the insertion sort that comes last, which keeps the order of equal elements."""


def standard_sort(places: Places, ranks: Ranks, end: int | None = None) -> None:
    """``std::sort`` of the first ``end`` places."""
    end = len(places) if end is None else end
    _introsort(places, ranks, 0, end, 2 * (end.bit_length() - 1))
    places[:end] = sorted(places[:end], key=ranks.__getitem__)


def sorted_indices(ranks: Ranks) -> Places:
    """All places, sorted."""
    places = list(range(len(ranks)))
    standard_sort(places, ranks)
    return places


def standard_nth_element(places: Places, ranks: Ranks, nth: int) -> None:
    """What belongs at ``nth`` is put there, nothing larger before it."""
    first, last = 0, len(places)
    depth = 2 * (last.bit_length() - 1)
    while last - first > 3:
        if not depth:
            _heap_select(places, ranks, first, nth + 1, last)
            _swap(places, first, nth)
            return
        depth -= 1
        cut = _partition(places, ranks, first, last)
        first, last = (cut, last) if cut <= nth else (first, cut)
    places[first:last] = sorted(places[first:last], key=ranks.__getitem__)


def standard_partial_sort(places: Places, ranks: Ranks, middle: int) -> None:
    """The smallest ones in order, then the others."""
    _partial_sort(places, ranks, 0, middle, len(places))


def _introsort(places: Places, ranks: Ranks, first: int, last: int, depth: int) -> None:
    while last - first > SHORT:
        if not depth:
            _partial_sort(places, ranks, first, last, last)
            return
        depth -= 1
        cut = _partition(places, ranks, first, last)
        _introsort(places, ranks, cut, last, depth)
        last = cut


def _partition(places: Places, ranks: Ranks, first: int, last: int) -> int:
    """Round the median of the second, the middle and the last place, which goes to the front."""
    _swap(places, first, _median(places, ranks, first + 1, first + (last - first) // 2, last - 1))
    pivot, low, high = ranks[places[first]], first + 1, last
    while True:
        while ranks[places[low]] < pivot:
            low += 1
        high -= 1
        while pivot < ranks[places[high]]:
            high -= 1
        if low >= high:
            return low
        _swap(places, low, high)
        low += 1


def _median(places: Places, ranks: Ranks, a: int, b: int, c: int) -> int:
    x, y, z = ranks[places[a]], ranks[places[b]], ranks[places[c]]
    if x < y:
        return b if y < z else c if x < z else a
    return a if x < z else c if y < z else b


def _swap(places: Places, one: int, other: int) -> None:
    places[one], places[other] = places[other], places[one]


# -- heaps -------------------------------------------------------------------------------------------------------------


def _partial_sort(places: Places, ranks: Ranks, first: int, middle: int, last: int) -> None:
    _heap_select(places, ranks, first, middle, last)
    for end in range(middle - 1, first, -1):
        _pop(places, ranks, first, end, end)


def _heap_select(places: Places, ranks: Ranks, first: int, middle: int, last: int) -> None:
    length = middle - first
    for parent in range((length - 2) // 2, -1, -1):
        _sink(places, ranks, first, parent, length, places[first + parent])
    for i in range(middle, last):
        if ranks[places[i]] < ranks[places[first]]:
            _pop(places, ranks, first, middle, i)


def _pop(places: Places, ranks: Ranks, first: int, last: int, result: int) -> None:
    value, places[result] = places[result], places[first]
    _sink(places, ranks, first, 0, last - first, value)


def _sink(places: Places, ranks: Ranks, first: int, hole: int, length: int, value: int) -> None:
    """Down to the bottom along the larger children, then up to where it belongs."""
    top = child = hole
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if ranks[places[first + child]] < ranks[places[first + child - 1]]:
            child -= 1
        places[first + hole], hole = places[first + child], child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        places[first + hole], hole = places[first + child], child
    while hole > top and ranks[places[first + (hole - 1) // 2]] < ranks[value]:
        parent = (hole - 1) // 2
        places[first + hole], hole = places[first + parent], parent
    places[first + hole] = value
