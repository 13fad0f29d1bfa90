"""The base of all builders of events: nesting, and the numbers of objects.

Not here: reading the notes (``event_builder.py``), the meaning of each note (the other modules of this folder).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.builders.numbers import Numbers, Singles

if TYPE_CHECKING:
    from dispatchviz.core.record.note_types import MaybeTensors, QueuedNodes

Value = TypeVar("Value")
Fields = TypeVarTuple("Fields")
Reading = TypeVar("Reading", bound=Callable[..., None])
NOTES: set[str] = set()
"""The names of the notes that are read."""


def reads_note(method: Reading) -> Reading:
    """Decorate the method that reads the notes of its name."""
    NOTES.add(method.__name__)
    return method


class StreamedEvents:
    """The events of a recording that goes to a file. Written events are kept only if later ones need them."""

    def __init__(self) -> None:
        self.recent: list[ev.AnyEvent] = []
        """The events that have not been written."""
        self.append = self.recent.append
        self._written = 0
        self._kept: dict[int, ev.AnyEvent] = {}

    def __len__(self) -> int:
        return self._written + len(self.recent)

    def __getitem__(self, seq: int) -> ev.AnyEvent:
        return self.recent[seq - self._written] if seq >= self._written else self._kept[seq]

    def forget(self, needed: Collection[int]) -> None:
        """Forget all events, which have been written, except those that later ones need."""
        self._kept = {seq: self[seq] for seq in needed}
        self._written += len(self.recent)
        self.recent.clear()


class BuilderBase:
    """The events built so far, and those among them that are open."""

    def __init__(self) -> None:
        self.events: list[ev.AnyEvent] | StreamedEvents = []
        self.sources: dict[str, str] = {}
        """The text of each file of the program that events refer to, by name."""
        self.thread = threading.get_ident()
        """The thread whose notes are being read."""
        self.moved = False
        """True if the program is on another line than that of the last SourceLine. The new line comes before the next
        event.
        """
        self.tensors, self.storages, self.nodes, self.counters = Numbers(), Numbers(), Numbers(), Numbers()
        """The numbers in this recording, by serial number."""
        self._alone = Singles(self.tensors)
        self.open: int | None = None
        """The innermost open event of the thread."""
        self._open_elsewhere: dict[int, int | None] = {}
        """The innermost open event of each other thread."""
        self._last: dict[object, Any] = {}

    def needed(self) -> set[int]:
        """Return the ``seq`` of the events that later ones may refer to, which are all open ones."""
        found = set[int]()
        for seq in self._needed_first():
            while seq is not None and seq not in found:
                found.add(seq)
                seq = self.events[seq].parent
        return found

    def _needed_first(self) -> tuple[int | None, ...]:
        """Return the innermost events that are open."""
        return self.open, *self._open_elsewhere.values()

    def forget_written(self) -> set[int]:
        """Forget the events that a stream has written, except those that later ones may refer to. Return the latter."""
        needed = self.needed()
        assert isinstance(self.events, StreamedEvents)
        self.events.forget(needed)
        return needed

    # -- nesting ------------------------------------------------------------------------------------------------------

    @reads_note
    def on_thread(self, ident: int) -> None:
        """Assign the following notes to a thread."""
        self._open_elsewhere[self.thread] = self.open
        self.thread, self.open = ident, self._open_elsewhere.get(ident)

    @reads_note
    def continues_thread(self, ident: int) -> None:
        """Let the thread continue the open event of another thread."""
        if ident != self.thread:
            self.open = self._open_elsewhere.get(ident)

    @reads_note
    def event(self, kind: Callable[..., ev.AnyEvent], fields: tuple[Any, ...]) -> None:
        """Append an event whose note has its fields."""
        self._event(kind, *fields)

    @reads_note
    def span(self, kind: Callable[..., ev.AnyEvent], fields: tuple[Any, ...]) -> None:
        """Append an event whose note has its fields, and which others happen within."""
        self._span(kind, *fields)

    @reads_note
    def leave(self) -> None:
        """Close the innermost open event."""
        seq = self.open
        if seq is not None:
            self.open = self.events[seq].parent

    def _next(self) -> int:
        """Return the number of the event that is about to be appended. Frequent kinds are appended without
        ``_event``.
        """
        if self.moved:
            self.line_event()
        return len(self.events)

    def _event(self, kind: Callable[[int, int | None, *Fields], ev.AnyEvent], *fields: *Fields) -> None:
        """Append an event."""
        if self.moved:
            self.line_event()
        events = self.events
        events.append(kind(len(events), self.open, *fields))

    def _span(self, kind: Callable[[int, int | None, *Fields], ev.AnyEvent], *fields: *Fields) -> None:
        """Append an event and leave it open."""
        if self.moved:
            self.line_event()
        events = self.events
        seq = len(events)
        events.append(kind(seq, self.open, *fields))
        self.open = seq

    def line_event(self) -> None:
        """Append the line that the program is on. A builder of the user's lines overrides this."""
        self.moved = False

    # -- numbers ------------------------------------------------------------------------------------------------------

    def _tensors(self, serials: MaybeTensors) -> MaybeTensors:
        tensors = self.tensors
        return tuple([None if serial is None else tensors[serial] for serial in serials])

    def _queue(self, nodes: QueuedNodes) -> QueuedNodes:
        return tuple([(self.nodes[node], sequence_nr) for node, sequence_nr in nodes])

    def _as_last_time(self, place: object, value: Value) -> Value:
        """Return the value, or an equal one of the same ``place`` last time, so that loops keep one object."""
        known: Value | None = self._last.get(place)
        if known == value and known is not None:
            return known
        self._last[place] = value
        return value
