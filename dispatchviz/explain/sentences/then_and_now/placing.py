"""The order of statements and reasons at a step: those about the step first, then around it, within it, and
elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.sentences.then_and_now.entries import PastStatement, Reason, Steps, fits
from dispatchviz.explain.trace_index import statements

Entry = TypeVar("Entry", PastStatement, Reason)

WITHIN = 400
"""The number of steps that are searched within a step."""

NEAR = 100
"""The number of events of each kind that are searched on each side of a step."""


class Place(IntEnum):
    """The place of an entry relative to a step, nearest first."""

    HERE = 0
    AROUND = 1
    WITHIN = 2
    ELSEWHERE = 3
    NOT_MET = 4
    """Not near this step. The rest of the trace is not searched."""


class Placed(NamedTuple, Generic[Entry]):
    """An entry with its place and its step; the step is None if no step was found."""

    entry: Entry
    place: Place
    step: int | None


def placed(trace: Trace, at: int, entries: Iterable[Entry]) -> list[Placed[Entry]]:
    """Order all entries: those about the step first. Among equals, statements that are no longer true come first, then
    the most specific ones.
    """
    entries = tuple(entries)
    matches = _matches(trace, tuple(steps for entry in entries for steps in entry.steps))
    here, elsewhere = _Surroundings(trace, at, matches), _Nearest(trace, at, matches)
    found = [_placed(entry, here, elsewhere) for entry in entries]
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


Rank = tuple[int, int, bool, int]
"""The place, the distance within it, whether the text is still true, and minus the number of fields that must match."""


def _placed(entry: Entry, here: _Surroundings, elsewhere: _Nearest) -> tuple[Rank, Placed[Entry]]:
    right = isinstance(entry, PastStatement) and entry.verdict == "still true"
    hits = ((steps, hit) for steps in entry.steps if (hit := here.first(steps)) is not None)
    met = min((((hit.place, hit.far, right, -len(steps.fields)), hit.step) for steps, hit in hits), default=None)
    if met is not None:
        return met[0], Placed(entry, Place(met[0][0]), met[1])
    others = (step for steps in entry.steps if (step := elsewhere.first(steps)) is not None)
    other = next(others, None)
    place = Place.NOT_MET if other is None else Place.ELSEWHERE
    return (place, 0, False, 0), Placed(entry, place, other)


class _Fitting:
    """Entries' steps by the events that they match, found once for each combination of fields."""

    def __init__(self, among: Iterable[Steps]) -> None:
        self._among: dict[type[ev.Event], list[Steps]] = {}
        for steps in among:
            self._among.setdefault(steps.kind, []).append(steps)
        self._names = {
            kind: tuple(dict.fromkeys(name for steps in group for name, _ in steps.fields))
            for kind, group in self._among.items()
        }
        self._known: dict[tuple[object, ...], frozenset[Steps]] = {}

    def of(self, event: ev.AnyEvent) -> frozenset[Steps]:
        """Return the steps that an event matches."""
        kind = type(event)
        if kind not in self._among:
            return NO_STEPS
        key = (kind, *(getattr(event, name) for name in self._names[kind]))
        if key not in self._known:
            self._known[key] = frozenset(steps for steps in self._among[kind] if fits(steps, event))
        return self._known[key]


NO_STEPS: frozenset[Steps] = frozenset()


class _Matches(dict[int, frozenset[Steps]]):
    """The entries' steps that each event of a trace matches, found once, because lists of nearby steps ask again."""

    def __init__(self, trace: Trace, fitting: _Fitting) -> None:
        super().__init__()
        self._trace, self._fitting = trace, fitting

    def __missing__(self, step: int) -> frozenset[Steps]:
        found = self[step] = self._fitting.of(self._trace[step])
        return found


@lru_cache(maxsize=4)
def _fitting(among: tuple[Steps, ...]) -> _Fitting:
    return _Fitting(among)


@lru_cache(maxsize=2)
def _matches(trace: Trace, among: tuple[Steps, ...]) -> _Matches:
    return _Matches(trace, _fitting(among))


class _Hit(NamedTuple):
    place: Place
    far: int
    """The distance within its place."""
    step: int


class _Surroundings:
    """The first matches at a step, around it from inside out, and among the first events within it."""

    def __init__(self, trace: Trace, at: int, matches: _Matches) -> None:
        self._matches = matches
        self._hits: dict[Steps, _Hit] = {}
        self._add(Place.HERE, 0, at)
        for far, event in enumerate(trace.ancestors(at)):
            self._add(Place.AROUND, far, event.seq)
        for step in range(at + 1, min(statements.end(trace, at), at + WITHIN) + 1):
            self._add(Place.WITHIN, step, step)

    def _add(self, place: Place, far: int, step: int) -> None:
        for steps in self._matches[step]:
            self._hits.setdefault(steps, _Hit(place, far, step))

    def first(self, steps: Steps) -> _Hit | None:
        """The nearest match."""
        return self._hits.get(steps)


class _Nearest:
    """The nearest matches on both sides of a step. The events of a kind are read when they are first needed."""

    def __init__(self, trace: Trace, at: int, matches: _Matches) -> None:
        self._trace, self._at, self._matches = trace, at, matches
        self._nearest: dict[type[ev.Event], dict[Steps, int]] = {}

    def first(self, steps: Steps) -> int | None:
        """The nearest match."""
        if steps.kind not in self._nearest:
            self._nearest[steps.kind] = self._of(steps.kind)
        return self._nearest[steps.kind].get(steps)

    def _of(self, kind: type[ev.Event]) -> dict[Steps, int]:
        steps = self._trace.steps_of(kind)
        place = bisect_left(steps, self._at)
        near = steps[max(place - NEAR, 0) : place + NEAR]
        found: dict[Steps, int] = {}
        seen = set[frozenset[Steps]]()
        for _, step in sorted([(abs(step - self._at), step) for step in near]):
            if (matches := self._matches[step]) not in seen:
                seen.add(matches)
                for each in matches:
                    found.setdefault(each, step)
        return found
