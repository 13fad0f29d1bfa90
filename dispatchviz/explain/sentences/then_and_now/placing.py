"""The order of statements and reasons at a step: those about the step first, then around it, within it, and
elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from enum import IntEnum
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
    here, elsewhere = _Surroundings(trace, at), _Nearest(trace, at)
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


class _Hit(NamedTuple):
    place: Place
    far: int
    """The distance within its place."""
    step: int


class _Surroundings:
    """The events at a step, around it from inside out, and the first ones within it, by kind."""

    def __init__(self, trace: Trace, at: int) -> None:
        self._events: dict[type[ev.Event], list[tuple[_Hit, ev.AnyEvent]]] = {}
        self._add(Place.HERE, 0, trace[at])
        for far, event in enumerate(trace.ancestors(at)):
            self._add(Place.AROUND, far, event)
        for event in trace[at + 1 : min(statements.end(trace, at), at + WITHIN) + 1]:
            self._add(Place.WITHIN, event.seq, event)

    def _add(self, place: Place, far: int, event: ev.AnyEvent) -> None:
        self._events.setdefault(type(event), []).append((_Hit(place, far, event.seq), event))

    def first(self, steps: Steps) -> _Hit | None:
        """The nearest match."""
        return next((hit for hit, event in self._events.get(steps.kind, ()) if fits(steps, event)), None)


class _Nearest:
    """The events on both sides of a step, by kind, nearest first. Each is read only when it is needed."""

    def __init__(self, trace: Trace, at: int) -> None:
        self._trace, self._at = trace, at
        self._steps: dict[type[ev.Event], list[int]] = {}
        self._read: dict[int, ev.AnyEvent] = {}

    def first(self, steps: Steps) -> int | None:
        """The nearest match."""
        return next((step for step in self._of(steps.kind) if fits(steps, self._event(step))), None)

    def _of(self, kind: type[ev.Event]) -> list[int]:
        if kind not in self._steps:
            steps = self._trace.steps_of(kind)
            place = bisect_left(steps, self._at)
            near = steps[max(place - NEAR, 0) : place + NEAR]
            self._steps[kind] = sorted(near, key=lambda step: abs(step - self._at))
        return self._steps[kind]

    def _event(self, step: int) -> ev.AnyEvent:
        if step not in self._read:
            self._read[step] = self._trace[step]
        return self._read[step]
