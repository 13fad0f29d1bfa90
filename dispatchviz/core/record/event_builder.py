"""The EventBuilder: from the notes of a recorder to the events of a trace.

A note is its name, followed by the arguments of the method that reads it (``reads_note`` in ``builders``); notes lie
flat in one list, so how many those are says where the next note begins. Their names and types are in ``note_types.py``.
One note has no name: a NodeLife says that its Node was freed, and an integer in front of it on which thread
(``freed_nodes.py``).

Notes are read when events are first accessed, and whenever an operator's registrations are about to change, since
what an event has of a cell holds for the moment of the call.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.graph.node_life import NodeLife
from dispatchviz.core.record.builders.autograd_builder import AutogradBuilder
from dispatchviz.core.record.builders.builder_base import NOTES
from dispatchviz.core.record.builders.call_builder import CallBuilder


class EventBuilder(CallBuilder, AutogradBuilder):
    """Reads notes; the builders that it derives from have a method for each, by subject."""

    def __init__(self) -> None:
        super().__init__()
        methods = ((name, getattr(self, name, None)) for name in NOTES)
        self._readers = {name: (method, method.__func__.__code__.co_argcount) for name, method in methods if method}
        """By the name of a note, the method that reads it, and the length of the note."""

    def read(self, notes: list[Any]) -> None:
        """Build the events of the notes and forget those."""
        at, end, readers = 0, len(notes), self._readers
        try:
            while at < end:
                if (found := readers.get(notes[at])) is None:
                    at = self._read_freed(notes, at, end)
                    continue
                reader, length = found
                first, at = at + 1, at + length
                reader(*notes[first:at])
        finally:
            del notes[:end]

    def _read_freed(self, notes: list[Any], at: int, end: int) -> int:
        """Read all that says of Nodes that they were freed one after the other; give where it ends."""
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
