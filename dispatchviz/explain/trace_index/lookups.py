"""Look-ups in the columns of a trace: values that change at steps, events of a kind, the nearest step.

A ``Lookup`` is a mapping whose values are found on demand. ``Entries`` are the steps at which a value changes; each
value is read on demand. ``StepsByKind`` are the steps about one tensor, Node or name, by kind of event.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import compress
from typing import Any, Literal, TypeVar, overload

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.events import Event
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import Columns, Groups

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

KEPT = 4096
"""The number of answers that are cached before the cache is emptied."""


class _Nothing(Enum):
    NOTHING = 0


Nothing = Literal[_Nothing.NOTHING]
NOTHING: Nothing = _Nothing.NOTHING
"""The result for a step that has no value, or that is damaged in the file."""


class Lookup(Mapping[K, V]):
    """A mapping whose values are found by ``find`` on first access. Keys for which it returns None are missing."""

    def __init__(self, find: Callable[[K], V | None], keys: Iterable[K]) -> None:
        self._find, self._keys = find, keys
        self._known: dict[K, V | None] = {}

    @overload
    def get(self, key: K, default: None = None, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V | T, /) -> V | T: ...
    def get(self, key: K, default: Any = None, /) -> Any:
        try:
            found = self._known[key]
        except KeyError:
            found = self._look(key)
        return default if found is None else found

    def __getitem__(self, key: K) -> V:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[K]:
        return (key for key in self._keys if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _look(self, key: K) -> V | None:
        if len(self._known) >= KEPT:
            self._known.clear()
        found = self._known[key] = self._find(key)
        return found


class Entries(Sequence[tuple[int, V]]):
    """The steps at which a value changes, in order, each with the value that is valid from that step on."""

    def __init__(self, steps: Sequence[int], value: Callable[[int], V | Nothing]) -> None:
        self.steps, self._value = steps, value
        self._last: tuple[int, V | Nothing] = (-1, NOTHING)

    @classmethod
    def some(cls, steps: Sequence[int], value: Callable[[int], V | Nothing]) -> Entries[V] | None:
        """Return the entries, or None if there are no steps."""
        return cls(steps, value) if len(steps) else None

    def latest(self, at: int) -> tuple[int, V] | None:
        """Return the last entry at or before a step, or None if there is none yet."""
        for place in range(bisect_right(self.steps, at) - 1, -1, -1):
            step = self.steps[place]
            value = self._at(step)
            if value is not NOTHING:
                return step, value
        return None

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, place: int) -> tuple[int, V]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[int, V]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return list(self._entries(self.steps[place]))
        step = self.steps[place]
        return step, self._at(step)

    def __iter__(self) -> Iterator[tuple[int, V]]:
        return self._entries(self.steps)

    def _entries(self, steps: Iterable[int]) -> Iterator[tuple[int, V]]:
        for step in steps:
            value = self._at(step)
            if value is not NOTHING:
                yield step, value

    def _at(self, step: int) -> V | Nothing:
        if self._last[0] == step:
            return self._last[1]
        value = self._value(step)
        self._last = step, value
        return value


class StepsByKind:
    """The steps of groups, by kind of event. No event is decoded."""

    def __init__(self, columns: Columns, groups: Groups) -> None:
        self._groups, self._kinds = groups, columns.kinds
        self._code = columns.code
        self._wanted: dict[tuple[type[Any], ...], bytes] = {}
        """Tables with a one for the codes of some kinds."""
        self._codes: dict[int, tuple[Sequence[int], bytes]] = {}
        """The steps of recently used numbers, with their kinds."""

    def __iter__(self) -> Iterator[int]:
        return iter(self._groups)

    def steps(self, number: int, *kinds: type[Any]) -> Sequence[int]:
        """Return the steps of a number whose events are of some kinds, in order."""
        steps, codes = self._codes.get(number) or self._look(number)
        chosen = codes.translate(self._wanted.get(kinds) or self._table(kinds))
        many = chosen.count(1)
        return array("i", compress(steps, chosen)) if 0 < many < len(chosen) else steps if many else ()

    def _look(self, number: int) -> tuple[Sequence[int], bytes]:
        if len(self._codes) >= KEPT:
            self._codes.clear()
        steps = self._groups.get(number, ())
        found = self._codes[number] = steps, bytes(map(self._kinds.__getitem__, steps))
        return found

    def _table(self, kinds: tuple[type[Any], ...]) -> bytes:
        codes = set(map(self._code, kinds))
        table = self._wanted[kinds] = bytes(code in codes for code in range(256))
        return table


E = TypeVar("E", bound=ev.Event)


def between(trace: Trace, kind: type[ev.Event], begin: int, end: int) -> Sequence[int]:
    """Return the steps of a kind from one step to another."""
    steps = trace.steps_of(kind)
    return steps[bisect_left(steps, begin) : bisect_right(steps, end)]


def events_between(trace: Trace, kind: type[E], begin: int, end: int) -> Iterator[E]:
    """Yield the events of a kind from one step to another, without those of damaged blocks."""
    return (event for event in map(trace.__getitem__, between(trace, kind, begin, end)) if isinstance(event, kind))


def created_nodes(trace: Trace, begin: int, end: int) -> Iterator[int]:
    """Yield the steps at which Nodes appear, with any maker."""
    firsts = trace.columns.of_node.firsts
    return (step for step in between(trace, ev.NodeCreated, begin, end) if step in firsts)


def last_event(trace: Trace, at: int, kind: type[E]) -> E | None:
    """Return the last event of a kind up to a step, or None if there is none yet."""
    steps = trace.steps_of(kind)
    for place in range(bisect_right(steps, at) - 1, -1, -1):
        event = trace[steps[place]]
        if isinstance(event, kind):  # false if the file is damaged there
            return event
    return None


def latest_first(trace: Trace, at: int, kind: type[E]) -> Iterator[E]:
    """Yield the events of a kind up to a step, latest first."""
    steps = trace.steps_of(kind)
    for place in range(bisect_right(steps, at) - 1, -1, -1):
        event = trace[steps[place]]
        if isinstance(event, kind):  # false if the file is damaged there
            yield event


def uses_cuda(trace: Trace) -> bool:
    """Return whether a program names cuda, or calls an operator for it."""
    return any("cuda" in source for source in trace.header.sources.values()) or _calls_cuda(trace.columns)


def _calls_cuda(columns: Columns) -> bool:
    """Return whether a call was dispatched to a key of cuda. No event is decoded, since every header asks this."""
    keys = columns.key_names
    cuda = {number for number, key in enumerate(keys) if key.endswith("CUDA")}
    return bool(cuda) and any(number % len(keys) in cuda for number in columns.of_call)


def neighbor(steps: Sequence[int], at: int, forward: bool = True) -> int | None:
    """Return the next of sorted steps on one side of a step, or None if there is none."""
    index = bisect_right(steps, at) if forward else bisect_left(steps, at) - 1
    return steps[index] if 0 <= index < len(steps) else None


def next_of_kinds(trace: Trace, kinds: Iterable[type[Event]], at: int, forward: bool = True) -> int | None:
    """Return the nearest step of any of some kinds."""
    found = [neighbor(trace.steps_of(kind), at, forward) for kind in kinds]
    known = [step for step in found if step is not None]
    return (min if forward else max)(known) if known else None
