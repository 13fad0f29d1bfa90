"""The events of a run as a tree for comparison: the program's lines, and below each the events that it caused.

A trace nests an event in the event during which it happened. That may be a guard that the program holds over many lines
(``with torch.inference_mode():``). Here such guards are events of their line, and their contents are beside them. The
numbers of small tensors are left out, because only one of the runs may have them.

Every event has three hashes. ``pairs`` identifies possible counterparts, ``ways`` covers the behavior of PyTorch in the
event and its contents, ``wholes`` also covers the values and the program's texts. Events with equal ``wholes`` need no
further comparison. The hashes are computed in one pass over the events and are valid only in this process.
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
"""The parent of the outermost events."""

_NO_WAY = (*TEXT, ev.ResultHashed)

NOTHING = 0
"""The way of an event with only texts of the program and numbers."""


class RunTree:
    """A run. Its events are read from the trace once, in order."""

    def __init__(self, trace: Trace, exact: bool = False) -> None:
        """Create the tree. With ``exact``, all fields of an event count."""
        self.trace = trace
        self.exact = exact
        self.parents = _parents(trace)
        """The parent of each event in this tree."""
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
        """Return the children of an event, in order. Those of ``ROOT`` are the program's lines. Events that format a
        tensor are left out.
        """
        order, begins = self._families
        return () if seq in self._formatted else order[begins[seq + 1] : begins[seq + 2]]

    @cached_property
    def _families(self) -> tuple[Sequence[int], Sequence[int]]:
        """The events sorted by parent, and the places where the children of each begin; those of ``ROOT`` come
        first.
        """
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
        """The lines of the program that ran, by their pairing hash."""
        return frozenset(self.pairs[seq] for seq in _steps(self.trace, ev.SourceLine))

    def kind(self, seq: int) -> str:
        """Return the name of an event's kind, without decoding the event."""
        columns = self.trace.columns
        return columns.kind_names[columns.kinds[seq]]

    def has_content(self, seq: int) -> bool:
        """Return whether an event contains more than texts of the program."""
        return self.ways[seq] != NOTHING


def _readers(kind: type[ev.Event], exact: bool) -> tuple[int, Facts, Facts, Facts | None]:
    had = None if exact else values(kind)
    if kind in (ev.NameBound, ev.Printed):
        had = _program_text
    return hash(kind.__name__), pairing(kind), everything(kind) if exact else way(kind), had


def _program_text(event: ev.NameBound | ev.Printed) -> str:
    return event.name if isinstance(event, ev.NameBound) else event.text


def _text(trace: Trace, line: ev.SourceLine, known: dict[tuple[str, int, str], int]) -> int:
    """Return the hash of a line's text, or of its number if the trace does not have the text."""
    place = line.file, line.line, line.function
    found = known.get(place)
    if found is None:
        found = known[place] = hash((source_text(trace, line) or line.line, line.function))
    return found


def _fold(parents: Sequence[int], ways: array[int], wholes: array[int], trace: Trace) -> None:
    """Combine the hash of each event with those of its contents. Children come after their parents, so the pass starts
    at the end.
    """
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
    """Return the parent of each event: the line that it happened on, or the event during which it happened if that is
    further inside.

    A forged file may contain anything. Here every event has an earlier parent.
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
    """Return the guards that the program holds: those that it enters on a line itself, and all that contain lines."""
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
