"""The trace: a header and its events, as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn, Self, overload

from dispatchviz.core.record.events import AnyEvent, Event
from dispatchviz.core.record.trace_file.columns import Columns
from dispatchviz.core.record.trace_file.header import Header
from dispatchviz.core.record.trace_file.stored_events import StoredEvents
from dispatchviz.foundation.unlocked_property import cached_property


class Trace:
    """A complete recording as an immutable value.

    ``trace[i]`` is the event with ``seq == i``. Traces are compared by identity. The events of an opened file are
    decoded on access, and those of a recording are made on first access.
    """

    _make_header: Callable[[], Header]
    """A function that makes the header of a trace that has none yet."""
    _make_events: Callable[[], Sequence[AnyEvent]]
    """A function that makes the events, or reads them from a file that has not been read."""
    _make_notice: Callable[[], str]

    def __init__(
        self, header: Header, events: Iterable[AnyEvent], notice: str = "", columns: Columns | None = None
    ) -> None:
        """Create a trace. ``columns`` are those of the events, which are then kept unchanged."""
        if columns is not None:
            vars(self).update(columns=columns)
        elif not isinstance(events, StoredEvents):
            events = tuple(events)
        vars(self).update(header=header, events=events, notice=notice)

    def __reduce__(self) -> tuple[Callable[..., Trace], tuple[type[Trace], bytes, str]]:
        """Pickle the trace with all of its events, so that another process opens it without a file."""
        return _unpickled, (self._class_of_values, self.encoded(".dvtrace"), self.notice)

    @property
    def _class_of_values(self) -> type[Trace]:
        """The class of a trace that does not grow."""
        return type(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Return the trace itself, since a value needs no copy."""
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a trace cannot be changed: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a trace cannot be changed: {name}")

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[AnyEvent]:
        return iter(self.events)

    @overload
    def __getitem__(self, at: int) -> AnyEvent: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[AnyEvent]: ...
    def __getitem__(self, at: int | slice) -> AnyEvent | Sequence[AnyEvent]:
        return self.events[at]

    @cached_property
    def header(self) -> Header:
        """The header. That of a recording is made on first access, since it has to ask the GPU about ``cuda``."""
        return self._make_header()

    @cached_property
    def events(self) -> Sequence[AnyEvent]:
        """All events. Those of a recording are made, or read from its file, on first access."""
        return self._make_events()

    @cached_property
    def notice(self) -> str:
        """A sentence about damage of the file or a problem with the recording, or an empty text."""
        return self._make_notice()

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the head of every display of the trace, about missing parts of the trace and damage of its
        file.
        """
        only = ", ".join(self.header.only)
        part = f"only a part of the program was recorded: {only}" if only else ""
        return tuple(dict.fromkeys(each for each in (part, *self.header.remarks, self.notice) if each))

    # -- facts that need no events ------------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> Columns:
        """The columns of all events, read from the file or made on first access."""
        if isinstance(self.events, StoredEvents):
            return self.events.columns
        from dispatchviz.core.record.trace_file.column_builder import columns_of  # NumPy is loaded only here

        return columns_of(self.events)

    @property
    def depths(self) -> Sequence[int]:
        """The number of events around each event."""
        return self.columns.depths

    @property
    def ends(self) -> Sequence[int]:
        """The ``seq`` of the last event within each event (its own if there is none)."""
        return self.columns.ends

    def steps_of(self, *kinds: type[Event]) -> Sequence[int]:
        """The ``seq`` of all events of some kinds, in order."""
        return self.columns.steps_of(kinds)

    def children(self, seq: int) -> Iterator[AnyEvent]:
        """Yield the events directly within one, in order."""
        return map(self.events.__getitem__, self.columns.children(seq))

    def ancestors(self, seq: int) -> Iterator[AnyEvent]:
        """Yield the events around one, innermost first, without itself."""
        return map(self.events.__getitem__, self.columns.ancestors(seq))

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write a trace file of the format that the name's suffix gives: ``.dvtrace``, ``.jsonl`` or ``.jsonl.gz``.

        Any other name gets a ``.jsonl``. OSError leaves an existing file unchanged.
        """
        from dispatchviz.core.record.trace_file.writers import save

        save(self, path)

    def encoded(self, suffix: str = ".jsonl") -> bytes:
        """The bytes of the trace file with that suffix."""
        from dispatchviz.core.record.trace_file.writers import encoded

        return encoded(self, suffix)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open a trace file, up to its damage if it is damaged (``notice`` then describes it).

        Raise TraceError if the file is missing or is not a trace.
        """
        from dispatchviz.core.record.trace_file.reader import opened

        return cls(*opened(path))

    @classmethod
    def decoded(cls, raw: bytes, path: str | Path) -> Self:
        """Open a trace file's bytes. ``path`` is its name in errors. Raise TraceError if they are not a trace."""
        from dispatchviz.core.record.trace_file.reader import opened_bytes

        return cls(*opened_bytes(raw, path))


def _unpickled(kind: type[Trace], raw: bytes, notice: str) -> Trace:
    trace = kind.decoded(raw, "the pickled trace")
    vars(trace)["notice"] = notice
    return trace
