"""The events of a run as a tree that can be compared: the program's lines, and below each what it made happen.

A trace nests an event in what it happened during, and that may be a guard that the program holds over many lines
(``with torch.inference_mode():``): here such a guard is one event of its line, and what is within it stands beside it.
The numbers of small tensors are left out: one run may have them and the other not.

Every event has three hashes: ``pairs`` says whose counterpart it may be, ``ways`` what PyTorch did in it and within it,
``wholes`` that, the values and the program's texts. What is equal in ``wholes`` needs no second look. They are made in
one pass over the events, and mean nothing in another process.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.explain.comparison.event_facts import TEXT, Facts, everything, pairing, values, way
from dispatchviz.explain.trace_index.enclosing_steps import source_text

ROOT = -1
"""What the outermost events are within."""

_NO_WAY = (*TEXT, ev.ResultHashed)

NOTHING = 0
"""The way of what is nothing but texts of the program and numbers."""


class RunTree:
    """One run; the trace is asked for its events once, in order."""

    def __init__(self, trace: Trace, exact: bool = False) -> None:
        """``exact``: all fields of an event count."""
        self.trace = trace
        self.exact = exact
        self.parents = _parents(trace)
        """What each event is within, here."""
        self.pairs, self.ways, self.wholes = array("q"), array("q"), array("q")
        self._hash(trace)

    def _hash(self, trace: Trace) -> None:
        kinds: dict[type[ev.Event], tuple[int, Facts, Facts, Facts | None]] = {}
        texts: dict[tuple[str, int, str], int] = {}
        for event in trace.events:
            kind = type(event)
            code, pair, did, had = kinds.get(kind) or kinds.setdefault(kind, _readers(kind, self.exact))
            if kind is ev.SourceLine:
                text = _text(trace, event, texts)  # type: ignore[arg-type]
                self.pairs.append(text)
                self.ways.append(NOTHING)
                self.wholes.append(text)
                continue
            own = NOTHING if kind in _NO_WAY else hash((code, did(event)))
            self.pairs.append(hash((code, pair(event))))
            self.ways.append(own)
            self.wholes.append(hash((own, had(event))) if had else own)
        _fold(self.parents, self.ways, self.wholes, trace)

    def __len__(self) -> int:
        return len(self.parents)

    def children(self, seq: int) -> Sequence[int]:
        """What is directly within an event, in order; of ``ROOT`` the program's lines. Nothing of what formats."""
        order, begins = self._families
        return () if seq in self._formatted else order[begins[seq + 1] : begins[seq + 2]]

    @cached_property
    def _families(self) -> tuple[Sequence[int], Sequence[int]]:
        """The events by what they are within, and where the children of each begin; ``ROOT``'s are first."""
        parents = np.frombuffer(self.parents, np.int32) if len(self.parents) else np.empty(0, np.int32)
        order = np.argsort(parents, kind="stable")
        order = order[np.isin(order, self.trace.steps_of(ev.NumbersRecorded), invert=True)]
        begins = np.searchsorted(parents[order], np.arange(ROOT, len(parents) + 1))
        return order.tolist(), begins.tolist()

    @cached_property
    def _formatted(self) -> frozenset[int]:
        return _steps(self.trace, ev.TensorFormatted)

    @cached_property
    def lines(self) -> frozenset[int]:
        """The lines of the program that ran, by what pairs them."""
        return frozenset(self.pairs[seq] for seq in _steps(self.trace, ev.SourceLine))

    def kind(self, seq: int) -> str:
        """The name of an event's kind, without the event being decoded."""
        columns = self.trace.columns
        return columns.kind_names[columns.kinds[seq]]

    def says_something(self, seq: int) -> bool:
        """Return whether there is more in an event than texts of the program."""
        return self.ways[seq] != NOTHING


def _readers(kind: type[ev.Event], exact: bool) -> tuple[int, Facts, Facts, Facts | None]:
    had = None if exact else values(kind)
    if kind in (ev.NameBound, ev.Printed):
        had = _said
    return hash(kind.__name__), pairing(kind), everything(kind) if exact else way(kind), had


def _said(event: ev.NameBound | ev.Printed) -> str:
    return event.name if isinstance(event, ev.NameBound) else event.text


def _text(trace: Trace, line: ev.SourceLine, known: dict[tuple[str, int, str], int]) -> int:
    """The hash of a line's text, or of its number where the trace does not have it."""
    place = line.file, line.line, line.function
    found = known.get(place)
    if found is None:
        found = known[place] = hash((source_text(trace, line) or line.line, line.function))
    return found


def _fold(parents: Sequence[int], ways: array[int], wholes: array[int], trace: Trace) -> None:
    """Make the hash of each event that of all within it: children come after their parents, so from the end on."""
    formatted = _steps(trace, ev.TensorFormatted)
    of_ways, of_wholes = [0] * len(parents), [0] * len(parents)
    numbers = _steps(trace, ev.NumbersRecorded)
    for seq in range(len(parents) - 1, ROOT, -1):
        if seq in numbers:
            continue
        if seq not in formatted:
            if below := of_ways[seq]:
                ways[seq] = hash((ways[seq], below))
            if below := of_wholes[seq]:
                wholes[seq] = hash((wholes[seq], below))
        parent = parents[seq]
        if parent != ROOT:
            if ways[seq] != NOTHING:
                of_ways[parent] = hash((ways[seq], of_ways[parent]))
            of_wholes[parent] = hash((wholes[seq], of_wholes[parent], 1))


def _parents(trace: Trace) -> array[int]:
    """What each event is within: the line that it happened on, or what it happened during if that is further inside.

    A forged file may say anything; here everything is within something before it.
    """
    columns = trace.columns
    parents, lines = list(columns.parents), list(columns.lines)
    is_line = _steps(trace, ev.SourceLine)
    guards = _held_guards(parents, is_line, _steps(trace, ev.GuardEntered))
    homes, found = [ROOT] * len(parents), array("i")
    for seq, parent in enumerate(parents):
        home = homes[parent] if 0 <= parent < seq else ROOT
        if seq in is_line:
            homes[seq] = home
            found.append(home)
        else:
            homes[seq] = home if seq in guards else seq
            line = lines[seq]
            found.append(line if home < line < seq else home)
    return found


def _steps(trace: Trace, kind: type[ev.Event]) -> frozenset[int]:
    return frozenset(step for step in trace.steps_of(kind) if 0 <= step < len(trace))


def _held_guards(parents: Sequence[int], lines: Collection[int], guards: frozenset[int]) -> set[int]:
    """The guards that the program holds: those that it enters on a line itself, and all that have lines within them."""
    held = set[int]()
    for line in lines:
        parent = parents[line]
        while parent in guards and parent not in held:
            held.add(parent)
            parent = parents[parent]
    for guard in sorted(guards):
        if (parent := parents[guard]) in lines or parent in held or parent < 0:
            held.add(guard)
    return held
