"""The EventBuilder: from the notes of a recorder to the events of a trace.

A note is its name, followed by the arguments of the method that reads it (``reads_note`` in ``builders``). Notes are in
one flat list, and the number of arguments decides where the next note begins. ``note_types.py`` has their names and
types. One kind of note has no name: a NodeLife means that its Node was freed, and an integer before it is the thread
(``freed_nodes.py``).

Notes are read when events are first accessed, and before an operator's registrations change, since an event's facts
about a dispatch table entry are those at the time of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.graph.node_life import NodeLife
from dispatchviz.core.record.builders.autograd_builder import AutogradBuilder
from dispatchviz.core.record.builders.builder_base import NOTES
from dispatchviz.core.record.builders.call_builder import CallBuilder
from dispatchviz.foundation.unlocked_property import cached_property


class EventBuilder(CallBuilder, AutogradBuilder):
    """A reader of notes. The builders from which it derives have a method for each note, by subject."""

    @cached_property
    def _readers(self) -> dict[str, tuple[Callable[..., None], int]]:
        """The method that reads each note, and the length of the note, by its name."""
        methods = ((name, getattr(self, name, None)) for name in NOTES)
        return {name: (method, method.__func__.__code__.co_argcount) for name, method in methods if method}

    def read(self, notes: list[Any]) -> None:
        """Build the events of the notes, and clear the notes."""
        at, end, find = 0, len(notes), self._readers.get
        facts = tuple(notes[:end])  # Python passes a slice of a tuple on as arguments without another copy
        try:
            while at < end:
                if (found := find(facts[at])) is None:
                    at = self._read_freed(facts, at, end)
                    continue
                reader, length = found
                first = at + 1
                at += length
                reader(*facts[first:at])
        finally:
            del notes[:end]

    def _read_freed(self, notes: tuple[Any, ...], at: int, end: int) -> int:
        """Read the notes of Nodes that were freed one after the other. Return where they end."""
        if isinstance(notes[at], str):
            raise LookupError(f"no method reads notes of the name {notes[at]}")
        here = on = self.thread
        freed: list[int] = []
        while at < end and notes[at].__class__ is not str:
            note = notes[at]
            if note.__class__ is NodeLife:
                freed.append(note.number)
            elif note != on:
                self._freed_on(on, freed)
                on, freed = note, []
            at += 1
        self._freed_on(on, freed)
        if self.thread != here:
            self.on_thread(here)
        return at

    def _freed_on(self, thread: int, freed: list[int]) -> None:
        if freed:
            if thread != self.thread:
                self.on_thread(thread)
            self.nodes_freed(freed)
