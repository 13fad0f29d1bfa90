"""The search for the steps that match all terms of a query (``search_query.py``), ignoring case.

Hits by fields are available at once, since columns have them. Words are searched in the label and the kind of each
step. If no step matches there, the search continues in all texts that the screen shows for a step: sentence, rule,
PyTorch's file. ``forum.py:6`` is the place of a line.

A search processes the trace in slices of a few milliseconds, so that keys are answered meanwhile. It searches the names
of kinds first, which need no labels. Then it searches the texts, from the reader's position to the end and around.
Every match that is found is a hit. Only between ``certain`` steps it is known that there are no other hits.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from dispatchviz.core.record.events import AnyEvent, ErrorRaised, ProgramRaised, SourceLine
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.kinds.all_kinds import label, rule, why_here
from dispatchviz.explain.kinds.error import cause_and_fix
from dispatchviz.explain.trace_index.lookups import neighbor
from dispatchviz.views.cursor.search_fields import candidates
from dispatchviz.views.cursor.search_query import PLACE, Query, query_of
from dispatchviz.views.cursor.searched_columns import StepsByName, steps_by_name

STRETCH = 128
"""The number of steps of a slice, which takes a few milliseconds."""


class Search:
    """The hits of one query in one trace."""

    def __init__(self, trace: Trace, end: int | None = None) -> None:
        """``end`` is the first step that is not searched, because it is hidden; None if all steps are."""
        self._trace = trace
        self.end = len(trace) if end is None else end
        self._stretches = -(-self.end // STRETCH)
        self.query = ""
        self._required = _Requirements(trace, Query(), self.end)
        self._named = StepsByName()
        """The hits that names alone provide."""
        self._hits: dict[int, array[int]] = {}
        """The hits of each searched stretch that has some."""
        self._done = bytearray()
        """For each stretch, whether it was searched."""
        self._order: Iterator[int] = iter(())
        """The stretches to search next."""
        self._left = 0
        self._near = 0
        """The stretch at which the search continues."""
        self._begin = 0
        self.is_stopped = False
        """True if the reader stopped the search."""
        self.found = 0
        """The number of known hits."""
        self._sums: list[int] | None = None
        """The number of known hits before each stretch; None until it is needed."""

    def find(self, query: str, begin: int = 0) -> None:
        """Start a search, with the steps after ``begin`` first. An empty query has no hits."""
        before, done, hits, in_labels = self._required, self._done, self._hits, not self._required.deep
        self.query, self._required = query, _Requirements(self._trace, query_of(query), self.end)
        self._begin, self.is_stopped = begin, False
        self._start_over()
        if before.query and in_labels and self._required.query.narrows(before.query):
            for at in range(self._stretches):
                if done[at] and at not in hits and not self._done[at]:
                    self._done[at] = True
                    self._left -= 1
        plain = self._required.query.texts and not self._required.query.fields
        self._named = steps_by_name(self._trace, self._required.query.texts, self.end) if plain else StepsByName()
        if not self._required.tests and not self._required.query.texts:
            self._take_all()
        self.look_from(begin)

    def _start_over(self) -> None:
        """Reset the search, except for stretches without candidates."""
        self._hits, self.found, self._sums = {}, 0, None
        self._done = bytearray(self._required.without_candidates(self._stretches))
        self._left = self._done.count(0) if self._required.query else 0

    def _take_all(self) -> None:
        """Take all hits from columns, since the query needs nothing else."""
        self._hits = dict(self._required.by_stretch)
        self._sums = None
        self.found, self._left = len(self._required.candidates or ()), 0

    def look_from(self, step: int, forward: bool = True) -> None:
        """Continue with the steps just before or after a step."""
        here = self._near = min(step // STRETCH, max(self._stretches - 1, 0))
        ahead, behind = range(here, self._stretches), range(here)
        self._order = iter((*ahead, *behind) if forward else (*reversed((*behind, here)), *reversed(ahead)))
        self.is_stopped = False

    def look_near(self, step: int) -> None:
        """Continue with the steps near a step, unless they come next anyway."""
        if step // STRETCH != self._near:
            self.look_from(step)

    def go_on(self) -> bool:
        """Search a slice; return whether there is more to search."""
        stretch = next((at for at in self._order if not self._done[at]), None) if self._left else None
        if stretch is not None:
            self._search(stretch)
        if not self._left and not self.found and self._required.can_go_deeper:
            self._required.deep = True
            self._start_over()
            self.look_from(self._begin)
        return self._left > 0

    def stop(self) -> None:
        """Stop the background search."""
        self.is_stopped = True

    @property
    def in_sentences(self) -> bool:
        """True if no label matches, so that all texts of a step are searched."""
        return self._required.deep

    def _search(self, stretch: int) -> None:
        steps = self._required.among(range(stretch * STRETCH, min((stretch + 1) * STRETCH, self.end)))
        found = array("i", (step for step in steps if self._required.has(step)))
        if found:
            self._hits[stretch] = found
            self.found += len(found)
            self._sums = None
        self._done[stretch] = True
        self._left -= 1

    @property
    def is_limited(self) -> bool:
        """True if some steps are hidden from the search."""
        return self.end < len(self._trace)

    @property
    def complete(self) -> bool:
        """True if all hits are known."""
        return self._left == 0

    @property
    def percent(self) -> int:
        """The percentage of the trace that was searched."""
        return 100 if self.complete else 100 * (self._stretches - self._left) // self._stretches

    def hits(self) -> array[int]:
        """The hits that are known, in order."""
        found = array("i")
        for stretch in sorted(self._hits):
            found.extend(self._hits[stretch])
        return found

    def matches(self, at: int) -> bool:
        """Return whether a step is known to be a hit."""
        return _has(self._hits.get(at // STRETCH, ()), at) or at in self._named

    def between(self, begin: int, end: int) -> int:
        """The number of known hits within a range of steps."""
        return self._before(end + 1) - self._before(begin)

    def _before(self, step: int) -> int:
        """The number of known hits before a step."""
        if self._sums is None:
            self._sums = [0, *accumulate(len(self._hits.get(at, ())) for at in range(self._stretches))]
        stretch = max(min(step // STRETCH, self._stretches), 0)
        return self._sums[stretch] + bisect_left(self._hits.get(stretch, ()), step)

    def next(self, at: int, forward: bool = True) -> int | None:
        """The next known hit after or before a step, wrapping around at the end. It is the step itself if that is the
        only hit.
        """
        found = (self._beyond(at, forward), self._beyond(-1 if forward else len(self._trace), forward))
        return next((hit for hit in found if hit is not None), None)

    def certain(self, at: int, hit: int | None, forward: bool = True) -> bool:
        """Return whether no hit is nearer than ``hit``, which ``next`` found from ``at``."""
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
        """The number of a hit, counted from 1, and the number of known hits. For a step that is not a hit, use the next
        hit.
        """
        return self._before(at) + 1, max(self.found, 0 if self.complete else len(self._named))

    def _beyond(self, at: int, forward: bool) -> int | None:
        """The next known hit on that side."""
        named = self._named.next(at, forward)
        here, last = at // STRETCH, self._stretches
        ahead = range(max(here, 0), last) if forward else range(min(here, last - 1), -1, -1)
        of_labels = (neighbor(self._hits[number], at, forward) for number in ahead if number in self._hits)
        labeled = next((hit for hit in of_labels if hit is not None), None)
        known = [hit for hit in (named, labeled) if hit is not None]
        return (min if forward else max)(known) if known else None


class _Requirements:
    """The requirements of a query."""

    def __init__(self, trace: Trace, query: Query, end: int, deep: bool = False) -> None:
        self._trace, self.query, self.deep = trace, query, deep
        found, self.tests = candidates(trace, query)
        self.candidates = found if found is None or end == len(trace) else found[: bisect_left(found, end)]
        """The steps to examine (None for all), and the remaining tests of fields."""

    @property
    def can_go_deeper(self) -> bool:
        """True if there are texts of steps that were not searched yet."""
        return bool(self.query.texts) and not self.deep

    def among(self, steps: range) -> Sequence[int]:
        """The steps to examine within a range."""
        if self.candidates is None:
            return steps
        return self.candidates[bisect_left(self.candidates, steps.start) : bisect_left(self.candidates, steps.stop)]

    def without_candidates(self, stretches: int) -> bytes:
        """Return, for each stretch, whether it has no steps to examine."""
        if self.candidates is None:
            return bytes(stretches)
        done = bytearray(b"\x01" * stretches)
        for stretch in self.by_stretch:
            done[stretch] = False
        return bytes(done)

    @cached_property
    def by_stretch(self) -> dict[int, array[int]]:
        """The steps to examine in each stretch that has some."""
        found: dict[int, array[int]] = {}
        steps, begin = self.candidates or array("i"), 0
        while begin < len(steps):
            stretch = steps[begin] // STRETCH
            end = bisect_left(steps, (stretch + 1) * STRETCH, begin, min(begin + STRETCH, len(steps)))
            found[stretch], begin = steps[begin:end], end
        return found

    def has(self, step: int) -> bool:
        """Return whether a step satisfies everything that columns do not answer."""
        return all(test(self._trace, step) for test in self.tests) and self._has_texts(step)

    def _has_texts(self, step: int) -> bool:
        if not self.query.texts:
            return True
        text, place = text_of(self._trace, step, self.deep), place_of(self._trace, step)
        return all(each in text or (each in place and PLACE.search(each)) for each in self.query.texts)


def text_of(trace: Trace, step: int, deep: bool) -> str:
    """The text in which words are searched: label and kind, and for an error its message, cause and fix. If ``deep`` is
    true, also everything else that the screen shows.

    The name of a line's file is left out, since a word in it would match every line of that file.
    """
    event = trace[step]
    text = f"{_label(trace, event)} {type(event).__name__}"
    if isinstance(event, ErrorRaised | ProgramRaised):
        text = " ".join((text, event.message, *cause_and_fix(event.message)))
    if deep:
        behind = rule(event)
        text = f"{text} {why_here(trace, step)} {behind.function} {behind.file}"
    return " ".join(text.split()).casefold()


def _label(trace: Trace, event: AnyEvent) -> str:
    text = label(trace, event.seq)
    return text.removeprefix(f"{event.file}, ") if isinstance(event, SourceLine) else text


def place_of(trace: Trace, step: int) -> str:
    """The place of a line; empty for other steps."""
    event = trace[step]
    return f"{event.file}:{event.line}".casefold() if isinstance(event, SourceLine) else ""


def still_hits(trace: Trace, query: str, shown: Sequence[int], begin: int) -> list[int]:
    """The hits in a growing trace, given those that were found before ``begin``, when it ended there."""
    asked = _Requirements(trace, query_of(query), len(trace))
    asked.deep = bool(shown) and not asked.has(shown[0])
    before = shown if asked.candidates is None else sorted(set(shown).intersection(asked.candidates))
    if not asked.query.texts and not asked.tests:
        return list(asked.candidates or ())
    return [*before, *(step for step in asked.among(range(begin, len(trace))) if asked.has(step))]


def _has(steps: Sequence[int], step: int) -> bool:
    """Return whether a step is among sorted ones."""
    index = bisect_left(steps, step)
    return index < len(steps) and steps[index] == step
