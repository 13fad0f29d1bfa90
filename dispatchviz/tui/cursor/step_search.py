"""Search: the steps whose label and kind have every word of a query, upper and lower case alike.

A search goes over the trace in slices, a few milliseconds each, so that keys are answered all the while: first over
names of kinds (which need no label), then over the labels, from where the reader stands to the end and round it. What
is found at any moment is a hit; only between ``certain`` steps there are no others.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.step_labels import label
from dispatchviz.tui.cursor.near_steps import neighbour
from dispatchviz.tui.cursor.searched_columns import StepsByName, steps_by_name

STRETCH = 128
"""Steps that are searched as one. A stored trace decodes about as many at once."""

SLICE = 2
"""Stretches between two looks at the keys: some milliseconds."""


class Search:
    """The hits of one query in one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._stretches = -(-len(trace) // STRETCH)
        self.query = ""
        self._words: list[str] = []
        self._named = StepsByName()
        """Hits that names alone tell."""
        self._hits: dict[int, array[int]] = {}
        """Stretch to its hits, where it has some; as far as it was searched."""
        self._done = bytearray()
        """Of each stretch whether it was searched."""
        self._order: Iterator[int] = iter(())
        """The stretches to search next."""
        self._left = 0

    def find(self, query: str, begin: int = 0) -> None:
        """Begins to look for a query; what is near after ``begin`` comes first. An empty one has no hits."""
        narrower = bool(self._words) and query.startswith(self.query)
        without = [at for at in range(self._stretches) if self._done[at] and at not in self._hits] if narrower else []
        self.query, self._words = query, query.casefold().split()
        self._hits, self._done = {}, bytearray(self._stretches)
        for at in without:
            self._done[at] = True
        self._left = self._stretches - len(without) if self._words else 0
        self._named = steps_by_name(self._trace, self._words) if self._words else StepsByName()
        self.look_from(begin)

    def look_from(self, step: int, forward: bool = True) -> None:
        """Goes on with what is near before or after a step."""
        here = min(step // STRETCH, max(self._stretches - 1, 0))
        ahead, behind = range(here, self._stretches), range(here)
        self._order = iter((*ahead, *behind) if forward else (*reversed((*behind, here)), *reversed(ahead)))

    def go_on(self) -> bool:
        """Searches a slice; returns whether there is more to search."""
        unsearched = (at for at in self._order if not self._done[at])
        for stretch in islice(unsearched, min(SLICE, self._left)):
            self._search(stretch)
        return self._left > 0

    def _search(self, stretch: int) -> None:
        steps = range(stretch * STRETCH, min((stretch + 1) * STRETCH, len(self._trace)))
        found = array("i", _having_all(self._trace, steps, self._words))
        if found:
            self._hits[stretch] = found
        self._done[stretch] = True
        self._left -= 1

    @property
    def complete(self) -> bool:
        """Whether all hits are known."""
        return self._left == 0

    @property
    def percent(self) -> int:
        """How much of the trace was searched."""
        return 100 if self.complete else 100 * (self._stretches - self._left) // self._stretches

    def hits(self) -> array[int]:
        """The hits that are known, in order."""
        found = array("i")
        for stretch in sorted(self._hits):
            found.extend(self._hits[stretch])
        return found

    def matches(self, at: int) -> bool:
        """Whether a step is known to be a hit."""
        return _has(self._hits.get(at // STRETCH, ()), at) or at in self._named

    def next(self, at: int, forward: bool = True) -> int | None:
        """The next known hit after or before a step, round the end if need be; itself if it is the only one."""
        found = (self._beyond(at, forward), self._beyond(-1 if forward else len(self._trace), forward))
        return next((hit for hit in found if hit is not None), None)

    def certain(self, at: int, hit: int | None, forward: bool = True) -> bool:
        """Whether no hit is nearer than ``hit``, which ``next`` found from ``at``."""
        if self.complete:
            return True
        if hit is None:
            return False
        first, last = (at, hit) if forward else (hit, at)
        first, last = first // STRETCH, last // STRETCH
        if first <= last and (hit > at) == forward:
            return all(self._done[first : last + 1])
        return all(self._done[first:]) and all(self._done[: last + 1])

    def position(self, at: int) -> tuple[int, int]:
        """The number of a hit, counted from 1, and how many are known; of a step that is none, of the next hit."""
        stretch = at // STRETCH
        before = sum(len(hits) for number, hits in self._hits.items() if number < stretch)
        within = bisect_left(self._hits.get(stretch, ()), at)
        return before + within + 1, max(sum(map(len, self._hits.values())), 0 if self.complete else len(self._named))

    def _beyond(self, at: int, forward: bool) -> int | None:
        """The next known hit on that side."""
        named = self._named.next(at, forward)
        here, last = at // STRETCH, self._stretches
        ahead = range(max(here, 0), last) if forward else range(min(here, last - 1), -1, -1)
        of_labels = (neighbour(self._hits[number], at, forward) for number in ahead if number in self._hits)
        labelled = next((hit for hit in of_labels if hit is not None), None)
        known = [hit for hit in (named, labelled) if hit is not None]
        return (min if forward else max)(known) if known else None


def all_hits(trace: Trace, query: str) -> Sequence[int]:
    """All steps that have every word, at once."""
    search = Search(trace)
    search.find(query)
    while search.go_on():
        pass
    return search.hits()


def more_hits(trace: Trace, query: str, steps: range) -> list[int]:
    """Those of some steps that have every word."""
    return list(_having_all(trace, steps, query.casefold().split()))


def _having_all(trace: Trace, steps: range, words: Sequence[str]) -> Iterator[int]:
    for at in steps:
        text = f"{label(trace, at)} {type(trace[at]).__name__}".casefold()
        if all(word in text for word in words):
            yield at


def _has(steps: Sequence[int], step: int) -> bool:
    """Whether a step is among sorted ones."""
    index = bisect_left(steps, step)
    return index < len(steps) and steps[index] == step
