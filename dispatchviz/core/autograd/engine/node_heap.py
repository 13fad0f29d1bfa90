"""The heap of a ready queue. It orders equal tasks as the C++ library of the Linux builds does.

It is ``std::push_heap`` and ``std::pop_heap``, written out, since Python's ``heapq`` orders ties otherwise. It is
separate from ``ready_queue.py``, so that code that computes a queue from a trace needs no engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
Lower = Callable[[T, T], bool]
"""A function that returns whether the second task goes before the first."""


class Heap(Protocol[T]):
    """The methods that the heap needs of a list."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int, /) -> T: ...
    def __setitem__(self, at: int, value: T, /) -> None: ...
    def append(self, value: T, /) -> None:
        """Append an item at the end."""

    def pop(self) -> T:
        """Remove and return the last item."""


def push(heap: Heap[T], task: T, lower: Lower[T]) -> None:
    """Add a task."""
    heap.append(task)
    sift_up(heap, len(heap) - 1, task, lower)


def pop(heap: Heap[T], lower: Lower[T]) -> T:
    """Remove and return the task that goes first. Raise IndexError if there is none."""
    last = heap.pop()
    if not len(heap):
        return last
    first = heap[0]
    sift_up(heap, _hole_at_bottom(heap, lower), last, lower)
    return first


def sift_up(heap: Heap[T], hole: int, task: T, lower: Lower[T]) -> None:
    """Move lower parents down until ``task`` fits into the hole (``std::__push_heap``)."""
    while hole > 0:
        parent = (hole - 1) // 2
        if not lower(heap[parent], task):
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = task


def _hole_at_bottom(heap: Heap[T], lower: Lower[T]) -> int:
    """Move the hole at the top down along the higher children (``std::__adjust_heap``). Return where it ends."""
    length = len(heap)
    hole = child = 0
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if lower(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:  # the last parent has one child only
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    return hole
