"""The events that are built from notes: how they nest, and the numbers of what they are about.

Not here: how notes are read (``event_builder.py``), what each says (the other modules of this folder).
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
"""Names of the notes that are read."""


def reads_note(method: Reading) -> Reading:
    """Decorator of the method that reads the notes of its name."""
    NOTES.add(method.__name__)
    return method


class StreamedEvents:
    """The events of a recording that goes to a file: of those that are written, only what later ones need."""

    def __init__(self) -> None:
        self.recent: list[ev.AnyEvent] = []
        """Those that are not written."""
        self.append = self.recent.append
        self._written = 0
        self._kept: dict[int, ev.AnyEvent] = {}

    def __len__(self) -> int:
        return self._written + len(self.recent)

    def __getitem__(self, seq: int) -> ev.AnyEvent:
        return self.recent[seq - self._written] if seq >= self._written else self._kept[seq]

    def forget(self, needed: Collection[int]) -> None:
        """All are written; later ones need these alone."""
        self._kept = {seq: self[seq] for seq in needed}
        self._written += len(self.recent)
        self.recent.clear()


class BuilderBase:
    """The events built so far, and which of them are open."""

    def __init__(self) -> None:
        self.events: list[ev.AnyEvent] | StreamedEvents = []
        self.sources: dict[str, str] = {}
        """Text of the program's files by name, as far as events refer to them."""
        self.thread = threading.get_ident()
        """Whose notes are being read."""
        self.moved = False
        """The program is on another line than the last SourceLine says; that comes before the next event."""
        self.tensors, self.storages, self.nodes, self.counters = Numbers(), Numbers(), Numbers(), Numbers()
        """By serial number, the numbers in this recording."""
        self._alone = Singles(self.tensors)
        self.open: int | None = None
        """The innermost open event of the thread."""
        self._open_elsewhere: dict[int, int | None] = {}
        """That of each other thread."""
        self._last: dict[object, Any] = {}

    def needed(self) -> set[int]:
        """The ``seq`` of the events that later ones may refer to: all that are open."""
        found = set[int]()
        for seq in self._needed_first():
            while seq is not None and seq not in found:
                found.add(seq)
                seq = self.events[seq].parent
        return found

    def _needed_first(self) -> tuple[int | None, ...]:
        """The innermost events that are open."""
        return self.open, *self._open_elsewhere.values()

    def forget_written(self) -> set[int]:
        """Forget the events that a stream has written, but for those that later ones may refer to: gives these."""
        needed = self.needed()
        assert isinstance(self.events, StreamedEvents)
        self.events.forget(needed)
        return needed

    # -- nesting ------------------------------------------------------------------------------------------------------

    @reads_note
    def on_thread(self, ident: int) -> None:
        """What follows happened on a thread."""
        self._open_elsewhere[self.thread] = self.open
        self.thread, self.open = ident, self._open_elsewhere.get(ident)

    @reads_note
    def continues_thread(self, ident: int) -> None:
        """The thread works on what another has open."""
        if ident != self.thread:
            self.open = self._open_elsewhere.get(ident)

    @reads_note
    def event(self, kind: Callable[..., ev.AnyEvent], fields: tuple[Any, ...]) -> None:
        """An event that is its note."""
        self._event(kind, *fields)

    @reads_note
    def span(self, kind: Callable[..., ev.AnyEvent], fields: tuple[Any, ...]) -> None:
        """The same of one that others happen within."""
        self._span(kind, *fields)

    @reads_note
    def leave(self) -> None:
        """The innermost open event is over."""
        seq = self.open
        if seq is not None:
            self.open = self.events[seq].parent

    def _next(self) -> int:
        """The number of the event that is about to be appended; hot kinds are appended without ``_event``."""
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
        """Append an event that is open from now on."""
        if self.moved:
            self.line_event()
        events = self.events
        seq = len(events)
        events.append(kind(seq, self.open, *fields))
        self.open = seq

    def line_event(self) -> None:
        """Append the line that the program is on; a builder of the user's lines overrides this."""
        self.moved = False

    # -- numbers ------------------------------------------------------------------------------------------------------

    def _tensors(self, serials: MaybeTensors) -> MaybeTensors:
        tensors = self.tensors
        return tuple([None if serial is None else tensors[serial] for serial in serials])

    def _queue(self, nodes: QueuedNodes) -> QueuedNodes:
        return tuple([(self.nodes[node], sequence_nr) for node, sequence_nr in nodes])

    def _as_last_time(self, place: object, value: Value) -> Value:
        """The value, or an equal one of the same slot last time, so that loops keep one object."""
        known: Value | None = self._last.get(place)
        if known == value and known is not None:
            return known
        self._last[place] = value
        return value
