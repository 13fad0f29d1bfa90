"""The memory that saved tensors keep at each step of a trace, and its peak. Each storage counts once, as a whole.

It is computed once per trace, in time that grows with the number of saved tensors. A step then needs a bisection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.graph.memory.dtype_copies import original
from dispatchviz.explain.graph.memory.saved_lives import Life, lives_of
from dispatchviz.explain.graph.memory.storage_sizes import storage_sizes
from dispatchviz.explain.graph.memory.variable_spans import Span, spans

Part = tuple[int, int]
"""Some steps: the first one, and the one after the last."""


class Curve(NamedTuple):
    """A number of bytes at every step."""

    steps: Sequence[int]
    """The steps at which it changes, in order."""
    values: Sequence[int]
    """The number of bytes from each of these steps on."""

    def at(self, step: int) -> int:
        """Return the number of bytes at a step."""
        place = bisect_right(self.steps, step)
        return self.values[place - 1] if place else 0

    def plus(self, other: Curve) -> Curve:
        """Return the sum of two curves."""
        steps = sorted({*self.steps, *other.steps})
        return Curve(steps, [self.at(step) + other.at(step) for step in steps])

    def most(self, begin: int, end: int) -> int:
        """Return the largest number of bytes from one step up to, but not including, another."""
        first, last = bisect_right(self.steps, begin), bisect_right(self.steps, end - 1)
        return max((self.at(begin), *self.values[first:last]))


class KeptMemory:
    """The memory that saved tensors keep. It holds no reference to the trace itself."""

    def __init__(self, trace: Trace) -> None:
        self.lives, unsure, self.packed, self.without_storage = lives_of(trace)
        self.sizes: Mapping[int, int] = storage_sizes(trace, {life.storage for life in self.lives})
        self._unsure = defaultdict[int, list[Part]](list)
        for storage, begin, end in unsure:
            self._unsure[storage].append((begin, end))
        self._begins = np.array([life.begin for life in self.lives], np.int64)
        self._ends = np.array([life.end for life in self.lives], np.int64)
        self._spans: dict[int, Sequence[Span]] = {}
        self._originals: dict[int, ev.TensorCreated | None] = {}
        self._unnamed: Curve | None = None

    def living(self, at: int) -> Mapping[int, list[Life]]:
        """Return the lives at a step by storage, the largest storage first."""
        found = defaultdict[int, list[Life]](list)
        for place in np.flatnonzero((self._begins <= at) & (at < self._ends)).tolist():
            found[self.lives[place].storage].append(self.lives[place])
        return dict(sorted(found.items(), key=lambda pair: -self.sizes[pair[0]]))

    @cached_property
    def kept(self) -> Mapping[int, list[Part]]:
        """The steps at which each storage is kept."""
        found = defaultdict[int, list[Part]](list)
        for life in self.lives:
            found[life.storage].append((life.begin, life.end))
        return {storage: united(parts) for storage, parts in found.items()}

    @cached_property
    def total(self) -> Curve:
        """The memory that saved tensors keep, at every step."""
        return self._curve(self.kept)

    @cached_property
    def unsure(self) -> Curve:
        """The memory that may be kept too, at every step. Only a recording of an installed PyTorch has some."""
        return self._curve({at: without(united(parts), self.kept[at]) for at, parts in self._unsure.items()})

    @cached_property
    def peak(self) -> int:
        """The first step with the most memory; 0 if nothing is saved."""
        values = self.total.values
        return self.total.steps[values.index(max(values))] if values else 0

    def unnamed(self, trace: Trace) -> Curve:
        """Return the part of it that no variable is known to hold, at every step."""
        if self._unnamed is None:
            named = {storage: self._named(trace, storage) for storage in self.kept}
            self._unnamed = self._curve({at: without(parts, named[at]) for at, parts in self.kept.items()})
        return self._unnamed

    def spans(self, trace: Trace, storage: int) -> Sequence[Span]:
        """Return the spans of the variables that name a tensor on a storage. Cached."""
        found = self._spans.get(storage)
        if found is None:
            found = self._spans[storage] = tuple(spans(trace, storage))
        return found

    def original(self, trace: Trace, storage: int) -> ev.TensorCreated | None:
        """Return the tensor of another dtype whose elements were copied to a storage, or None. Cached."""
        if storage not in self._originals:
            self._originals[storage] = original(trace, storage)
        return self._originals[storage]

    def variable(self, trace: Trace, storage: int, at: int) -> str:
        """Return a variable that holds a storage at a step; empty if none is known. The name of a variable is better
        than a path.
        """
        names = [span.name for span in self.spans(trace, storage) if span.begin <= at < span.end]
        return min(names, key=lambda name: (not name.isidentifier(), len(name)), default="")

    def kept_original(self, trace: Trace, storage: int, at: int) -> ev.TensorCreated | None:
        """Return the tensor of another dtype from which a storage was copied, if its memory is kept too."""
        found = self.original(trace, storage)
        if found is None:
            return None
        kept = any(begin <= at < end for begin, end in self.kept.get(found.storage, ()))
        return found if kept or self.variable(trace, found.storage, at) else None

    def _named(self, trace: Trace, storage: int) -> list[Part]:
        return united((span.begin, span.end) for span in self.spans(trace, storage))

    def _curve(self, kept: Mapping[int, Iterable[Part]]) -> Curve:
        changes = Counter[int]()
        for storage, parts in kept.items():
            for begin, end in parts:
                changes[begin] += self.sizes[storage]
                changes[end] -= self.sizes[storage]
        steps = sorted(step for step, change in changes.items() if change)
        return Curve(steps, list(accumulate(changes[step] for step in steps)))


def united(parts: Iterable[Part]) -> list[Part]:
    """Return the steps that are in any of some parts, in order and without overlaps."""
    found: list[Part] = []
    for begin, end in sorted(parts):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        elif begin < end:
            found.append((begin, end))
    return found


def without(parts: Iterable[Part], others: Iterable[Part]) -> list[Part]:
    """Return the steps of parts that are in no other part. Both are in order and without overlaps."""
    found: list[Part] = []
    gone = list(others)
    first = 0
    for begin, end in parts:
        while first < len(gone) and gone[first][1] <= begin:
            first += 1
        place = first
        while place < len(gone) and gone[place][0] < end:
            if begin < gone[place][0]:
                found.append((begin, gone[place][0]))
            begin = max(begin, gone[place][1])
            place += 1
        if begin < end:
            found.append((begin, end))
    return found


_known: WeakKeyDictionary[Trace, KeptMemory] = WeakKeyDictionary()


def kept_memory(trace: Trace) -> KeptMemory:
    """Return the memory of a trace's saved tensors, computed on first use."""
    found = _known.get(trace)
    if found is None:
        found = _known[trace] = KeptMemory(trace)
    return found
